//! Faults in words.

use std::fmt::Write;
use std::time::Duration;

use fencepost_world::plan::{Action, Fault, Heal, Trigger};
use humantime::format_duration;

use crate::scenario::spelled;

/// A fault by its family and its hosts, such as `pause of c1`.
pub(crate) fn name(fault: &Fault) -> String {
    let family = fault.action.family();
    match &fault.action {
        Action::Partition { left, right, .. }
        | Action::Delay { left, right, .. }
        | Action::Reset { left, right } => {
            format!(
                "{family} between {} and {}",
                left.join(" "),
                right.join(" ")
            )
        }
        Action::LatePacket { from, to, .. } => format!("{family} from {from} to {to}"),
        action => format!("{family} of {}", action.hosts().join(" ")),
    }
}

/// A fault whole: what it does to whom, when, and for how long.
pub(crate) fn whole(fault: &Fault) -> String {
    let mut text = name(fault);
    match &fault.action {
        Action::Crash { how, .. } => add(&mut text, format_args!(" ({})", spelled(how))),
        Action::Partition { how, one_way, .. } => {
            let one_way = if *one_way { ", one way" } else { "" };
            add(&mut text, format_args!(" ({}{one_way})", spelled(how)));
        }
        Action::Delay { extra, .. } | Action::LatePacket { extra, .. } => {
            add(&mut text, format_args!(" by {}", format_duration(*extra)));
        }
        Action::ClockStep { by_ns, .. } | Action::ClockSlew { by_ns, .. } => {
            add(&mut text, format_args!(" by {}", signed(*by_ns)));
        }
        Action::ClockDrift { ppm, .. } => add(&mut text, format_args!(" by {ppm} ppm")),
        _ => {}
    }
    match &fault.trigger {
        Trigger::At(at) => add(&mut text, format_args!(", at {}", format_duration(*at))),
        Trigger::On { event, nth, after } => {
            add(&mut text, format_args!(", on `{event}`"));
            if *nth > 1 {
                add(&mut text, format_args!(" number {nth}"));
            }
            if *after > Duration::ZERO {
                add(&mut text, format_args!(" and {}", format_duration(*after)));
            }
        }
    }
    match &fault.heal {
        Heal::After(after) => add(&mut text, format_args!(", for {}", format_duration(*after))),
        Heal::On(event) => add(&mut text, format_args!(", until `{event}`")),
        Heal::Never => {}
    }
    text
}

/// A time that may be negative, as scenario files spell it.
pub(crate) fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    format!(
        "{sign}{}",
        format_duration(Duration::from_nanos(nanos.unsigned_abs()))
    )
}

fn add(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("it is a string");
}
