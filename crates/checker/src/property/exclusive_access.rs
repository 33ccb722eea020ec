//! `exclusive-access`: no two clients are between `entered` and `left` of one key at once; a stopped client is inside.
//!
//! A process that died is not inside. Sections of one client do not exclude each other.

use std::ops::ControlFlow;

use crate::acquisitions::Section;
use crate::cause;
use crate::property::Property;
use crate::run::Run;
use crate::span::{Span, overlaps};
use crate::verdict::{Bench, Verdict, Witness};

pub(super) fn judge(run: &Run<'_>) -> Verdict {
    let mut bench = Bench::new();
    contention(run, &mut bench);
    let sections = &run.acquisitions.sections;
    let spans = spans(sections);
    overlaps(&spans, &spans, |one, other| {
        let (inside, entering) = (&sections[one.min(other)], &sections[one.max(other)]);
        // Each pair comes twice, as it is compared with itself.
        if one < other && inside.key == entering.key && inside.owner.client != entering.owner.client
        {
            bench.violation(|| intrusion(run, inside, entering));
        }
        ControlFlow::Continue(())
    });
    bench.verdict(
        Property::ExclusiveAccess,
        "no attempt overlapped a critical section of another client on the same key",
    )
}

/// What makes it a test: an attempt of one client overlapped a section of another.
fn contention(run: &Run<'_>, bench: &mut Bench) {
    let (attempts, sections) = (&run.acquisitions.attempts, &run.acquisitions.sections);
    let attempt_spans: Vec<Span> = attempts.iter().map(|attempt| attempt.span).collect();
    overlaps(&attempt_spans, &spans(sections), |attempt, section| {
        let (attempt, section) = (&attempts[attempt], &sections[section]);
        if attempt.key != section.key || attempt.owner.client == section.owner.client {
            return ControlFlow::Continue(());
        }
        let later = attempt.span.from.max(section.span.from);
        let earlier = attempt.span.from.min(section.span.from);
        bench.exercised(|| {
            let (trying, inside) = (&attempt.owner.client, &section.owner.client);
            Witness::new(
                later,
                [earlier.seq],
                format!(
                    "{trying} tried to acquire `{}` while {inside} was inside",
                    attempt.key
                ),
            )
        });
        ControlFlow::Break(())
    });
}

fn intrusion(run: &Run<'_>, inside: &Section, entering: &Section) -> Witness {
    let sentence = format!(
        "{} entered the section of `{}` at {} while {} was inside since {}",
        entering.owner.client,
        entering.key,
        entering.span.from.at,
        inside.owner.client,
        inside.span.from.at,
    );
    Witness::new(entering.span.from, [inside.span.from.seq], sentence)
        .because(cause::intrusion(run, inside, entering))
}

fn spans(sections: &[Section]) -> Vec<Span> {
    sections.iter().map(|section| section.span).collect()
}
