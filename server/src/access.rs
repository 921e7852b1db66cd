//! Who tells who asks, and who decides about it, as flags and files have it.

mod authentication;
mod authorization;
mod watched;

use std::sync::Arc;

use apiwright_auth::WebhookTokens;

use crate::flags::Flags;

pub use authentication::Issuers;
pub use authorization::Authorizers;

/// Who is asked about tokens that nobody here knows.
///
/// # Errors
/// When it cannot be.
pub(crate) fn token_webhook(
    flags: &Flags,
    audiences: Vec<String>,
) -> Result<Option<Arc<WebhookTokens>>, String> {
    let Some(file) = &flags.authentication_token_webhook_config_file else { return Ok(None) };
    let version = flags.authentication_token_webhook_version.as_deref();
    let version = authorization::version(version, "authentication webhook")?;
    let ttl = flags.authentication_token_webhook_cache_ttl;
    WebhookTokens::load(file, version, ttl, audiences).map(|webhook| Some(Arc::new(webhook)))
}
