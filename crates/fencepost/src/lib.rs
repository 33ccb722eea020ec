//! Deterministic simulation and fault injection for distributed locks
