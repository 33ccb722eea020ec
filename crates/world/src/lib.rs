//! The simulated world: hosts, clocks, network and faults, on two engines
