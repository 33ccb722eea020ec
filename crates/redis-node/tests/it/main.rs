//! The node from outside: through `handle`, through a socket with redis-rs, and beside a real redis-server.

mod beside_redis;
mod beside_redis_pair;
mod cluster;
mod commands;
mod disk;
mod expiry;
mod generated;
mod hostile;
mod introspection;
mod laws;
mod memory;
mod persistence;
mod pubsub;
mod real_server;
mod replication;
mod replication_laws;
mod scripts;
mod served;
mod shared_lua;
mod sleeping;
mod support;
mod transactions;
