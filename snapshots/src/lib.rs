//! Snapshot tests of what is generated and served: see `tests/`, and `cargo insta review`.
