//! The compiler of api-specs.
