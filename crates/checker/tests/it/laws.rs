//! What holds for any history: no panic, round trips, digests, and the definitions taken literally.
//!
//! `PROPTEST_CASES=20000` looks longer.

use fencepost_checker::verdict::MAX_WITNESSES;
use fencepost_checker::{
    Event, History, Outcome, Property, Time, digest_of, first_difference, judge,
};
use proptest::prelude::*;

use crate::arbitrary::{contended, history, stalled};
use crate::oracle::counted;

/// What every list of verdicts must be.
fn consistent(history: &History) {
    let verdicts = judge(history);
    assert_eq!(
        verdicts
            .iter()
            .map(|verdict| verdict.property)
            .collect::<Vec<_>>(),
        Property::ALL
    );
    for verdict in verdicts {
        let shown = match verdict.outcome {
            Outcome::Violated => usize::try_from(verdict.violations)
                .unwrap()
                .min(MAX_WITNESSES),
            Outcome::Holds => 1,
            Outcome::Vacuous => 0,
        };
        assert_eq!(verdict.witnesses.len(), shown, "{verdict:?}");
        assert_eq!(verdict.violations > 0, verdict.outcome == Outcome::Violated);
        assert_eq!(
            verdict.vacuous_because.is_some(),
            verdict.outcome == Outcome::Vacuous
        );
        for witness in &verdict.witnesses {
            assert!(
                witness
                    .events
                    .iter()
                    .all(|seq| history.events.iter().any(|event| event.seq == *seq))
            );
        }
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(
            serde_json::from_str::<fencepost_checker::Verdict>(&text).unwrap(),
            verdict
        );
    }
}

fn agrees(history: &History) -> Result<(), TestCaseError> {
    for verdict in judge(history) {
        if let Some(counted) = counted(verdict.property, history) {
            prop_assert_eq!(
                verdict.outcome,
                counted.outcome(),
                "{} of {:#?}",
                verdict.property,
                history.events
            );
            prop_assert_eq!(
                verdict.violations,
                counted.violations,
                "{} of {:#?}",
                verdict.property,
                history.events
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn judges_never_panic_and_their_verdicts_are_consistent(history in history()) {
        prop_assert!(history.validate().is_ok());
        consistent(&history);
    }

    #[test]
    fn judges_do_not_panic_on_what_is_no_history(history in history(), places in prop::collection::vec((any::<u64>(), any::<u64>()), 80)) {
        let shuffled = history.events.into_iter().zip(places).map(|(event, (seq, at))| Event { seq, at: Time(at), ..event });
        let events = shuffled.collect();
        let _ = judge(&History { events, header: history.header });
    }

    #[test]
    fn judges_agree_with_the_definitions_taken_literally(history in contended()) {
        agrees(&history)?;
    }

    #[test]
    fn judges_of_progress_agree_with_the_definitions_taken_literally(history in stalled()) {
        prop_assert!(history.validate().is_ok());
        agrees(&history)?;
    }

    #[test]
    fn what_else_happens_changes_nothing_of_that(history in history()) {
        agrees(&history)?;
    }

    #[test]
    fn a_history_comes_back_from_its_lines(history in history()) {
        let text = history.to_jsonl();
        let back = History::parse(&text).unwrap();
        prop_assert_eq!(&back, &history);
        prop_assert_eq!(first_difference(&back, &history), None);
        prop_assert_eq!(back.to_jsonl(), text.clone());
        prop_assert_eq!(history.digest(), digest_of(text.as_bytes()));
    }

    #[test]
    fn digests_are_equal_where_the_bytes_are(a in history(), b in history(), change in any::<prop::sample::Index>()) {
        prop_assert_eq!(a.digest() == b.digest(), a.to_jsonl() == b.to_jsonl());
        prop_assert_eq!(first_difference(&a, &b).is_none(), a.to_jsonl() == b.to_jsonl());
        let mut changed = a.clone();
        let place = change.index(a.events.len());
        changed.events[place].at.0 += 1;
        prop_assert_ne!(changed.digest(), a.digest());
        let shown = first_difference(&a, &changed).unwrap().to_string();
        let expected = format!("event {place} differs");
        prop_assert!(shown.starts_with(&expected));
    }

    #[test]
    fn reading_never_panics_on_any_text(text in "(\\PC|\n)*") {
        let _ = History::parse(&text);
    }

    #[test]
    fn reading_never_panics_on_a_history_that_was_damaged(history in history(), at in any::<prop::sample::Index>(), by: u8, cut: bool) {
        let mut bytes = history.to_jsonl().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = by;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(read) = History::parse(&String::from_utf8_lossy(&bytes)) {
            consistent(&read);
        }
    }
}
