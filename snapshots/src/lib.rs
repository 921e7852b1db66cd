//! Snapshot tests of what is generated and served.
