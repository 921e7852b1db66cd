//! JSON text to [`Value`], noting duplicate members on the way.

use crate::Value;

/// What is wrong with a text that is not JSON: the words that Go's decoder has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// For instance `invalid character 'x' looking for beginning of value`.
    pub message: String,
}

/// The paths of members that came more than once, in the order in which they were met, in the
/// form that strict decoding errors use: `spec.ports[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates(pub Vec<String>);

/// Decodes one JSON value; the last of duplicate members wins.
///
/// # Errors
/// When the text is not one JSON value, or nests deeper than Go's limit of 10,000.
pub fn decode(text: &[u8]) -> Result<(Value, Duplicates), Error> {
    let _ = text;
    todo!()
}
