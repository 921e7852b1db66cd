//! Tokens of other issuers: JSON Web Tokens, as OpenID Connect has them, verified with keys that the issuer publishes.
//!
//! Invariant: nothing of a token is believed before its signature is verified with a key of the configured issuer, by
//! an algorithm that was allowed; then its issuer, its audience and its time must be right, and all rules must hold.

mod authenticator;
mod claims;
mod issuer;
mod keys;
mod options;
mod token;

pub use authenticator::{JwtAuthenticator, JwtAuthenticators};
pub(crate) use claims::{Of, compiled};
pub use keys::ALGORITHMS;
pub use options::{JwtOptions, Mapping, ValidationRule};
