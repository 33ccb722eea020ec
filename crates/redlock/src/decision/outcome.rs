//! What a release or an extension came to, by the nodes' answers.

use crate::decision::quorum;
use crate::vote::Answer;

/// What came of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseOutcome {
    /// A majority of nodes had the key and deleted it.
    Released,
    /// There was nothing to release any more: the key is gone from too many nodes, or the lease is over.
    Expired,
    /// As expired, and at least one node holds the key for somebody else. It was not touched.
    Foreign,
    /// Too many nodes did not answer and the lease is not over. It can be released again.
    Unknown,
}

/// What came of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendOutcome {
    /// A majority extended the key inside the old validity: there is a new deadline.
    Extended,
    /// The lock is not held any more. Final: no later extension brings it back.
    Lost,
    /// Too many nodes did not answer. The old deadline stands and nothing was undone; it can be tried again.
    Unknown,
}

#[derive(Default)]
struct Count {
    done: usize,
    foreign: usize,
    unknown: usize,
}

fn count(answers: &[Answer]) -> Count {
    answers.iter().fold(Count::default(), |mut count, answer| {
        match answer {
            Answer::Done => count.done += 1,
            Answer::Foreign => count.foreign += 1,
            Answer::Missing => {}
            Answer::Failed(_) | Answer::TimedOut => count.unknown += 1,
        }
        count
    })
}

/// Judges a round of compare-and-delete on all configured nodes.
///
/// `expired` says whether the deadline had passed on the holder's clock when the round ended. Then there is
/// nothing left to be unsure about: the keys run out by themselves, and another round would be in vain.
pub fn judge_release(answers: &[Answer], expired: bool) -> ReleaseOutcome {
    let Count {
        done,
        foreign,
        unknown,
    } = count(answers);
    let needed = quorum(answers.len());
    if done >= needed {
        ReleaseOutcome::Released
    } else if done + unknown >= needed && !expired {
        ReleaseOutcome::Unknown
    } else if foreign > 0 {
        ReleaseOutcome::Foreign
    } else {
        ReleaseOutcome::Expired
    }
}

/// What is known of a node after a repeated release: its earlier answer and its answer now.
///
/// A node that did the deed has done it. One whose earlier answer was lost and that now has no such key, or
/// another's, was reached by the earlier round, if that was sent while the lease lasted: nothing else takes
/// a key away inside of its validity.
pub fn merge_release(earlier: &Answer, now: Answer, earlier_in_time: bool) -> Answer {
    match (earlier, now) {
        (Answer::Done, _) => Answer::Done,
        (Answer::Failed(_) | Answer::TimedOut, Answer::Missing | Answer::Foreign)
            if earlier_in_time =>
        {
            Answer::Done
        }
        (known @ (Answer::Missing | Answer::Foreign), Answer::Failed(_) | Answer::TimedOut) => {
            known.clone()
        }
        (_, now) => now,
    }
}

/// Judges a round of compare-and-pexpire on all configured nodes.
///
/// `in_time` says whether the *old* deadline still lay ahead on the holder's clock when the round ended.
/// Without that a majority counts for nothing: a holder may already have been told that its lock is over.
pub fn judge_extension(answers: &[Answer], in_time: bool) -> ExtendOutcome {
    let Count { done, unknown, .. } = count(answers);
    let needed = quorum(answers.len());
    if !in_time || done + unknown < needed {
        ExtendOutcome::Lost
    } else if done >= needed {
        ExtendOutcome::Extended
    } else {
        ExtendOutcome::Unknown
    }
}
