//! Types by name: the tables of the specs, and the structs that codegen emits for kinds that Rust touches.

mod scalars;

use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_schema::{Ref, Struct};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use scalars::{
    Any, Bytes, Duration, IntOrString, MicroTimestamp, Quantity, Timestamp, is_default, null_as_default,
};

/// Finds a named type of the specs, by its OpenAPI definition name: those that resources share
/// (`Status`, `DeleteOptions`, `Scale`).
pub type Types = Arc<dyn Fn(&str) -> Option<Ref<Struct>> + Send + Sync>;

/// A struct that is one kind's object. Derived: `#[derive(Resource)]` of `apiwright-macros`.
pub trait TypedResource {
    /// The type of `metadata`.
    type Metadata;
    /// Empty for the core group.
    const GROUP: &'static str;
    /// For instance `v1`.
    const VERSION: &'static str;
    /// For instance `Deployment`.
    const KIND: &'static str;
    /// For instance `deployments`.
    const PLURAL: &'static str;
    /// Whether its objects live in namespaces.
    const NAMESPACED: bool;

    /// The object's metadata.
    fn metadata(&self) -> &Self::Metadata;
    /// The object's metadata, to change.
    fn metadata_mut(&mut self) -> &mut Self::Metadata;

    /// `apps/v1`, or `v1` in the core group.
    fn api_version() -> String {
        if Self::GROUP.is_empty() {
            Self::VERSION.into()
        } else {
            format!("{}/{}", Self::GROUP, Self::VERSION)
        }
    }
}

/// An object as a struct of its kind.
///
/// # Errors
/// 500 where it does not fit: it was not checked by its schema.
pub fn read<T: TypedResource + DeserializeOwned>(object: &Value) -> Result<T> {
    let mut json = Vec::new();
    apiwright_json::to_bytes(object, &mut json);
    serde_json::from_slice(&json)
        .map_err(|why| Status::internal(format!("a {} cannot be read: {why}", T::KIND)))
}

/// The object that a struct describes, its kind and apiVersion with it.
///
/// # Errors
/// 500 where it holds what JSON has no form for.
pub fn write<T: TypedResource + Serialize>(of: &T) -> Result<Value> {
    let fail =
        |why: &dyn std::fmt::Display| Status::internal(format!("a {} cannot be written: {why}", T::KIND));
    let json = serde_json::to_vec(of).map_err(|why| fail(&why))?;
    let (members, _) = apiwright_json::decode(&json).map_err(|why| fail(&why))?;
    let mut object = Object::default();
    object.push("kind", T::KIND);
    object.push("apiVersion", T::api_version());
    if let Value::Object(members) = members {
        for (key, value) in members {
            object.push(key, value);
        }
    }
    Ok(Value::Object(object))
}
