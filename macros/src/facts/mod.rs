//! `#[derive(Facts)]`.

pub(crate) mod attrs;
pub(crate) mod expand;
