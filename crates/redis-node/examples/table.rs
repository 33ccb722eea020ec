//! Prints the command table of the README: `cargo run -p redis-node --example table`.
#![expect(clippy::print_stdout, reason = "that is what it is for")]

fn main() {
    print!("{}", redis_node::command_table());
}
