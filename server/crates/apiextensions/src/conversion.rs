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

use apiwright_json::Value;
use futures::future::BoxFuture;

/// Converts objects between the versions of a definition.
pub(crate) trait Converter: Send + Sync + 'static {
    /// The objects, those of other versions than this one converted.
    ///
    /// # Errors
    /// In the words that clients see.
    fn convert<'a>(
        &'a self,
        objects: Vec<Value>,
        desired: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Value>, String>>;
}
