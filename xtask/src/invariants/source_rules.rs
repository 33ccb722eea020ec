//! What sources do not contain.

use super::Violation;
use super::pattern::matches;
use super::rust::Code;

/// A rule about sources.
pub(super) struct SourceRule {
    pub(super) says: &'static str,
    /// Where it applies, as [patterns](super::pattern).
    files: &'static [&'static str],
    /// Where it does not.
    but: &'static [&'static str],
    absent: Absent,
}

/// What must not be there.
enum Absent {
    /// A path that begins with one of these, however it is imported.
    Paths(&'static [&'static str]),
    /// One of these identifiers.
    Words(&'static [&'static str]),
    /// A call of one of these macros.
    Macros(&'static [&'static str]),
    /// One of these words in an attribute.
    InAttributes(&'static [&'static str]),
    /// `select!` that does not begin with `biased`.
    UnbiasedSelect,
}

use Absent::{InAttributes, Macros, Paths, UnbiasedSelect, Words};

const EVERYWHERE: &[&str] = &["crates", "examples", "xtask"];
const LIBRARIES: &[&str] = &["crates/*/src"];

pub(super) const SOURCE_RULES: &[SourceRule] = &[
    SourceRule {
        says: "Within `world` nothing but `engine/turmoil` names turmoil.",
        files: &["crates"],
        but: &[
            "crates/world/src/engine/turmoil.rs",
            "crates/world/src/engine/turmoil",
        ],
        absent: Paths(&["turmoil"]),
    },
    SourceRule {
        says: "`checker` does no input or output: no file, socket, process, thread or environment.",
        files: &["crates/checker/src"],
        but: &[],
        absent: Paths(&[
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "tokio",
        ]),
    },
    SourceRule {
        says: "Nothing opens a socket but `redlock::redis`, `redis-node`'s server loop, tests, and `examples`.",
        files: LIBRARIES,
        but: &[
            "crates/redlock/src/redis",
            "crates/redis-node/src/server.rs",
        ],
        absent: Paths(&[
            "tokio::net",
            "std::net::TcpListener",
            "std::net::TcpStream",
            "std::net::UdpSocket",
            "std::os::unix::net",
        ]),
    },
    SourceRule {
        says: "There is no `HashMap` or `HashSet`: they iterate in random order.",
        files: EVERYWHERE,
        but: &[],
        absent: Words(&["HashMap", "HashSet"]),
    },
    SourceRule {
        says: "No plan and no history contains a float.",
        files: &[
            "crates/checker/src/history.rs",
            "crates/checker/src/history",
            "crates/checker/src/clock.rs",
            "crates/world/src/plan.rs",
            "crates/fencepost/src/plan.rs",
        ],
        but: &[],
        absent: Words(&["f32", "f64"]),
    },
    SourceRule {
        says: "The bans on clocks, threads and timers are lifted only in `redlock::redis`, `cli`, `xtask`, tests and `examples`.",
        files: LIBRARIES,
        but: &["crates/redlock/src/redis", "crates/cli/src"],
        absent: InAttributes(&[
            "disallowed_types",
            "disallowed_methods",
            "disallowed_macros",
        ]),
    },
    SourceRule {
        says: "There is no `select!` but a `biased` one: its branches would be polled in random order.",
        files: EVERYWHERE,
        but: &[],
        absent: UnbiasedSelect,
    },
    SourceRule {
        says: "Nothing prints but `cli`, `xtask` and `examples`.",
        files: LIBRARIES,
        but: &["crates/cli/src"],
        absent: Macros(&["println", "print", "eprintln", "eprint", "dbg"]),
    },
    SourceRule {
        says: "There is no `#[ignore]`: a test that does not run says nothing.",
        files: EVERYWHERE,
        but: &[],
        absent: InAttributes(&["ignore"]),
    },
    SourceRule {
        says: "There is no `todo!` and no `unimplemented!`.",
        files: EVERYWHERE,
        but: &[],
        absent: Macros(&["todo", "unimplemented"]),
    },
];

impl SourceRule {
    pub(super) fn violations(&self, file: &str, code: &Code<'_>) -> Vec<Violation> {
        let at = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, file));
        if !at(self.files) || at(self.but) {
            return Vec::new();
        }
        let violation = |(line, found)| Violation {
            file: file.to_owned(),
            line,
            found,
            rule: self.says,
        };
        self.absent.found(code).into_iter().map(violation).collect()
    }
}

impl Absent {
    fn found(&self, code: &Code<'_>) -> Vec<(usize, String)> {
        match self {
            Paths(banned) => {
                let begins = |path: &str, start: &str| {
                    let rest = path.strip_prefix(start);
                    // A crate's bare name may as well be a variable's.
                    rest.is_some_and(|rest| {
                        rest.starts_with("::") || (rest.is_empty() && path.contains("::"))
                    })
                };
                let paths = code.paths().into_iter();
                let found =
                    paths.filter(|path| banned.iter().any(|start| begins(&path.text, start)));
                found
                    .map(|path| (path.line, format!("`{}`", path.text)))
                    .collect()
            }
            Words(banned) => {
                let words = code
                    .tokens
                    .iter()
                    .filter(|token| banned.contains(&token.text));
                words
                    .map(|word| (word.line, format!("`{}`", word.text)))
                    .collect()
            }
            Macros(banned) => {
                let calls = code.tokens.windows(2).filter(|pair| pair[1].text == "!");
                let calls = calls.filter(|pair| banned.contains(&pair[0].text));
                calls
                    .map(|pair| (pair[0].line, format!("`{}!`", pair[0].text)))
                    .collect()
            }
            InAttributes(banned) => {
                let words = code
                    .attributes()
                    .into_iter()
                    .filter(|word| banned.contains(&word.text));
                words
                    .map(|word| (word.line, format!("`{}` in an attribute", word.text)))
                    .collect()
            }
            UnbiasedSelect => {
                let calls = code.tokens.windows(4).filter(|four| {
                    four[0].text == "select" && four[1].text == "!" && four[3].text != "biased"
                });
                calls
                    .map(|four| (four[0].line, "`select!` without `biased`".to_owned()))
                    .collect()
            }
        }
    }
}
