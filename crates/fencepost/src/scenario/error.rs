//! Errors in scenario files: what is wrong, where, and the nearest name that is known.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use toml::Spanned;

/// A scenario that cannot be run as it is written. Displays file, line and caret. Exit code 96.
#[derive(Clone, Debug)]
pub struct ScenarioError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    path: String,
    source: Arc<str>,
    problem: Problem,
}

impl ScenarioError {
    pub(super) fn new(path: &str, source: &Arc<str>, problem: Problem) -> Self {
        Self(Box::new(Inner {
            path: path.to_owned(),
            source: source.clone(),
            problem,
        }))
    }

    /// An error without a place in a file.
    pub(super) fn without_place(problem: Problem) -> Self {
        Self::new(
            "",
            &Arc::from(""),
            Problem {
                span: None,
                ..problem
            },
        )
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.problem.message
    }

    /// What could be meant, if anything is near.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.problem.help.as_deref()
    }

    /// The line of the file, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        let span = self.0.problem.span.as_ref()?;
        let before = self.0.source.get(..span.start)?;
        Some(before.matches('\n').count() + 1)
    }
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            path,
            source,
            problem,
        } = &*self.0;
        let title = Level::ERROR.primary_title(problem.message.as_str());
        let mut group = match &problem.span {
            None => Group::with_title(title),
            Some(span) => {
                let primary = AnnotationKind::Primary.span(first_line(source, span));
                let mut snippet = Snippet::source(source.as_ref())
                    .path(path.as_str())
                    .annotation(primary);
                if let Some(flip) = &problem.flip {
                    let label = AnnotationKind::Context
                        .span(first_line(source, flip))
                        .label("in this flip");
                    snippet = snippet.annotation(label);
                }
                title.element(snippet)
            }
        };
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        f.write_str(&Renderer::plain().render(&[group]))
    }
}

/// The part of a span that lies on its first line: a caret under one line says as much as one under twenty.
fn first_line(source: &str, span: &Range<usize>) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
    let length = source[start..end].find(['\n', '\r']).unwrap_or(end - start);
    start..start + length
}

/// What is wrong with a scenario, before the file's name and text are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) span: Option<Range<usize>>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// The flip that it shows in.
    pub(crate) flip: Option<Range<usize>>,
}

impl Problem {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span: Some(span),
            message: message.into(),
            help: None,
            flip: None,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// A name that is none of the `known` ones.
    pub(crate) fn unknown<'a>(
        span: Range<usize>,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let problem = Self::new(span, format!("unknown {what} `{name}`"));
        match nearest(name, known) {
            Some(help) => problem.help(help),
            None => problem,
        }
    }
}

/// A problem inside a string of the file, at a range of that string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextProblem(pub(crate) Problem);

impl TextProblem {
    /// The problem in the file: at the very word if the string stands there without escapes, else at all of it.
    pub(crate) fn locate(self, text: &Spanned<String>, source: &str) -> Problem {
        let whole = text.span();
        let literal = source
            .get(whole.clone())
            .and_then(|raw| raw.get(1..raw.len().saturating_sub(1)));
        let within = self
            .0
            .span
            .clone()
            .filter(|_| literal == Some(text.get_ref().as_str()));
        let span = within.map_or(whole.clone(), |word| {
            whole.start + 1 + word.start..whole.start + 1 + word.end
        });
        Problem {
            span: Some(span),
            ..self.0
        }
    }
}

/// Which known name is nearest, in words for a help line.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let best = known
        .iter()
        .copied()
        .min_by_key(|candidate| distance(candidate))?;
    if distance(best) <= 2.max(name.chars().count() / 3) {
        return Some(format!("did you mean `{best}`?"));
    }
    let mut list = known
        .iter()
        .take(16)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if known.len() > 16 {
        list.push_str(", ...");
    }
    Some(format!("the nearest known is `{best}`; there are {list}"))
}

/// What the `toml` crate says, in this crate's words.
impl From<toml::de::Error> for Problem {
    fn from(error: toml::de::Error) -> Self {
        let (message, help) = reword(error.message());
        Self {
            span: error.span(),
            message,
            help,
            flip: None,
        }
    }
}

fn reword(message: &str) -> (String, Option<String>) {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    for (prefix, what) in [("unknown field", "key"), ("unknown variant", "value")] {
        if let (true, [name, known @ ..]) = (message.starts_with(prefix), &quoted[..]) {
            return (
                format!("unknown {what} `{name}`"),
                nearest(name, known.iter().copied()),
            );
        }
    }
    if let (true, [name, ..]) = (message.starts_with("missing field"), &quoted[..]) {
        return (format!("missing key `{name}`"), None);
    }
    if message == "wanted string or table" {
        return ("wrong type: expected a string".into(), None);
    }
    let message = message
        .strip_prefix("invalid type: ")
        .map_or(message.to_owned(), |rest| format!("wrong type: {rest}"));
    (message.trim_end().replace('\n', "; "), None)
}
