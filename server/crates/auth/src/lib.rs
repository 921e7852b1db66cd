//! Who asks, and whether they may.
//!
//! Authenticators turn credentials into a user, authorizers decide about a user's request.
//! Above: the filters, which call both for every request. Below: storage, from which the RBAC
//! view is kept. Knows no object but roles and bindings. Invariant: credentials that are wrong
//! are refused, never taken for anonymous; a decision reads memory only.

pub mod authentication;
pub mod authority;
pub mod authorization;
mod bearer;
pub mod client_certificate;
mod csv;
pub mod rbac;
pub mod request_header;
pub mod service_account;
#[cfg(test)]
mod testing;
pub mod token_file;

pub use authentication::{Authentication, Identity, Known, TokenAuthenticator};
pub use authority::Authority;
pub use authorization::{Authorization, Mode};
pub use rbac::Rbac;
pub use request_header::RequestHeader;
pub use service_account::ServiceAccounts;
pub use token_file::TokenFile;
