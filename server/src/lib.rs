//! The apiwright server: library.

pub mod bootstrap;
pub mod generated;
pub mod hooks;
