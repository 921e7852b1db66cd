//! `#[derive(Resource)]`.

pub(crate) mod attrs;
pub(crate) mod expand;
