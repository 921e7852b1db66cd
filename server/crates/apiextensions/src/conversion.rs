//! Conversion of custom resources by webhooks.
//!
//! A version of a definition whose strategy is `Webhook` is stored through a [`Translation`]: what is
//! read comes in the version that is served, what is written goes in the version that is stored.
//! Invariant: a webhook that fails fails the requests that need it, with its words; whatever is in
//! the right version already needs none, and neither does the end of a definition.

mod metadata;
mod translation;
mod webhook;

pub(crate) use translation::{Translation, Types};
pub(crate) use webhook::ConversionWebhook;
