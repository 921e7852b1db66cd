//! The apiwright server: library.

pub mod bootstrap;
pub mod chain;
pub mod generated;
pub mod hooks;
