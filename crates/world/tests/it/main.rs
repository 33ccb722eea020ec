//! The world as its users see it, on both engines.

mod engines;
mod links;
mod world_dsl;
