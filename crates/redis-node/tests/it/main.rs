//! The node from outside: through `handle`, through a socket with redis-rs, and beside a real redis-server.

mod beside_redis;
mod commands;
mod expiry;
mod hostile;
mod persistence;
mod scripts;
mod served;
mod shared_lua;
mod support;
mod transactions;
