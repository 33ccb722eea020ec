//! What one sentinel knows, and the rules by which it decides. Times are readings of its own monotonic clock.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{ANSWER_LASTS, ELECTION_TIMEOUT, INFO_PERIOD, SentinelPlan};

/// What a node last said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Whom it follows; a primary follows nobody.
    pub(super) follows: Option<String>,
    /// How far it has come in the primary's history.
    pub(super) offset: u64,
    /// Since when it has claimed the role that it claims now.
    pub(super) since: Duration,
}

/// A failover in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// The epoch in which this sentinel stands for election.
    pub(super) epoch: u64,
    /// When it asks for votes.
    pub(super) begins: Duration,
}

#[derive(Debug)]
pub(super) struct View {
    pub(super) me: String,
    pub(super) plan: SentinelPlan,
    /// Whom clients are sent to, and the epoch in which that was decided.
    pub(super) primary: String,
    pub(super) config_epoch: u64,
    /// The highest epoch that was heard of.
    epoch: u64,
    /// Whom this sentinel voted for, and in which epoch.
    vote: Option<(u64, String)>,
    /// When each node last gave a valid answer.
    heard: BTreeMap<String, Duration>,
    pub(super) said: BTreeMap<String, Said>,
    /// When each other sentinel last found the primary down, and whom it voted for.
    down: BTreeMap<String, Duration>,
    votes: BTreeMap<String, (u64, String)>,
    pub(super) attempt: Option<Attempt>,
    /// No failover begins before.
    not_before: Duration,
}

impl View {
    pub(super) fn new(me: &str, plan: SentinelPlan) -> Self {
        let primary = plan.nodes.first().cloned().unwrap_or_default();
        Self {
            me: me.to_owned(),
            plan,
            primary,
            config_epoch: 0,
            epoch: 0,
            vote: None,
            heard: BTreeMap::new(),
            said: BTreeMap::new(),
            down: BTreeMap::new(),
            votes: BTreeMap::new(),
            attempt: None,
            not_before: Duration::ZERO,
        }
    }

    /// A new process has heard nothing yet, and counts from now on.
    pub(super) fn restarted(&mut self, now: Duration) {
        self.said.clear();
        self.down.clear();
        self.votes.clear();
        self.attempt = None;
        self.heard = self
            .plan
            .nodes
            .iter()
            .map(|node| (node.clone(), now))
            .collect();
    }

    pub(super) fn others(&self) -> Vec<String> {
        self.plan
            .sentinels
            .iter()
            .filter(|name| **name != self.me)
            .cloned()
            .collect()
    }

    /// A node has given a valid answer.
    pub(super) fn heard(
        &mut self,
        now: Duration,
        node: &str,
        follows: Option<String>,
        offset: u64,
    ) {
        self.heard.insert(node.to_owned(), now);
        let before = self.said.get(node).filter(|said| said.follows == follows);
        let since = before.map_or(now, |said| said.since);
        self.said.insert(
            node.to_owned(),
            Said {
                follows,
                offset,
                since,
            },
        );
    }

    fn silent_for(&self, now: Duration, node: &str) -> Duration {
        now.saturating_sub(self.heard.get(node).copied().unwrap_or(now))
    }

    /// Subjectively down: no valid answer for `down-after`, or for that long and two rounds of INFO it has said that it
    /// is a replica itself.
    pub(super) fn primary_is_down(&self, now: Duration) -> bool {
        let replica_since = self
            .said
            .get(&self.primary)
            .filter(|said| said.follows.is_some())
            .map(|said| said.since);
        self.silent_for(now, &self.primary) > self.plan.down_after
            || replica_since
                .is_some_and(|since| now > since + self.plan.down_after + INFO_PERIOD * 2)
    }

    /// Whether other nodes may be made its replicas: it is up, and has lately said that it is a primary. A sentinel that
    /// slept through a failover would otherwise make the new primary a replica of the old one, and both follow each
    /// other.
    pub(super) fn primary_looks_sane(&self, now: Duration) -> bool {
        !self.primary_is_down(now)
            && self.silent_for(now, &self.primary) < INFO_PERIOD * 2
            && self
                .said
                .get(&self.primary)
                .is_some_and(|said| said.follows.is_none())
    }

    /// Objectively down: enough sentinels say so.
    pub(super) fn agreed_down(&self, now: Duration) -> bool {
        let fresh = self
            .down
            .values()
            .filter(|said| now.saturating_sub(**said) <= ANSWER_LASTS)
            .count();
        self.primary_is_down(now) && fresh + 1 >= quorum(&self.plan)
    }

    /// Another sentinel's answer to whether the primary is down, and whom it votes for.
    pub(super) fn told(
        &mut self,
        now: Duration,
        sentinel: &str,
        down: bool,
        vote: Option<(u64, String)>,
    ) {
        if down {
            self.down.insert(sentinel.to_owned(), now);
        } else {
            self.down.remove(sentinel);
        }
        if let Some(vote) = vote {
            self.votes.insert(sentinel.to_owned(), vote);
        }
    }

    /// Begins a failover if it is time for one. `jitter` puts the election off.
    pub(super) fn begin(&mut self, now: Duration, jitter: Duration) {
        if self.attempt.is_none() && self.agreed_down(now) && now >= self.not_before {
            self.epoch += 1;
            self.not_before = now + jitter + self.plan.failover_timeout * 2;
            self.attempt = Some(Attempt {
                epoch: self.epoch,
                begins: now + jitter,
            });
        }
    }

    /// Votes, once an epoch, for the first that asks; then it does not stand itself for a while.
    pub(super) fn vote(
        &mut self,
        now: Duration,
        epoch: u64,
        candidate: &str,
    ) -> Option<(u64, String)> {
        self.epoch = self.epoch.max(epoch);
        let voted = self.vote.as_ref().map_or(0, |(epoch, _)| *epoch);
        if voted < epoch && self.epoch <= epoch {
            self.vote = Some((epoch, candidate.to_owned()));
            if candidate != self.me {
                self.not_before = now + self.plan.failover_timeout * 2;
                self.attempt = None;
            }
        }
        self.vote.clone()
    }

    /// Whether this sentinel leads: a majority of all sentinels, and the quorum, have voted for it in its epoch.
    pub(super) fn leads(&self) -> bool {
        let Some(attempt) = self.attempt else {
            return false;
        };
        let for_me = |vote: &(u64, String)| *vote == (attempt.epoch, self.me.clone());
        let votes = self.votes.values().filter(|vote| for_me(vote)).count()
            + self.vote.iter().filter(|v| for_me(v)).count();
        votes > self.plan.sentinels.len() / 2 && votes >= quorum(&self.plan)
    }

    pub(super) fn election_failed(&self, now: Duration) -> bool {
        let patience = ELECTION_TIMEOUT.min(self.plan.failover_timeout);
        self.attempt
            .is_some_and(|attempt| now > attempt.begins + patience)
    }

    /// The node to promote: of those that answer, the one that has come furthest; of equals, the first by name. One that
    /// says that it is a primary is as good as any (as in Redis): where the primary says that it is a replica, it may
    /// be the only one.
    pub(super) fn best_replica(&self, now: Duration) -> Option<String> {
        let alive = |node: &&String| {
            **node != self.primary
                && self.silent_for(now, node) <= ANSWER_LASTS.max(self.plan.down_after)
                && self.said.contains_key(*node)
        };
        let furthest = |node: &&String| self.said.get(*node).map_or(0, |said| said.offset);
        // `max_by_key` gives the last of equals, so the names go backwards.
        let mut nodes: Vec<&String> = self.plan.nodes.iter().filter(alive).collect();
        nodes.sort_by(|a, b| b.cmp(a));
        nodes.into_iter().max_by_key(furthest).cloned()
    }

    /// The failover has succeeded.
    pub(super) fn promoted(&mut self, node: &str) {
        if let Some(attempt) = self.attempt.take() {
            self.config_epoch = attempt.epoch;
            self.primary = node.to_owned();
            self.down.clear();
            self.votes.clear();
        }
    }

    /// Another sentinel says which primary it knows, and since which epoch: the later one is right.
    pub(super) fn learn(&mut self, now: Duration, primary: &str, config_epoch: u64) {
        self.epoch = self.epoch.max(config_epoch);
        if config_epoch > self.config_epoch && self.plan.nodes.iter().any(|node| node == primary) {
            self.config_epoch = config_epoch;
            self.primary = primary.to_owned();
            self.heard.insert(primary.to_owned(), now);
            self.attempt = None;
            self.down.clear();
        }
    }
}

fn quorum(plan: &SentinelPlan) -> usize {
    usize::try_from(plan.quorum).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn view(me: &str) -> View {
        let names = |prefix: &str| (1..=3).map(|n| format!("{prefix}{n}")).collect();
        let plan = SentinelPlan {
            sentinels: names("s"),
            nodes: names("n"),
            down_after: S(5),
            failover_timeout: S(180),
            quorum: 2,
        };
        let mut view = View::new(me, plan);
        view.restarted(S(0));
        view
    }

    #[test]
    fn down_is_silence_for_longer_than_down_after_and_agreed_by_the_quorum() {
        let mut view = view("s1");
        assert!(!view.primary_is_down(S(5)));
        assert!(
            view.primary_is_down(S(6)) && !view.agreed_down(S(6)),
            "one of two"
        );
        view.told(S(6), "s2", true, None);
        assert!(view.agreed_down(S(6)));
        assert!(
            !view.agreed_down(S(12)),
            "the other's word was good for five seconds"
        );
        view.heard(S(12), "n1", None, 0);
        view.told(S(12), "s2", true, None);
        assert!(
            !view.agreed_down(S(12)),
            "a sentinel that hears the primary does not depose it"
        );
    }

    #[test]
    fn one_vote_an_epoch_and_a_majority_of_all_sentinels_leads() {
        let mut view = view("s1");
        view.told(S(6), "s2", true, None);
        view.begin(S(6), S(0));
        let epoch = view.attempt.expect("it stands").epoch;
        assert!(!view.leads(), "it has not even voted for itself");
        assert_eq!(view.vote(S(6), epoch, "s1"), Some((epoch, "s1".into())));
        assert_eq!(
            view.vote(S(6), epoch, "s3"),
            Some((epoch, "s1".into())),
            "the epoch's vote is given"
        );
        assert!(!view.leads(), "one of three");
        view.told(S(6), "s2", true, Some((epoch, "s1".into())));
        assert!(view.leads());
    }

    #[test]
    fn who_votes_for_another_does_not_stand_for_twice_the_failover_timeout() {
        let mut view = view("s1");
        view.vote(S(6), 1, "s2");
        view.told(S(6), "s2", true, None);
        view.begin(S(6), S(0));
        assert_eq!(view.attempt, None);
        view.told(S(366), "s2", true, None);
        view.begin(S(366), S(0));
        assert!(view.attempt.is_some());
    }

    #[test]
    fn the_replica_that_has_come_furthest_is_promoted_and_of_equals_the_first() {
        let mut view = view("s1");
        let of = || Some("n1".to_owned());
        view.heard(S(9), "n2", of(), 10);
        view.heard(S(9), "n3", of(), 10);
        assert_eq!(view.best_replica(S(9)).as_deref(), Some("n2"));
        view.heard(S(9), "n3", of(), 11);
        assert_eq!(view.best_replica(S(9)).as_deref(), Some("n3"));
        view.heard(S(10), "n2", of(), 10);
        assert_eq!(
            view.best_replica(S(15)).as_deref(),
            Some("n2"),
            "n3 has fallen silent"
        );
        assert_eq!(view.best_replica(S(30)), None);
    }

    #[test]
    fn a_primary_that_says_that_it_is_a_replica_is_down_in_the_end_and_not_sane_at_once() {
        let mut view = view("s1");
        assert!(!view.primary_looks_sane(S(1)), "it has said nothing yet");
        view.heard(S(1), "n1", None, 0);
        assert!(view.primary_looks_sane(S(1)));
        assert!(
            !view.primary_looks_sane(S(7)),
            "silent for longer than down-after"
        );
        for second in 8..=33 {
            view.heard(S(second), "n1", Some("n2".to_owned()), 0);
            assert!(!view.primary_looks_sane(S(second)));
        }
        assert!(!view.primary_is_down(S(33)), "for 25 s");
        view.heard(S(34), "n1", Some("n2".to_owned()), 0);
        assert!(view.primary_is_down(S(34)));
        // And whom it follows is a primary already.
        view.heard(S(34), "n2", None, 0);
        assert_eq!(view.best_replica(S(34)).as_deref(), Some("n2"));
    }

    #[test]
    fn the_later_epoch_is_right() {
        let mut view = view("s1");
        view.learn(S(1), "n2", 3);
        view.learn(S(2), "n3", 2);
        assert_eq!(view.primary, "n2");
        view.learn(S(2), "n9", 7);
        assert_eq!(view.primary, "n2", "a node that nobody knows is no primary");
    }
}
