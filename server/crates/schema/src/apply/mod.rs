//! Server-side apply.
mod gofmt;
pub(crate) use gofmt::go_float;
