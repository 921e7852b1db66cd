//! Derives for typed Kubernetes objects and for the facts that controllers decide on.
//!
//! Each derive is a folder: `attrs.rs` reads what was written, `expand.rs` says what it becomes.
//! A derive sees one type only; whatever needs the whole API is codegen's.

mod fact;
mod facts;
mod resource;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `apiwright_registry::typed::TypedResource`: a struct's group, version, kind and
/// plural, and access to its metadata.
///
/// ```ignore
/// #[derive(Resource, Serialize, Deserialize)]
/// #[resource(group = "apps", version = "v1", kind = "Deployment", plural = "deployments", namespaced)]
/// struct Deployment { metadata: ObjectMeta, spec: DeploymentSpec }
/// ```
///
/// `group` may be left out for the core group, `kind` where it is the struct's name,
/// `namespaced` for cluster-scoped resources. The struct must have a field `metadata`.
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::attrs::read(&input)
        .map_or_else(syn::Error::into_compile_error, |it| resource::expand::expand(&it))
        .into()
}

/// Implements `apiwright_controllers::Fact` for an enum of unit variants: a closed set of values
/// with names, which decision tables enumerate.
#[proc_macro_derive(Fact)]
pub fn derive_fact(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    fact::attrs::read(&input)
        .map_or_else(syn::Error::into_compile_error, |it| fact::expand::expand(&it))
        .into()
}

/// Implements `apiwright_controllers::Facts` for a struct whose fields are facts: their names and
/// values, for explanations and logs.
#[proc_macro_derive(Facts)]
pub fn derive_facts(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    facts::attrs::read(&input)
        .map_or_else(syn::Error::into_compile_error, |it| facts::expand::expand(&it))
        .into()
}
