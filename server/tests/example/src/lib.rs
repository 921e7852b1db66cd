//! A server of one group that is nothing but YAML: see `api-specs/groups/tea.example.com`.
//!
//! This file is all the Rust that the group takes; `tests/served.rs` shows that it is served. `serve` puts
//! it behind an aggregator, which `tests/aggregated.rs` shows.

pub mod serve;

/// What the specs became.
pub mod generated {
    #![allow(missing_docs, clippy::pedantic)]
    pub use apiwright::generated::prelude;
    apiwright::include_specs!();
}
