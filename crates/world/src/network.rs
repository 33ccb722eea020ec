//! What faults do to links and connections.

use std::time::Duration;

use fencepost_checker::history::{Cut, What};

use crate::core::Core;
use crate::host::Host;

impl Core {
    pub(crate) fn cut(&self, a: Host, b: Host, how: Cut, one_way: bool) {
        for (from, to) in directions(a, b, one_way) {
            self.links.borrow_mut().cut(from, to, how);
            self.record(What::Cut {
                from: self.name(from),
                to: self.name(to),
                how,
            });
        }
        self.engine.cut(self, a, b);
    }

    pub(crate) fn heal_cut(&self, a: Host, b: Host, how: Cut, one_way: bool) {
        for (from, to) in directions(a, b, one_way) {
            self.links.borrow_mut().heal(from, to, how);
            self.record(What::Healed {
                from: self.name(from),
                to: self.name(to),
            });
        }
        self.engine.healed(self, a, b, how);
    }

    pub(crate) fn delay(&self, a: Host, b: Host, extra: Duration) {
        for (from, to) in directions(a, b, false) {
            let extra = self.links.borrow_mut().delay(from, to, extra);
            self.record_delay(from, to, extra);
        }
        self.engine.delayed(self, a, b);
    }

    pub(crate) fn end_delay(&self, a: Host, b: Host, extra: Duration) {
        for (from, to) in directions(a, b, false) {
            let extra = self.links.borrow_mut().end_delay(from, to, extra);
            self.record_delay(from, to, extra);
        }
        self.engine.delayed(self, a, b);
    }

    fn record_delay(&self, from: Host, to: Host, extra: Duration) {
        let extra = u64::try_from(extra.as_nanos()).unwrap_or(u64::MAX);
        self.record(What::Delayed {
            from: self.name(from),
            to: self.name(to),
            extra,
        });
    }

    /// A link that was held back for a late packet alone is open again.
    pub(crate) fn late_packet_arrives(&self, from: Host, to: Host) {
        for (from, to) in directions(from, to, false) {
            self.links.borrow_mut().heal(from, to, Cut::Hold);
        }
        self.engine.healed(self, from, to, Cut::Hold);
    }

    /// The connections between two hosts are reset.
    pub(crate) fn reset(&self, a: Host, b: Host) {
        self.record(What::Reset {
            from: self.name(a),
            to: self.name(b),
        });
        self.engine.reset(self, a, b);
    }
}

fn directions(a: Host, b: Host, one_way: bool) -> impl Iterator<Item = (Host, Host)> {
    [(a, b), (b, a)]
        .into_iter()
        .take(if one_way { 1 } else { 2 })
}
