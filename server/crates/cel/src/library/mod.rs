//! The functions, one file for each library.

use crate::functions::Entry;

mod authz;
pub(crate) mod format;
mod formatting;
mod lists;
pub(crate) mod literals;
mod net;
mod numbers;
mod operators;
mod optional;
pub(crate) mod quantity;
mod regex;
pub(crate) mod semver;
mod sets;
mod strings;
pub(crate) mod time;
pub(crate) mod url;

/// All of them, and whether calls that nothing takes say the types.
pub(crate) fn all() -> [(bool, &'static [Entry]); 15] {
    [
        (false, operators::FUNCTIONS),
        (false, numbers::FUNCTIONS),
        (false, time::FUNCTIONS),
        (false, strings::STANDARD),
        (true, strings::FUNCTIONS),
        (true, lists::FUNCTIONS),
        (true, sets::FUNCTIONS),
        (true, optional::FUNCTIONS),
        (true, regex::FUNCTIONS),
        (true, quantity::FUNCTIONS),
        (true, url::FUNCTIONS),
        (true, net::FUNCTIONS),
        (true, semver::FUNCTIONS),
        (true, format::FUNCTIONS),
        (true, authz::FUNCTIONS),
    ]
}
