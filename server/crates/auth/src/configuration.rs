//! `--authorization-config` and `--authentication-config`: who decides and who tells who asks, as files have it.
//!
//! Files are decoded strictly, and validated in upstream's order and words; expressions are compiled on the way.

pub mod authentication;
pub mod authorization;
mod strict;

pub use authentication::AuthenticationConfiguration;
pub use authorization::AuthorizationConfiguration;
