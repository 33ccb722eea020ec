//! The Redlock algorithm on ports, and on real Redis
