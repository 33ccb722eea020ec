//! The node from outside: through `handle`, through a socket with redis-rs, and beside a real redis-server.

mod beside_redis;
mod commands;
mod expiry;
mod generated;
mod hostile;
mod introspection;
mod laws;
mod memory;
mod persistence;
mod pubsub;
mod scripts;
mod served;
mod shared_lua;
mod sleeping;
mod support;
mod transactions;
