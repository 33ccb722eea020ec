//! Places in a history and the half-open stretches between them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::clock::Time;
use crate::history::Event;

/// A place in a history. Of two places of one instant the one with the smaller sequence number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// When.
    pub at: Time,
    /// The sequence number of the event.
    pub seq: u64,
}

/// A stretch of a history: includes its beginning, excludes its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first place that is inside.
    pub from: Position,
    /// The first place that is outside again; `None` if the history does not see its end.
    pub end: Option<Position>,
}

impl Position {
    /// The place before every event of an instant: where something ends that a clock ends, whatever else happens then.
    #[must_use]
    pub fn first_of(at: Time) -> Self {
        Self { at, seq: 0 }
    }

    /// The place right behind this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self {
            seq: self.seq.saturating_add(1),
            ..self
        }
    }
}

impl From<&Event> for Position {
    fn from(event: &Event) -> Self {
        Self {
            at: event.at,
            seq: event.seq,
        }
    }
}

impl Span {
    /// The stretch that contains one place.
    #[must_use]
    pub fn point(place: Position) -> Self {
        Self {
            from: place,
            end: Some(place.next()),
        }
    }

    /// Whether no place is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ended_by(self.from)
    }

    /// Whether all of `other` is inside.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let lasts = match (self.end, other.end) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(end), Some(other)) => other <= end,
        };
        self.from <= other.from && lasts
    }

    /// Whether the two have a place in common.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let from = self.from.max(other.from);
        !self.ended_by(from) && !other.ended_by(from)
    }

    /// Whether a place is inside.
    #[must_use]
    pub fn contains(&self, place: Position) -> bool {
        self.from <= place && !self.ended_by(place)
    }

    /// Whether nothing is inside any more at `place` or later.
    #[must_use]
    pub fn ended_by(&self, place: Position) -> bool {
        self.end.is_some_and(|end| end <= place)
    }

    /// How much of this stretch lies between two instants.
    #[must_use]
    pub fn within(&self, from: Time, to: Time) -> Duration {
        let end = self.end.map_or(to, |end| end.at.min(to));
        end.since(self.from.at.max(from))
    }
}

/// The places that are inside of at least `least` of the stretches, as disjoint stretches in order.
pub(crate) fn covered(spans: impl IntoIterator<Item = Span>, least: usize) -> Vec<Span> {
    let mut changes: BTreeMap<Position, (usize, usize)> = BTreeMap::new();
    for span in spans.into_iter().filter(|span| !span.is_empty()) {
        changes.entry(span.from).or_default().0 += 1;
        if let Some(end) = span.end {
            changes.entry(end).or_default().1 += 1;
        }
    }
    let (mut inside, mut found): (usize, Vec<Span>) = (0, Vec::new());
    for (place, (begun, ended)) in changes {
        let before = inside >= least;
        inside = inside + begun - ended;
        match (before, inside >= least) {
            (false, true) => found.push(Span {
                from: place,
                end: None,
            }),
            (true, false) => {
                if let Some(last) = found.last_mut() {
                    last.end = Some(place);
                }
            }
            _ => {}
        }
    }
    found
}

/// The places that are inside of one of the stretches, as disjoint stretches in order.
pub(crate) fn union(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    covered(spans, 1)
}

/// The places that are inside of both. Each of the two is disjoint in itself and in order.
pub(crate) fn common(left: &[Span], right: &[Span]) -> Vec<Span> {
    let mut found = Vec::new();
    for span in left {
        for other in met(span, right) {
            let end = [span.end, other.end].into_iter().flatten().min();
            found.push(Span {
                from: span.from.max(other.from),
                end,
            });
        }
    }
    found.retain(|span| !span.is_empty());
    found
}

/// The places that are inside of `left` and not of `right`. Each of the two is disjoint in itself and in order.
pub(crate) fn without(left: &[Span], right: &[Span]) -> Vec<Span> {
    let mut found = Vec::new();
    for span in left {
        let mut from = Some(span.from);
        for other in met(span, right) {
            found.extend(from.map(|from| Span {
                from,
                end: Some(other.from),
            }));
            from = other.end;
        }
        found.extend(from.map(|from| Span {
            from,
            end: span.end,
        }));
    }
    found.retain(|span| !span.is_empty());
    found
}

/// Those of `spans`, which are disjoint and in order, that have a place in common with one.
fn met<'a>(span: &'a Span, spans: &'a [Span]) -> impl Iterator<Item = &'a Span> {
    let first = spans.partition_point(|other| other.ended_by(span.from));
    spans[first..]
        .iter()
        .take_while(|other| !span.ended_by(other.from))
}

/// Finds those of many stretches that meet one, in time that grows with what is found.
pub(crate) struct Index {
    /// In order of their beginnings.
    spans: Vec<Span>,
    /// Of each and all before it, the last end; `None` if one has none.
    ends: Vec<Option<Position>>,
}

impl Index {
    /// Of stretches in order of their beginnings.
    pub(crate) fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let spans: Vec<Span> = spans.into_iter().collect();
        let mut last = Some(Position::first_of(Time::ZERO));
        let ends = spans.iter().map(|span| {
            last = last.zip(span.end).map(|(last, end)| last.max(end));
            last
        });
        Self {
            ends: ends.collect(),
            spans,
        }
    }

    /// The indices of those that have a place in common with `span`, in order.
    pub(crate) fn meeting<'a>(&'a self, span: &'a Span) -> impl Iterator<Item = usize> + 'a {
        let over = |end: &Option<Position>| end.is_some_and(|end| end <= span.from);
        let first = self.ends.partition_point(over);
        let begun = |other: &Span| !span.ended_by(other.from);
        let last = self.spans.partition_point(begun).max(first);
        (first..last).filter(|&index| self.spans[index].meets(span))
    }
}

/// The places that are inside of none. The stretches are disjoint and in order.
pub(crate) fn outside(spans: &[Span]) -> Vec<Span> {
    let starts = std::iter::once(Some(Position::first_of(Time::ZERO)));
    let starts = starts.chain(spans.iter().map(|span| span.end));
    let ends = spans.iter().map(|span| Some(span.from)).chain([None]);
    starts
        .zip(ends)
        .filter_map(|(from, end)| from.map(|from| Span { from, end }))
        .filter(|span| !span.is_empty())
        .collect()
}

/// Visits each pair of a `left` and a `right` stretch that have a place in common, in order of that place, until
/// `visit` breaks. Both are in order of their beginnings.
pub(crate) fn overlaps(
    left: &[Span],
    right: &[Span],
    mut visit: impl FnMut(usize, usize) -> ControlFlow<()>,
) {
    let (mut next_left, mut next_right) = (0, 0);
    let (mut open_left, mut open_right) = (Vec::new(), Vec::new());
    loop {
        let (from, is_left) = match (left.get(next_left), right.get(next_right)) {
            (None, None) => return,
            (Some(l), Some(r)) => (l.from.min(r.from), l.from <= r.from),
            (Some(l), None) => (l.from, true),
            (None, Some(r)) => (r.from, false),
        };
        open_left.retain(|&l: &usize| !left[l].ended_by(from));
        open_right.retain(|&r: &usize| !right[r].ended_by(from));
        let flow = if is_left {
            let l = next_left;
            next_left += 1;
            open_left.push(l);
            open_right.iter().try_for_each(|&r| visit(l, r))
        } else {
            let r = next_right;
            next_right += 1;
            open_right.push(r);
            open_left.iter().try_for_each(|&l| visit(l, r))
        };
        if flow.is_break() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(at: u64, seq: u64) -> Position {
        Position { at: Time(at), seq }
    }

    #[test]
    fn a_stretch_includes_its_beginning_and_excludes_its_end() {
        let span = Span {
            from: place(5, 2),
            end: Some(place(9, 7)),
        };
        let inside = |at, seq| span.contains(place(at, seq));
        assert_eq!(
            [inside(5, 1), inside(5, 2), inside(9, 6), inside(9, 7)],
            [false, true, true, false]
        );
        let by_clock = Span {
            from: place(5, 2),
            end: Some(Position::first_of(Time(9))),
        };
        assert!(!by_clock.contains(place(9, 0)) && by_clock.contains(place(8, u64::MAX)));
        assert!(Span { end: None, ..span }.contains(place(u64::MAX, 0)));
    }

    #[test]
    fn only_what_lies_between_two_instants_counts() {
        let span = Span {
            from: place(5, 0),
            end: Some(place(9, 0)),
        };
        let within = |from, to| span.within(Time(from), Time(to)).as_nanos();
        assert_eq!(
            [
                within(0, 100),
                within(6, 8),
                within(0, 6),
                within(8, 100),
                within(9, 100),
                within(0, 5)
            ],
            [4, 2, 1, 1, 0, 0]
        );
    }

    /// Stretches among few places, so that many of them touch; disjoint and in order, with gaps or without.
    fn some(bits: u32) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for at in (0..10).filter(|at| bits >> at & 1 == 1) {
            let end = Some(place(at + 1, 0));
            match spans.last_mut() {
                Some(last) if last.end == Some(place(at, 0)) => last.end = end,
                _ => spans.push(Span {
                    from: place(at, 0),
                    end,
                }),
            }
        }
        spans
    }

    #[test]
    fn what_is_common_and_what_is_left_is_what_bits_say() {
        for left in (0..1024).step_by(7) {
            for right in (0..1024).step_by(5) {
                assert_eq!(common(&some(left), &some(right)), some(left & right));
                assert_eq!(without(&some(left), &some(right)), some(left & !right));
            }
        }
        let endless = [Span {
            from: place(3, 0),
            end: None,
        }];
        assert_eq!(common(&endless, &some(0b111_1100)), some(0b111_1000));
        assert_eq!(without(&some(0b111_1100), &endless), some(0b100));
        assert_eq!(
            without(&endless, &some(0b10_0000))
                .last()
                .map(|span| span.end),
            Some(None)
        );
    }

    #[test]
    fn an_index_finds_all_that_meet() {
        let ends = [Some(9), Some(3), None, Some(4), Some(7)];
        let spans: Vec<Span> = (0..)
            .zip(ends)
            .map(|(from, end)| Span {
                from: place(from, 0),
                end: end.map(|end| place(end, 0)),
            })
            .collect();
        for first in 0..=spans.len() {
            let index = Index::of(spans[first..].to_vec());
            for from in 0..12 {
                for end in from + 1..12 {
                    let span = Span {
                        from: place(from, 0),
                        end: Some(place(end, 0)),
                    };
                    let found: Vec<usize> = index.meeting(&span).collect();
                    let all = spans[first..].iter().enumerate();
                    let wanted: Vec<usize> = all
                        .filter(|(_, other)| other.meets(&span))
                        .map(|(at, _)| at)
                        .collect();
                    assert_eq!(found, wanted);
                }
            }
        }
    }

    #[test]
    fn stretches_cover_meet_and_are_empty() {
        let span = |from, end| Span {
            from: place(from, 0),
            end: Some(place(end, 0)),
        };
        let endless = |from| Span {
            from: place(from, 0),
            end: None,
        };
        assert!(span(3, 3).is_empty() && span(4, 3).is_empty() && !span(3, 4).is_empty());
        assert!(span(1, 5).covers(&span(1, 5)) && endless(1).covers(&endless(2)));
        assert!(!span(1, 5).covers(&span(0, 5)) && !span(1, 5).covers(&span(1, 6)));
        assert!(!span(1, 5).covers(&endless(1)) && endless(1).covers(&span(1, 5)));
        assert!(span(1, 5).meets(&span(4, 6)) && !span(1, 5).meets(&span(5, 6)));
        assert!(!span(5, 6).meets(&span(1, 5)) && endless(1).meets(&span(5, 6)));
        assert!(!span(3, 3).meets(&span(1, 5)));
    }

    #[test]
    fn places_are_added_and_taken_away() {
        let span = |from, end| Span {
            from: place(from, 0),
            end: Some(place(end, 0)),
        };
        let endless = |from| Span {
            from: place(from, 0),
            end: None,
        };
        let some = [span(1, 4), span(3, 6), span(6, 7), endless(9)];
        assert_eq!(union(some), [span(1, 7), endless(9)]);
        assert_eq!(covered(some, 2), [span(3, 4)]);
        assert_eq!(covered([span(4, 2), span(3, 3)], 1), []);
        assert_eq!(outside(&union(some)), [span(0, 1), span(7, 9)]);
        assert_eq!(outside(&[]), [endless(0)]);
        assert_eq!(outside(&[span(0, 2)]), [endless(2)]);
        assert_eq!(
            common(&[span(1, 7)], &[span(0, 2), endless(5)]),
            [span(1, 2), span(5, 7)]
        );
        assert_eq!(
            without(&[span(1, 7)], &[span(2, 3), endless(6)]),
            [span(1, 2), span(3, 6)]
        );
    }

    #[test]
    fn each_pair_that_meets_is_visited_once_and_in_order() {
        let span = |from, end| Span {
            from: place(from, 0),
            end: Some(place(end, 0)),
        };
        let (left, right) = (
            [span(0, 4), span(2, 9)],
            [span(1, 3), span(4, 6), span(9, 10)],
        );
        let mut pairs = Vec::new();
        overlaps(&left, &right, |l, r| {
            pairs.push((l, r));
            ControlFlow::Continue(())
        });
        assert_eq!(pairs, [(0, 0), (1, 0), (1, 1)]);
    }
}
