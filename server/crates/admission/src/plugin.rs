//! What an admission plugin is.

use apiwright_json::Value;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::attributes::Attributes;

/// One admission plugin: it mutates, validates or both.
pub trait Plugin: Send + Sync + 'static {
    /// As flags and the chain's spec name it.
    fn name(&self) -> &'static str;

    /// Whether it has a say in the request. Asked before anything is allocated for it.
    fn concerns(&self, request: &Attributes<'_>) -> bool;

    /// Changes the object that a request brings, or refuses it. `object` is `None` for deletions,
    /// `old` for creations.
    fn mutate<'a>(
        &'a self,
        _request: &'a Attributes<'a>,
        _object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }

    /// Refuses what must not happen; sees the object as it would be stored.
    fn validate<'a>(
        &'a self,
        _request: &'a Attributes<'a>,
        _object: Option<&'a Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async { Ok(()) }.boxed()
    }
}
