//! What controllers are made of: the facts that their decision tables decide on.
//!
//! Position: above `admission`, below everything that speaks HTTP.

pub mod fact;

pub use fact::{Fact, Facts};
