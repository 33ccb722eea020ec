//! How a violation came about, derived from the history (DESIGN, section 9): host and fault, in one sentence.

use crate::acquisitions::{Decision, Section};
use crate::history::Name;
use crate::leases::Lease;
use crate::run::{Reached, Run};
use crate::span::Position;

pub(crate) fn collision(_: &Run<'_>, _: &Decision, _: &Lease) -> Option<String> {
    None
}
pub(crate) fn late_decision(_: &Run<'_>, _: &Decision) -> Option<String> {
    None
}
pub(crate) fn intrusion(_: &Run<'_>, _: &Section, _: &Section) -> Option<String> {
    None
}
pub(crate) fn stale_write(_: &Run<'_>, _: &Reached<'_>, _: &Reached<'_>) -> Option<String> {
    None
}
pub(crate) fn refusal(_: &Reached<'_>, _: bool) -> Option<String> {
    None
}
pub(crate) fn foreign_command(_: &Run<'_>, _: &Name, _: &Name, _: Position) -> Option<String> {
    None
}
