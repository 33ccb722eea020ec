//! In which way a property is violated: its cause, without names, numbers and times.

use std::collections::BTreeSet;

use fencepost_checker::{Outcome, Verdict, Witness};

/// The reasons of the first violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner(BTreeSet<String>);

impl Manner {
    /// That of a verdict, if it is a violation.
    #[must_use]
    pub fn of(verdict: &Verdict) -> Option<Self> {
        let violated = verdict.outcome == Outcome::Violated;
        let first = verdict.witnesses.first().filter(|_| violated)?;
        Some(Self::of_witness(first))
    }

    /// Whether a verdict has a violation for one of these reasons, and for no other.
    #[must_use]
    pub fn is_that_of(&self, verdict: &Verdict) -> bool {
        let of_this = |witness: &Witness| Self::of_witness(witness).0.is_subset(&self.0);
        verdict.outcome == Outcome::Violated && verdict.witnesses.iter().any(of_this)
    }

    fn of_witness(witness: &Witness) -> Self {
        // Where the history does not tell the cause, what happened must be the same.
        let told = witness.cause.as_ref().unwrap_or(&witness.sentence);
        Self(told.split("; ").map(nameless).collect())
    }
}

/// `n1, n2 and n3 lost power at 3.200 s` and `n4 lost power at 7 s` are one reason.
fn nameless(reason: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in reason.split_whitespace() {
        let word = word.replace(|c: char| c.is_ascii_digit(), "#");
        let mut word = word.replace('.', "");
        while word.contains("##") {
            word = word.replace("##", "#");
        }
        // A list of hosts is one host.
        let host = |word: &str| word.trim_end_matches(',').ends_with('#');
        let joins = |word: &str| word == "and" || word.ends_with(',');
        match words.as_slice() {
            [.., before, joining] if joining == "and" && host(before) && host(&word) => {
                words.pop();
                words.pop();
            }
            [.., before] if joins(before) && host(before) && host(&word) => _ = words.pop(),
            _ => {}
        }
        words.push(match word.as_str() {
            "were" => "was".to_owned(),
            _ => word,
        });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hosts_and_times_do_not_matter() {
        let one = nameless("n4 lost power and came back without the key of c2 (persistence)");
        for other in [
            "n1 and n2 lost power and came back without the key of c1 (persistence)",
            "n1, n2 and n3 lost power and came back without the key of c3 (persistence)",
        ] {
            assert_eq!(nameless(other), one);
        }
        assert_eq!(
            nameless("n1 and n2 were killed at 3.250 s"),
            nameless("n5 was killed at 12 s")
        );
        assert_ne!(nameless("n1 lost power"), nameless("n1 was killed"));
    }
}
