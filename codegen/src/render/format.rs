//! Tokens to text that people read.

use proc_macro2::TokenStream;

/// The first line of every file.
const HEADER: &str = "// Generated from api-specs. Edit those.\n";

/// Formats items one by one, with an empty line between them, since the formatter drops those that
/// are in the tokens.
pub(super) fn file(items: impl IntoIterator<Item = TokenStream>) -> String {
    let mut text = String::from(HEADER);
    for item in items {
        text.push('\n');
        text.push_str(&one(item));
    }
    text
}

fn one(item: TokenStream) -> String {
    let shown = item.to_string();
    match syn::parse2::<syn::File>(item) {
        Ok(file) => prettyplease::unparse(&file),
        // The renderers make whole items only; where one did not, the compiler's message about the
        // unformatted text says more than a panic here could.
        Err(_) => shown,
    }
}
