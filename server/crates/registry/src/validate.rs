//! The faults of an object that is to be stored: metadata, the schema's rules, the hooks'.
//!
//! Invariant: the order is upstream's, where a kind's own validation begins with the metadata and
//! updates check metadata for all kinds before that; so an update's faults of metadata come more
//! than once, which shows in the causes and not in the message.

use apiwright_json::Value;
use apiwright_meta::names::{self, NameCheck};
use apiwright_meta::object::{
    self, validate_object_meta, validate_object_meta_update, validate_standard_finalizers,
};
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path, Status};

use apiwright_schema::validate::validate;

use crate::hooks::WriteContext;
use crate::resource::{NameRule, Scope};
use crate::store::Store;

impl Store {
    /// Refuses a creation that is not valid.
    pub(crate) fn validate_create(&self, context: WriteContext<'_>, object: &Value) -> Result<()> {
        let mut errors = self.own_meta_faults(object);
        self.schema_faults(object, None, &mut errors);
        self.resource.hooks.validate_create(context, object, &mut errors);
        self.refuse(object, &errors)
    }

    /// Refuses an update that is not valid.
    pub(crate) fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
    ) -> Result<()> {
        let path = Path::new("metadata");
        let update_faults =
            || validate_object_meta_update(object::metadata(object), object::metadata(old), &path);
        let mut errors = self.meta_faults(object, names::name_is_path_segment);
        errors.append(update_faults());
        errors.append(update_faults());
        if !self.resource.is_custom() {
            errors.append(self.standard_faults(object));
            errors.append(self.own_meta_faults(object));
        }
        self.schema_faults(object, Some(old), &mut errors);
        self.resource.hooks.validate_update(context, object, old, &mut errors);
        self.refuse(object, &errors)
    }

    /// The faults of metadata by the kind's own rules.
    fn own_meta_faults(&self, object: &Value) -> ErrorList {
        let mut errors = self.meta_faults(object, self.name_check());
        if !self.resource.is_custom() {
            errors.append(self.standard_faults(object));
        }
        errors
    }

    /// What kube's own kinds ask of finalizers; its extensions' do not.
    fn standard_faults(&self, object: &Value) -> ErrorList {
        match self.resource.is_extension() {
            true => ErrorList::new(),
            false => standard_finalizer_faults(object),
        }
    }

    fn meta_faults(&self, object: &Value, name: NameCheck) -> ErrorList {
        let namespaced = self.resource.scope == Scope::Namespaced;
        validate_object_meta(object::metadata(object), namespaced, name, &Path::new("metadata"))
    }

    /// Custom resources are checked by their hooks, whole.
    fn schema_faults(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        if !self.resource.is_custom() {
            validate(&self.resource.schema, object, old, &Path::default(), errors);
        }
    }

    fn name_check(&self) -> NameCheck {
        match self.resource.strategy.name_rule {
            NameRule::DnsSubdomain => names::name_is_dns_subdomain,
            NameRule::DnsLabel => names::name_is_dns_label,
            NameRule::Dns1035Label => names::name_is_dns1035_label,
            NameRule::PathSegment => names::name_is_path_segment,
            NameRule::Hook => |_, _| Vec::new(),
        }
    }

    fn refuse(&self, object: &Value, errors: &ErrorList) -> Result<()> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(Status::invalid(&self.resource.group_kind(), object::name(object), errors))
    }
}

/// What built-in kinds ask of finalizers, on updates as well.
fn standard_finalizer_faults(object: &Value) -> ErrorList {
    let finalizers = object::metadata(object).get("finalizers");
    validate_standard_finalizers(finalizers, &Path::new("metadata").child("finalizers"))
}
