//! Which crate may know which.

use super::Violation;
use super::manifest::{Dependency, Manifest};

/// A rule about manifests.
pub(super) struct ManifestRule {
    pub(super) says: &'static str,
    /// What a member does against it.
    broken: fn(&Manifest, &Ours<'_>) -> Vec<(usize, String)>,
}

/// The names of the workspace's own packages.
type Ours<'m> = [&'m str];

pub(super) const MANIFEST_RULES: &[ManifestRule] = &[
    ManifestRule {
        says: "Only `world` depends on turmoil, and the tests of `examples`.",
        broken: |member, _| {
            let world = member.folder == "crates/world";
            those(member, |dependency| {
                let test = is_example(member) && dependency.development;
                dependency.package == "turmoil" && !world && !test
            })
        },
    },
    ManifestRule {
        says: "`checker` depends on nothing of ours, not even in its tests.",
        broken: |member, ours| {
            let judge = member.folder == "crates/checker";
            those(member, |dependency| {
                judge && ours.contains(&&*dependency.package)
            })
        },
    },
    ManifestRule {
        says: "`report` depends on nothing of ours but `checker`: it sees a run only through its history.",
        broken: |member, ours| only(member, ours, "crates/report", &["fencepost-checker"]),
    },
    ManifestRule {
        says: "`redlock` depends on nothing of ours: it does not know that it is being simulated.",
        broken: |member, ours| only(member, ours, "crates/redlock", &[]),
    },
    ManifestRule {
        says: "`redis-node` depends on nothing of ours.",
        broken: |member, ours| only(member, ours, "crates/redis-node", &[]),
    },
    ManifestRule {
        says: "`world` depends on nothing of ours but `checker` and `redis-node`: no lock and no scenario is known to it.",
        broken: |member, ours| {
            only(
                member,
                ours,
                "crates/world",
                &["fencepost-checker", "redis-node"],
            )
        },
    },
    ManifestRule {
        says: "Only `world` depends on a random number generator; `redlock` asks the operating system, under its feature `redis`.",
        broken: |member, _| those(member, |dependency| is_random(member, dependency)),
    },
    ManifestRule {
        says: "No crate asks for tokio's feature `net` but `redlock` under its feature `redis`, tests, and `examples`.",
        broken: |member, _| those(member, |dependency| is_network(member, dependency)),
    },
    ManifestRule {
        says: "No library depends on anyhow: its errors have types.",
        broken: |member, _| {
            let library = !["crates/cli", "xtask"].contains(&&*member.folder);
            those(member, |dependency| {
                library && dependency.package == "anyhow"
            })
        },
    },
    ManifestRule {
        says: "No crate is without `[lints] workspace = true`: it would escape the bans.",
        broken: |member, _| {
            let escapes = !member.inherits_lints;
            escapes
                .then(|| (1, format!("`{}` has lints of its own", member.name)))
                .into_iter()
                .collect()
        },
    },
];

impl ManifestRule {
    pub(super) fn violations(&self, members: &[Manifest]) -> Vec<Violation> {
        let ours: Vec<&str> = members.iter().map(|member| &*member.name).collect();
        let of = |member: &Manifest| -> Vec<Violation> {
            let broken = (self.broken)(member, &ours).into_iter();
            let violation = |(line, found)| Violation {
                file: member.file(),
                line,
                found,
                rule: self.says,
            };
            broken.map(violation).collect()
        };
        members.iter().flat_map(of).collect()
    }
}

fn those(member: &Manifest, breaks: impl Fn(&Dependency) -> bool) -> Vec<(usize, String)> {
    let broken = member
        .dependencies
        .iter()
        .filter(|dependency| breaks(dependency));
    broken
        .map(|one| {
            (
                one.line,
                format!("`{}` depends on `{}`", member.name, one.package),
            )
        })
        .collect()
}

/// The member in that folder knows of ours only those, but for its tests.
fn only(member: &Manifest, ours: &Ours<'_>, folder: &str, known: &[&str]) -> Vec<(usize, String)> {
    those(member, |dependency| {
        let package = &*dependency.package;
        member.folder == folder
            && !dependency.development
            && ours.contains(&package)
            && !known.contains(&package)
    })
}

/// Programs that stand for those of others.
fn is_example(member: &Manifest) -> bool {
    member.folder.starts_with("examples/")
}

fn is_random(member: &Manifest, dependency: &Dependency) -> bool {
    let system = dependency.package == "getrandom";
    let generator =
        system || ["rand", "rand_core", "fastrand", "oorandom"].contains(&&*dependency.package);
    let generator = generator || dependency.package.starts_with("rand_");
    let allowed = match &*member.folder {
        "crates/world" => !system,
        "crates/redlock" => system && dependency.optional,
        _ => false,
    };
    generator && !allowed
}

fn is_network(member: &Manifest, dependency: &Dependency) -> bool {
    let network = dependency
        .features
        .iter()
        .any(|feature| feature == "net" || feature == "full");
    let allowed = dependency.development
        || (member.folder == "crates/redlock" && dependency.optional)
        || is_example(member);
    dependency.package == "tokio" && network && !allowed
}
