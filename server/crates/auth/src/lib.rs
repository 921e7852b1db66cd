//! Who asks, and whether they may.
//!
//! Authenticators turn credentials into a user, authorizers decide about a user's request.
//! Above: the filters, which call both for every request. Below: storage, from which the RBAC
//! and the node graph's views are kept. Invariant: credentials that are wrong
//! are refused, never taken for anonymous; a decision reads memory only, unless a webhook is
//! asked.

pub mod authentication;
pub mod authority;
pub mod authorization;
mod bearer;
mod bootstrap_tokens;
pub mod client_certificate;
mod conditions;
pub mod configuration;
mod csv;
mod expiring;
pub mod follow;
pub mod jwt;
pub mod node;
pub mod rbac;
pub mod request_header;
pub mod service_account;
#[cfg(test)]
mod testing;
pub mod token_file;
pub mod webhook;

pub use authentication::{Authentication, Identity, Known, TokenAuthenticator};
pub use authority::Authority;
pub use authorization::{Authorization, Mode};
pub use bootstrap_tokens::BootstrapTokens;
pub use jwt::{JwtAuthenticator, JwtAuthenticators};
pub use node::NodeAuthorizer;
pub use rbac::Rbac;
pub use request_header::RequestHeader;
pub use service_account::ServiceAccounts;
pub use token_file::TokenFile;
pub use webhook::{WebhookAuthorizer, WebhookTokens};
