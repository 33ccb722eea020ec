//! One Redis server, sans-IO: keyspace, commands, Lua, persistence
