//! The network as both engines see it: which links are cut, and how long a message takes.

use std::time::Duration;

use fencepost_checker::history::Cut;

use crate::host::Host;
use crate::plan::{LatencyPlan, WorldPlan};
use crate::random::Stream;

/// One direction between two hosts.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    latency: LatencyPlan,
    /// How many faults hold messages back now.
    held: u32,
    /// How many faults lose messages now.
    dropped: u32,
    /// How many faults have lost messages so far: a message that was on its way when the count rose is lost.
    drops: u64,
    /// How much later messages are now.
    extra: Duration,
    /// How much later the next message alone is.
    late: Duration,
    stream: Option<Stream>,
}

/// What happens to a message that is sent, or has come to the end of its way, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Open,
    Held,
    Lost,
}

impl Link {
    pub(crate) fn passage(&self) -> Passage {
        match (self.dropped, self.held) {
            (0, 0) => Passage::Open,
            (0, _) => Passage::Held,
            _ => Passage::Lost,
        }
    }

    pub(crate) fn drops(&self) -> u64 {
        self.drops
    }

    pub(crate) fn extra(&self) -> Duration {
        self.extra
    }
}

/// All links.
pub(crate) struct Links {
    seed: u64,
    names: Vec<String>,
    links: Vec<Link>,
}

impl Links {
    pub(crate) fn new(plan: &WorldPlan) -> Self {
        let names: Vec<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
        let latency = |from: &str, to: &str| {
            let own = |link: &&crate::plan::LinkPlan| {
                (&*link.between.0, &*link.between.1) == (from, to)
                    || (&*link.between.1, &*link.between.0) == (from, to)
            };
            plan.network
                .links
                .iter()
                .rev()
                .find(own)
                .map_or(plan.network.latency, |link| link.latency)
        };
        let new = |latency| Link {
            latency,
            held: 0,
            dropped: 0,
            drops: 0,
            extra: Duration::ZERO,
            late: Duration::ZERO,
            stream: None,
        };
        let links = names
            .iter()
            .flat_map(|from| names.iter().map(|to| new(latency(from, to))))
            .collect();
        Self {
            seed: plan.seed,
            names,
            links,
        }
    }

    fn index(&self, from: Host, to: Host) -> usize {
        from.index() * self.names.len() + to.index()
    }

    pub(crate) fn get(&self, from: Host, to: Host) -> &Link {
        &self.links[self.index(from, to)]
    }

    fn get_mut(&mut self, from: Host, to: Host) -> &mut Link {
        let index = self.index(from, to);
        &mut self.links[index]
    }

    pub(crate) fn cut(&mut self, from: Host, to: Host, how: Cut) {
        let link = self.get_mut(from, to);
        match how {
            Cut::Hold => link.held += 1,
            Cut::Drop => {
                link.dropped += 1;
                link.drops += 1;
            }
        }
    }

    pub(crate) fn heal(&mut self, from: Host, to: Host, how: Cut) {
        let link = self.get_mut(from, to);
        match how {
            Cut::Hold => link.held -= 1,
            Cut::Drop => link.dropped -= 1,
        }
    }

    pub(crate) fn delay(&mut self, from: Host, to: Host, extra: Duration) -> Duration {
        let link = self.get_mut(from, to);
        link.extra += extra;
        link.extra
    }

    pub(crate) fn end_delay(&mut self, from: Host, to: Host, extra: Duration) -> Duration {
        let link = self.get_mut(from, to);
        link.extra = link.extra.saturating_sub(extra);
        link.extra
    }

    pub(crate) fn late_packet(&mut self, from: Host, to: Host, extra: Duration) {
        self.get_mut(from, to).late += extra;
    }

    /// How long the next message takes. The n-th message of a link takes the same time whatever happens elsewhere:
    /// each link draws from a stream of its own, once a message.
    pub(crate) fn next_latency(&mut self, from: Host, to: Host) -> Duration {
        let drawn = self.drawn_latency(from, to);
        let link = self.get_mut(from, to);
        drawn + link.extra + std::mem::take(&mut link.late)
    }

    /// The next latency that is drawn, without what faults add.
    pub(crate) fn drawn_latency(&mut self, from: Host, to: Host) -> Duration {
        let index = self.index(from, to);
        if self.links[index].stream.is_none() {
            let label = format!(
                "link/{}/{}",
                self.names[from.index()],
                self.names[to.index()]
            );
            self.links[index].stream = Some(Stream::new(self.seed, &label));
        }
        let link = &mut self.links[index];
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let (min, max) = (nanos(link.latency.min), nanos(link.latency.max));
        Duration::from_nanos(
            link.stream
                .as_mut()
                .map_or(0, |stream| stream.between(min, max)),
        )
    }
}
