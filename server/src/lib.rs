//! The apiwright server: library.

pub mod generated;
pub mod hooks;
