//! Where objects are stored: `/registry/<prefix>/[<namespace>/]<name>`.

use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, names};
use apiwright_storage::Key;

use crate::resource::Scope;
use crate::store::Store;

impl Store {
    /// The prefix of all keys in a namespace; of all keys where it is empty.
    pub fn key_prefix(&self, namespace: &str) -> String {
        let prefix = &*self.resource.storage.prefix;
        if namespace.is_empty() || self.resource.scope == Scope::Cluster {
            format!("/registry/{prefix}/")
        } else {
            format!("/registry/{prefix}/{namespace}/")
        }
    }

    /// The key of one object; `namespace` is empty for cluster-scoped ones.
    ///
    /// # Errors
    /// 400 where there can be no such object.
    pub fn key(&self, namespace: &str, name: &str) -> Result<Key> {
        if self.resource.scope == Scope::Namespaced && namespace.is_empty() {
            return Err(Status::bad_request("Namespace parameter required."));
        }
        if name.is_empty() {
            return Err(Status::bad_request("Name parameter required."));
        }
        let faults = names::path_segment_name(name);
        if !faults.is_empty() {
            let text = format!("Name parameter invalid: {}: {}", quoted(name), faults.join(";"));
            return Err(Status::bad_request(text));
        }
        Ok((self.key_prefix(namespace) + name).into())
    }
}
