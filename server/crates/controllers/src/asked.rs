//! Admission of what a controller writes: plugins see it as they see a client's request.

use std::sync::Arc;

use apiwright_admission::{
    Admission, Annotations, Attributes, Forms, Operation, Reinvocation, User as Asking, Wanted, Warnings,
};
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{GroupVersionKind, Status};
use apiwright_registry::store::{Check, Writer as User};
use apiwright_registry::{Resource, Scope, convert};
use apiwright_schema::decode::{ObjectKind, Source, arrange, normalise};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::prune;
use futures::future::{BoxFuture, ready};
use tracing::info;

/// A write that plugins are asked about.
pub(crate) struct Asked<'a> {
    pub(crate) admission: &'a Arc<Admission>,
    pub(crate) user: &'a User,
    pub(crate) resource: &'a Resource,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) options: Value,
    pub(crate) versions: Vec<Arc<Resource>>,
}

impl Asked<'_> {
    /// Lets plugins change what is about to be written; they may refuse it.
    pub(crate) async fn mutate(
        &self,
        operation: Operation,
        new: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        if self.admission.is_empty() {
            return Ok(());
        }
        let turns = Turns::default();
        let (kind, forms) = (self.kind(), StoreForms(self.resource));
        let attributes = self.attributes(operation, &kind, &forms, &turns);
        let mutated = self.admission.mutate(&attributes, new, old).await;
        self.tell(&turns);
        mutated
    }

    async fn validate(&self, new: Option<&Value>, old: Option<&Value>) -> Result<()> {
        let operation = match (new, old) {
            (None, _) => Operation::Delete,
            (Some(_), None) => Operation::Create,
            (Some(_), Some(_)) => Operation::Update,
        };
        if operation == Operation::Delete {
            self.mutate(operation, None, old).await?;
        }
        let turns = Turns::default();
        let (kind, forms) = (self.kind(), StoreForms(self.resource));
        let attributes = self.attributes(operation, &kind, &forms, &turns);
        let validated = self.admission.validate(&attributes, new, old).await;
        self.tell(&turns);
        validated
    }

    /// Nobody waits for warnings: they go to the log.
    fn tell(&self, turns: &Turns) {
        for warning in turns.warnings.take() {
            info!(user = self.user.name, resource = &*self.resource.plural, name = self.name, "{warning}");
        }
    }

    fn attributes<'b>(
        &'b self,
        operation: Operation,
        kind: &'b GroupVersionKind,
        forms: &'b dyn Forms,
        turns: &'b Turns,
    ) -> Attributes<'b> {
        let User { name, uid, groups, extra } = self.user;
        Attributes {
            operation,
            resource: self.resource,
            kind,
            subresource: self.subresource,
            namespace: match self.resource.scope {
                Scope::Namespaced => self.namespace,
                // A namespace is in itself.
                Scope::Cluster
                    if &*self.resource.plural == "namespaces" && self.resource.group.is_empty() =>
                {
                    self.name
                }
                Scope::Cluster => "",
            },
            name: self.name,
            user: Asking { name, uid, groups, extra },
            dry_run: false,
            deadline: None,
            options: Some(&self.options),
            warnings: &turns.warnings,
            annotations: &turns.annotations,
            versions: &self.versions,
            forms,
            reinvocation: &turns.reinvocation,
        }
    }

    fn kind(&self) -> GroupVersionKind {
        let resource = self.resource;
        let (group, version, kind) = match resource.subresource(self.subresource) {
            Some(one) => (&one.kind.group, &one.kind.version, &one.kind.kind),
            None => (&resource.group, &resource.version, &resource.kind),
        };
        GroupVersionKind { group: (**group).into(), version: (**version).into(), kind: (**kind).into() }
    }
}

impl Check for Asked<'_> {
    /// What stays as it is is no write.
    fn check<'a>(&'a self, new: Option<&'a Value>, old: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        if self.admission.is_empty() || new.is_some() && new == old {
            return Box::pin(ready(Ok(())));
        }
        Box::pin(self.validate(new, old))
    }
}

/// What plugins leave behind.
struct Turns {
    warnings: Warnings,
    annotations: Annotations,
    reinvocation: Reinvocation,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            warnings: Warnings::default(),
            annotations: Annotations::new(Wanted::Nothing),
            reinvocation: Reinvocation::default(),
        }
    }
}

/// The forms of a stored resource's objects.
#[derive(Debug)]
struct StoreForms<'a>(&'a Resource);

impl Forms for StoreForms<'_> {
    fn convert<'a>(&'a self, object: &'a Value, to: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        Box::pin(ready(converted(object.clone(), self.0, to)))
    }

    fn convert_back<'a>(&'a self, object: Value, from: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        Box::pin(ready(converted(object, from, self.0)))
    }

    fn settle(&self, changed: Value, of: Option<&Resource>) -> Result<Value> {
        settle(of.unwrap_or(self.0), changed, Source::Json).map_err(Status::internal)
    }
}

fn converted(object: Value, from: &Resource, to: &Resource) -> Result<Value> {
    let converted = convert(object, from, to)?;
    if to.is_custom() {
        return Ok(converted);
    }
    normal(to, converted, Source::Json).map_err(Status::internal)
}

/// An object in normal form, with defaults.
pub(crate) fn settle(resource: &Resource, object: Value, source: Source) -> Result<Value, String> {
    let mut settled = normal(resource, object, source)?;
    apply_defaults(&resource.schema, &mut settled);
    resource.hooks.default(&mut settled);
    if resource.is_custom() {
        prune::sort(&mut settled);
    } else {
        arrange(&resource.schema, &mut settled);
    }
    Ok(settled)
}

fn normal(resource: &Resource, object: Value, source: Source) -> Result<Value, String> {
    let api_version = resource.api_version();
    let kind = ObjectKind { api_version: &api_version, kind: &resource.kind };
    normalise(&resource.schema, kind, object, source).map(|decoded| decoded.value).map_err(|why| why.0)
}
