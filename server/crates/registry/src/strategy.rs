//! What a write does to an object before it is checked: the server's fields, status apart from
//! the rest, generations.

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_schema::Shape;
use apiwright_schema::managed::{blank, keep_times_if_same};

use crate::hooks::WriteContext;
use crate::metadata;
use crate::names;
use crate::resource::Scope;
use crate::store::{Store, WriteOptions};

impl Store {
    /// What hooks learn of a write.
    pub(crate) fn context(write: &WriteOptions) -> WriteContext<'_> {
        let WriteOptions { subresource, user, dry_run, notes, .. } = write;
        WriteContext { subresource, user, dry_run: *dry_run, notes }
    }

    /// Makes an object ready to be created: the server's metadata, no status.
    pub(crate) fn prepare_create(
        &self,
        write: &WriteOptions,
        namespace: &str,
        object: &mut Value,
    ) -> Result<()> {
        self.hollow(object);
        object::set_deletion(object, None, None);
        object::set(object, "selfLink", Value::Null);
        object::set_creation_timestamp(object, &apiwright_meta::time::now());
        object::set_uid(object, &names::uid());
        let prefix = object::generate_name(object);
        if !prefix.is_empty() && object::name(object).is_empty() {
            let name = names::generate(prefix);
            object::set_name(object, &name);
        }
        metadata::match_namespace(object, self.namespace_of(namespace))?;

        let strategy = &self.resource.strategy;
        if strategy.generation {
            object::set_generation(object, 1);
        }
        if strategy.status_subresource && !strategy.status_on_create {
            self.clear_status(object);
        }
        self.resource.hooks.prepare_create(Self::context(write), object);
        Ok(())
    }

    /// Storage does not tell empty lists of kube's own kinds from none.
    fn hollow(&self, object: &mut Value) {
        if !self.resource.is_custom() && !self.resource.is_extension() {
            apiwright_schema::decode::hollow(&self.resource.schema, object);
        }
    }

    /// Makes an object ready to replace `old`: what an update may not change is as it was.
    pub(crate) fn prepare_update(
        &self,
        write: &WriteOptions,
        namespace: &str,
        object: &mut Value,
        old: &Value,
    ) -> Result<()> {
        self.hollow(object);
        metadata::match_namespace(object, self.namespace_of(namespace))?;
        metadata::copy(object, old, "generation");
        self.separate(&write.subresource, object, old);
        if write.subresource == "status" {
            self.keep_metadata(object, old);
        }
        self.resource.hooks.prepare_update(Self::context(write), object, old);
        if self.resource.strategy.generation && self.content_differs(object, old) {
            object::set_generation(object, object::generation(old) + 1);
        }

        if object::uid(object).is_empty() {
            metadata::copy(object, old, "uid");
        }
        if object::creation_timestamp(old).is_some() {
            metadata::copy(object, old, "creationTimestamp");
        }
        if object::deletion_timestamp(old).is_some() {
            metadata::copy(object, old, "deletionTimestamp");
        }
        if object::deletion_grace_period_seconds(object).is_none() {
            metadata::copy(object, old, "deletionGracePeriodSeconds");
        }
        object::set(object, "selfLink", Value::Null);
        keep_times_if_same(old, object);
        Ok(())
    }

    /// The namespace that objects of a request have.
    pub(crate) fn namespace_of<'a>(&self, namespace: &'a str) -> &'a str {
        match self.resource.scope {
            Scope::Namespaced => namespace,
            Scope::Cluster => "",
        }
    }

    /// Keeps a write to the status from the rest and the other way round. Other subresources are
    /// their hooks' business.
    fn separate(&self, subresource: &str, object: &mut Value, old: &Value) {
        let strategy = &self.resource.strategy;
        let (Some(new), Some(old)) = (object.as_object_mut(), old.as_object()) else { return };
        let is_status = |key: &str| strategy.status_fields.iter().any(|one| **one == *key) || key == "status";
        match subresource {
            "" if strategy.status_subresource => replace(new, old, is_status),
            "status" => replace(new, old, |key| !is_status(key) && !is_meta(key)),
            _ => {}
        }
    }

    /// Keeps a write to the status from what it does not own of the metadata.
    fn keep_metadata(&self, object: &mut Value, old: &Value) {
        for path in self.resource.strategy.unowned_by_status.iter() {
            match path.strip_prefix("metadata") {
                Some("") => metadata::reset_for_status(object, old),
                Some(member) => metadata::copy(object, old, member.trim_start_matches('.')),
                None => {}
            }
        }
    }

    /// Whether anything differs that the generation counts.
    fn content_differs(&self, object: &Value, old: &Value) -> bool {
        let (Some(new), Some(old)) = (object.as_object(), old.as_object()) else { return true };
        let counts = |key: &str| {
            !is_meta(key) && !self.resource.strategy.status_fields.iter().any(|one| **one == *key)
        };
        let changed = |this: &Object, other: &Object| {
            this.iter().any(|(key, value)| counts(key) && other.get(key) != Some(value))
        };
        changed(new, old) || changed(old, new)
    }

    /// Gives an object the status of one that nobody has acted on.
    fn clear_status(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        match self.resource.schema.field("status").map(|field| (&field.node.shape, field.pointer)) {
            Some((Shape::Struct(status), false)) if !self.resource.is_custom() => {
                object.insert("status", blank(status));
            }
            _ => {
                object.remove("status");
            }
        }
    }
}

fn is_meta(key: &str) -> bool {
    matches!(key, "kind" | "apiVersion" | "metadata")
}

/// Takes the members that `which` names from `old`, also where it has none.
fn replace(new: &mut Object, old: &Object, which: impl Fn(&str) -> bool) {
    new.retain(|key, _| !which(key) || old.contains_key(key));
    for (key, value) in old.iter().filter(|(key, _)| which(key)) {
        new.insert(key.clone(), value.clone());
    }
}
