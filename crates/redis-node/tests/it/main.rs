//! The node from outside: through `handle`, through a socket with redis-rs, and beside a real redis-server.


mod scripts;
mod support;
