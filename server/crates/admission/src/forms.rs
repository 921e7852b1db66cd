//! How plugins get an object into the form that a webhook or a policy wants, and back.

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::Resource;
use futures::FutureExt;
use futures::future::BoxFuture;

/// Knows the forms of a request's objects: its version's, and those of the other versions.
pub trait Forms: Send + Sync + std::fmt::Debug {
    /// An object of the request in another version, in normal form.
    fn convert<'a>(&'a self, object: &'a Value, to: &'a Resource) -> BoxFuture<'a, Result<Value>>;

    /// The other way: an object of another version in that of the request.
    fn convert_back<'a>(&'a self, object: Value, from: &'a Resource) -> BoxFuture<'a, Result<Value>>;

    /// An object that somebody changed, in normal form and with defaults: of the request's version, or of
    /// another one.
    ///
    /// # Errors
    /// 500, with a decoder's words.
    fn settle(&self, changed: Value, of: Option<&Resource>) -> Result<Value>;
}

/// Objects that have one version only, and whatever form they are given.
#[derive(Clone, Copy, Debug)]
pub struct OneForm;

impl Forms for OneForm {
    fn convert<'a>(&'a self, _: &'a Value, to: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        let why = format!("there is no other version to convert to than {}", to.api_version());
        async { Err(Status::internal(why)) }.boxed()
    }

    fn convert_back<'a>(&'a self, _: Value, from: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        let why = format!("there is no other version to convert from than {}", from.api_version());
        async { Err(Status::internal(why)) }.boxed()
    }

    fn settle(&self, changed: Value, _: Option<&Resource>) -> Result<Value> {
        Ok(changed)
    }
}
