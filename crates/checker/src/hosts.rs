//! What became of each host: its clocks, when it was stopped, when its process was down.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::{ClockKind, ClockLine, Segment, Time};
use crate::history::{Crash, Event, Name, Role, What};
use crate::span::{Position, Span};

/// One host over the whole run.
#[derive(Clone, Debug, Default)]
pub struct HostLine {
    /// What the host is for, if the history says so.
    pub role: Option<Role>,
    /// Its clocks.
    pub clock: ClockLine,
    /// When it was stopped.
    pub pauses: Vec<Span>,
    /// When its process was down, and how that came.
    pub downs: Vec<(Span, Crash)>,
    segments: Vec<(Position, Segment)>,
}

/// Every host that the history names as one of its own, by name.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    hosts: BTreeMap<Name, HostLine>,
    unknown: HostLine,
}

impl Hosts {
    /// Collects what the events say of hosts.
    #[must_use]
    pub fn of(events: &[Event]) -> Self {
        let mut hosts = Self::default();
        for event in events {
            hosts.take(event);
        }
        hosts
    }

    /// A host; one of which nothing is known if the history does not have it.
    #[must_use]
    pub fn get(&self, host: &str) -> &HostLine {
        self.hosts.get(host).unwrap_or(&self.unknown)
    }

    fn take(&mut self, event: &Event) {
        let place = Position::from(event);
        match &event.what {
            What::Host { host, role } => self.line(host).role = Some(*role),
            What::Clock { host, segment } => self.line(host).set_clock(place, *segment),
            What::Paused { host } => open(&mut self.line(host).pauses, place),
            What::Resumed { host } => close(self.line(host).pauses.last_mut(), place),
            What::Crashed { host, how } => {
                self.line(host).downs.push((
                    Span {
                        from: place,
                        end: None,
                    },
                    *how,
                ));
            }
            What::Started { host } => close(
                self.line(host).downs.last_mut().map(|(span, _)| span),
                place,
            ),
            _ => {}
        }
    }

    fn line(&mut self, host: &Name) -> &mut HostLine {
        self.hosts.entry(host.clone()).or_default()
    }
}

impl HostLine {
    /// What the clock shows at a place: a step of the same instant counts if it comes before.
    #[must_use]
    pub fn reading(&self, kind: ClockKind, place: Position) -> Option<u64> {
        let before = self.segments.partition_point(|(from, _)| *from < place);
        let (_, segment) = self.segments.get(before.checked_sub(1)?)?;
        Some(segment.reading(kind, place.at))
    }

    /// How long the host was stopped between two instants.
    #[must_use]
    pub fn stopped(&self, from: Time, to: Time) -> Duration {
        self.pauses.iter().map(|pause| pause.within(from, to)).sum()
    }

    fn set_clock(&mut self, place: Position, segment: Segment) {
        self.clock.push(segment);
        self.segments.push((place, segment));
    }
}

/// A host that is stopped already is not stopped again.
fn open(spans: &mut Vec<Span>, place: Position) {
    if spans.last().is_none_or(|last| last.end.is_some()) {
        spans.push(Span {
            from: place,
            end: None,
        });
    }
}

fn close(span: Option<&mut Span>, place: Position) {
    if let Some(span) = span {
        span.end.get_or_insert(place);
    }
}
