//! `#[derive(Fact)]`.

pub(crate) mod attrs;
pub(crate) mod expand;
