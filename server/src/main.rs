//! The apiwright server.
fn main() {}
