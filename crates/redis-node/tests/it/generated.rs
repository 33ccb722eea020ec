//! What is generated into the README is what the code says.

const README: &str = include_str!("../../README.md");

#[test]
fn the_command_table_of_the_readme_is_up_to_date() {
    let (_, rest) = README
        .split_once("<!-- commands -->\n")
        .expect("a first marker");
    let (block, _) = rest
        .split_once("<!-- /commands -->")
        .expect("a second marker");
    let expected = redis_node::command_table();
    assert_eq!(
        block, expected,
        "put the output of `cargo run -p redis-node --example table` between the markers"
    );
}
