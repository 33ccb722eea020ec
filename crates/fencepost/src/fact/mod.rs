//! Facts: what must have happened in a run, or its verdicts show nothing.
//!
//! A fact is a sentence of a fixed form ([`FORMS`]) with names of hosts in it. It is looked up in the history alone.
//! That every fault of the scenario took effect is a fact that needs no sentence ([`faults_fired`]).

mod fault;
mod find;
mod promotion;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use fencepost_checker::History;
use fencepost_checker::history::Role;

use crate::scenario::{Hosts, Problem, TextProblem, duration, nearest, words};

pub use fault::faults_fired;

/// The forms of facts. `CLIENT`, `NODE`, `HOST`, `FAMILY` (a kind of fault) and `DURATION` stand for a name, `NODES` for
/// one or more.
pub const FORMS: &[&str] = &[
    "CLIENT acquired",
    "CLIENT never acquired",
    "CLIENT acquired by DURATION",
    "CLIENT acquired while CLIENT was stopped",
    "CLIENT was refused",
    "CLIENT released",
    "CLIENT's write was applied",
    "CLIENT's write was refused",
    "CLIENT never wrote",
    "CLIENT wrote before CLIENT",
    "CLIENT's quorum was NODES",
    "NODE did not answer CLIENT",
    "NODE answered CLIENT with an error",
    "CLIENT could not reach NODE",
    "NODE lost CLIENT's key",
    "NODE refused CLIENT after its restart",
    "NODE refused a foreign release",
    "a node refused a foreign release",
    "a node refused CLIENT's release of CLIENT's key",
    "CLIENT deleted CLIENT's key",
    "CLIENT never deleted CLIENT's key",
    "the FAMILY of HOST overlapped CLIENT's lease",
    "CLIENT extended",
    "nobody was promoted",
    "NODE was promoted",
    "NODE refused CLIENT",
    "NODE lacked the key when it was promoted",
    "NODE copied the loss of CLIENT's key",
    "CLIENT's release was sent to NODES",
    "the first round had no winner",
    "the lock was unlockable for DURATION",
    "the lock was unlockable for less than DURATION",
    "CLIENT was told of its loss",
];

/// The kinds of faults, as `FAMILY` in a fact.
const FAMILIES: [&str; 14] = [
    "pause",
    "suspend",
    "crash",
    "partition",
    "delay",
    "late-packet",
    "reset",
    "clock-step",
    "clock-drift",
    "clock-slew",
    "evict",
    "flush",
    "operate",
    "fsync-stall",
];

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    text: String,
    /// Index in [`FORMS`].
    form: usize,
    /// What stands for the form's placeholders, in order.
    names: Vec<String>,
}

/// A fact that a run does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The fact.
    pub fact: String,
    /// What was found instead.
    pub found: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fact, self.found)
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Fact {
    /// Reads a fact about these hosts.
    pub(crate) fn parse(text: &str, hosts: &Hosts) -> Result<Self, TextProblem> {
        let given: Vec<_> = words(text).collect();
        let shapes = FORMS
            .iter()
            .enumerate()
            .filter_map(|(form, shape)| Some((form, matching(shape, &given)?)));
        let Some((form, bound)) = shapes.into_iter().next() else {
            return Err(unknown_form(text, hosts));
        };
        for (kind, (name, span)) in &bound {
            check_name(*kind, name, span, hosts).map_err(TextProblem)?;
        }
        let names = bound
            .into_iter()
            .map(|(_, (name, _))| name.to_owned())
            .collect();
        Ok(Self {
            text: given
                .iter()
                .map(|(word, _)| *word)
                .collect::<Vec<_>>()
                .join(" "),
            form,
            names,
        })
    }

    /// Looks for the fact in a history.
    ///
    /// # Errors
    ///
    /// With what was found instead.
    pub fn check(&self, history: &History) -> Result<(), Unmet> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        find::find(FORMS[self.form], &names, history).map_err(|found| Unmet {
            fact: self.text.clone(),
            found,
        })
    }
}

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Client,
    Node,
    Host,
    Family,
    Duration,
}

impl Slot {
    fn of(word: &str) -> Option<Self> {
        Some(match word.strip_suffix("'s").unwrap_or(word) {
            "CLIENT" => Self::Client,
            "NODE" | "NODES" => Self::Node,
            "HOST" => Self::Host,
            "FAMILY" => Self::Family,
            "DURATION" => Self::Duration,
            _ => return None,
        })
    }
}

type Word<'a> = (&'a str, Range<usize>);
type Bound<'a> = Vec<(Slot, Word<'a>)>;

/// The names in `given` if it has the shape of the form, whether or not they exist.
fn matching<'a>(form: &str, given: &[Word<'a>]) -> Option<Bound<'a>> {
    let mut shape: Vec<&str> = form.split(' ').collect();
    if let Some("NODES") = shape.last().copied() {
        shape.resize(shape.len().max(given.len()), "NODES");
    }
    if shape.len() != given.len() {
        return None;
    }
    let mut bound = Bound::new();
    for (wanted, (word, span)) in shape.into_iter().zip(given) {
        match Slot::of(wanted) {
            None if wanted == *word => {}
            None => return None,
            Some(slot) => {
                let name = if wanted.ends_with("'s") {
                    word.strip_suffix("'s")?
                } else {
                    word
                };
                bound.push((slot, (name, span.start..span.start + name.len())));
            }
        }
    }
    Some(bound)
}

fn check_name(slot: Slot, name: &str, span: &Range<usize>, hosts: &Hosts) -> Result<(), Problem> {
    let unknown = |what: &str, known: Vec<&str>| match known.contains(&name) {
        true => Ok(()),
        false => Err(Problem::unknown(span.clone(), what, name, known)),
    };
    match slot {
        Slot::Client => unknown("client", hosts.of(Role::Client).collect()),
        Slot::Node => unknown("node", hosts.of(Role::Node).collect()),
        Slot::Host => unknown("host", hosts.iter().map(|(host, _)| host).collect()),
        Slot::Family => unknown("kind of fault", FAMILIES.to_vec()),
        Slot::Duration => duration(name)
            .map(|_: Duration| ())
            .map_err(|why| Problem::new(span.clone(), format!("wrong value `{name}`: {why}"))),
    }
}

/// The nearest form is sought with the names taken out, so that what is compared is the sentence.
fn unknown_form(text: &str, hosts: &Hosts) -> TextProblem {
    let general: Vec<String> = words(text)
        .map(|(word, _)| generalised(word, hosts))
        .collect();
    let problem = Problem::new(0..text.len(), format!("unknown fact `{text}`"));
    let help = nearest(&general.join(" "), FORMS.iter().copied()).unwrap_or_default();
    let short = help
        .split_once("; there are")
        .map_or(help.as_str(), |(nearest, _)| nearest);
    TextProblem(problem.help(short))
}

fn generalised(word: &str, hosts: &Hosts) -> String {
    let (name, ending) = word
        .strip_suffix("'s")
        .map_or((word, ""), |name| (name, "'s"));
    let slot = match hosts.role(name) {
        Some(Role::Client) => "CLIENT",
        Some(Role::Node) => "NODE",
        Some(_) => "HOST",
        None => return word.to_owned(),
    };
    format!("{slot}{ending}")
}

#[cfg(test)]
mod tests;
