//! Patterns for files: a path from the root, of which `*` matches one folder or name, and below which all match.

/// Whether the file lies at or below the pattern's place.
pub(super) fn matches(pattern: &str, file: &str) -> bool {
    let mut parts = file.split('/');
    pattern
        .split('/')
        .all(|own| parts.next().is_some_and(|part| own == "*" || own == part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_itself_and_what_lies_below() {
        assert!(matches("crates/*/src", "crates/world/src/engine/mod.rs"));
        assert!(matches(
            "crates/world/src/plan.rs",
            "crates/world/src/plan.rs"
        ));
        assert!(!matches("crates/*/src", "crates/world/tests/it/main.rs"));
        assert!(!matches(
            "crates/world/src/plan",
            "crates/world/src/plan.rs"
        ));
        assert!(!matches("crates/world/src", "crates/world"));
    }
}
