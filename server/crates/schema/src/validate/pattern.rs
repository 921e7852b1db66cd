//! Regular expressions of schemas, as Go's.

use apiwright_meta::regexp::compiled;

/// Whether a text has a match of an expression. One that does not compile matches everything: it
/// was refused, with its error, where the schema came from.
pub(super) fn matches(expression: &str, text: &str) -> bool {
    compiled(expression).map_or(true, |regex| regex.is_match(text))
}

/// Why an expression cannot be used: what Go says of it.
pub fn pattern_fault(expression: &str) -> Option<String> {
    compiled(expression).err()
}
