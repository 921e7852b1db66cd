//! Admission around a write: mutating plugins on the object, validating ones before it is stored,
//! and the question whether a PUT or an apply may create.

use apiwright_admission::{Annotations, Attributes, Reinvocation, User, Wanted, Warnings};
use apiwright_chain::Decision;
use apiwright_chain::trail::Depth;
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{GroupResource, GroupVersionKind, Status, object};
use apiwright_registry::{Check, Scope};
use futures::future::BoxFuture;

pub(crate) use apiwright_admission::Operation;

use crate::call::Call;
use crate::forms::TargetForms;
use crate::options::{DeleteOptions, WriteOptions};
use crate::server::Target;

/// How admission is to see an object that is written as another: as its Scale.
pub(crate) trait View: Send + Sync {
    /// The other form.
    fn view(&self, object: &Value) -> Result<Value>;
}

/// Admission for one request.
pub(crate) struct Admit<'a> {
    call: &'a Call,
    target: Target<'a>,
    kind: GroupVersionKind,
    options: Options<'a>,
    forms: TargetForms<'a>,
    annotations: Annotations,
    view: Option<&'a dyn View>,
}

/// The options of the request.
#[derive(Clone, Copy)]
pub(crate) enum Options<'a> {
    /// Of POST, PUT and PATCH.
    Write(&'a WriteOptions),
    /// Of DELETE.
    Delete(&'a DeleteOptions),
    /// Of a connection, which has none.
    Connect,
}

impl<'a> Admit<'a> {
    /// For one request.
    pub(crate) fn new(call: &'a Call, target: Target<'a>, options: Options<'a>) -> Self {
        let forms = TargetForms::new(target);
        let annotations = Annotations::new(match call.trail.as_deref().map(|trail| trail.depth) {
            None => Wanted::Nothing,
            Some(Depth::Metadata) => Wanted::Metadata,
            Some(Depth::Request | Depth::RequestResponse) => Wanted::Objects,
        });
        Self { call, target, kind: kind(target), options, forms, annotations, view: None }
    }

    /// Shows objects in another form before they are stored.
    pub(crate) fn seen_as(mut self, view: &'a dyn View) -> Self {
        self.view = Some(view);
        self
    }

    /// Runs the mutating plugins on an object that is to be created (`old` is `None`) or updated.
    pub(crate) async fn mutate(&self, new: &mut Value, old: Option<&Value>) -> Result<()> {
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let name = self.name(new);
        let options = self.options.to_value(operation);
        let (warnings, reinvocation) = Default::default();
        let attributes = self.attributes(operation, &name, options.as_ref(), &warnings, &reinvocation);
        let mutated = self.target.server.shared.admission.mutate(&attributes, Some(new), old).await;
        self.tell(&warnings);
        mutated
    }

    /// Asks all plugins about a connection that is made with these options.
    pub(crate) async fn connect(&self, object: &mut Value) -> Result<()> {
        let (warnings, reinvocation) = Default::default();
        let name = &self.call.info.name;
        let attributes = self.attributes(Operation::Connect, name, None, &warnings, &reinvocation);
        let admission = &self.target.server.shared.admission;
        let mut admitted = admission.mutate(&attributes, Some(object), None).await;
        if admitted.is_ok() {
            admitted = admission.validate(&attributes, Some(object), None).await;
        }
        self.tell(&warnings);
        admitted
    }

    /// Runs the validating plugins; before a deletion the mutating ones, too, which have no object
    /// to change but may refuse.
    async fn validate(&self, new: Option<&Value>, old: Option<&Value>) -> Result<()> {
        let operation = match (new, old) {
            (None, _) => Operation::Delete,
            (Some(_), None) => Operation::Create,
            (Some(_), Some(_)) => Operation::Update,
        };
        let name = new.or(old).map(|object| self.name(object)).unwrap_or_default();
        let options = self.options.to_value(operation);
        let (warnings, reinvocation) = Default::default();
        let attributes = self.attributes(operation, &name, options.as_ref(), &warnings, &reinvocation);
        let admission = &self.target.server.shared.admission;
        let mut admitted = Ok(());
        if operation == Operation::Delete {
            admitted = admission.mutate(&attributes, None, old).await;
        }
        if admitted.is_ok() {
            admitted = admission.validate(&attributes, new, old).await;
        }
        self.tell(&warnings);
        admitted
    }

    /// Tells what plugins warned of and what they noted.
    fn tell(&self, warnings: &Warnings) {
        self.call.warnings.extend(warnings.take());
        if let Some(trail) = &self.call.trail {
            for (key, value) in self.annotations.take() {
                trail.annotate(key, value);
            }
        }
    }

    fn attributes<'b>(
        &'b self,
        operation: Operation,
        name: &'b str,
        options: Option<&'b Value>,
        warnings: &'b Warnings,
        reinvocation: &'b Reinvocation,
    ) -> Attributes<'b> {
        let user = &self.call.user;
        Attributes {
            operation,
            resource: self.target.resource(),
            kind: &self.kind,
            subresource: self.target.subresource_name(),
            namespace: self.namespace(name),
            name,
            user: User { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra },
            dry_run: self.options.is_dry_run(),
            deadline: self.call.deadline,
            options,
            warnings,
            annotations: &self.annotations,
            versions: &self.target.server.siblings,
            forms: &self.forms,
            reinvocation,
        }
    }

    /// The object's name: that of the address, or of an object that is posted with one. Deletions
    /// of collections name none.
    fn name(&self, value: &Value) -> String {
        match self.call.info.name.as_str() {
            "" if self.call.info.verb == "deletecollection" => String::new(),
            "" => object::name(value).to_owned(),
            name => name.to_owned(),
        }
    }

    /// A namespace is in itself.
    fn namespace<'b>(&'b self, name: &'b str) -> &'b str {
        let resource = self.target.resource();
        match resource.scope {
            Scope::Namespaced => &self.call.info.namespace,
            Scope::Cluster if &*resource.plural == "namespaces" && resource.group.is_empty() => name,
            Scope::Cluster => "",
        }
    }

    /// Whether who may replace or patch may create as well.
    async fn may_create(&self) -> Result<()> {
        if !matches!(self.call.info.verb.as_str(), "update" | "patch") {
            return Ok(());
        }
        let mut info = self.call.info.clone();
        info.verb = "create".into();
        match self.target.server.shared.authorizer.authorize(&self.call.user, &info).await {
            Decision::Allow(_) => Ok(()),
            Decision::Failed(failure) => Err(Status::internal(failure.error)),
            Decision::Deny(why) | Decision::NoOpinion(why) => {
                let resource = match info.subresource.as_str() {
                    "" => info.resource.clone(),
                    subresource => format!("{}/{subresource}", info.resource),
                };
                let scope = match info.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace \"{namespace}\""),
                };
                let why = if why.is_empty() { why } else { format!(": {why}") };
                let user = &self.call.user.name;
                let named = GroupResource {
                    group: info.group.as_str().into(),
                    resource: info.resource.as_str().into(),
                };
                let text = format!(
                    "User \"{user}\" cannot create resource \"{resource}\" in API group \"{}\" {scope}{why}",
                    info.group
                );
                Err(Status::forbidden(&named, &info.name, text))
            }
        }
    }
}

impl Check for Admit<'_> {
    fn check<'a>(&'a self, new: Option<&'a Value>, old: Option<&'a Value>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if old.is_none() {
                self.may_create().await?;
            }
            let Some(view) = self.view else { return self.validate(new, old).await };
            let new = new.map(|object| view.view(object)).transpose()?;
            let old = old.map(|object| view.view(object)).transpose()?;
            self.validate(new.as_ref(), old.as_ref()).await
        })
    }
}

impl Options<'_> {
    /// As plugins see them: a patch is an update or a creation.
    fn to_value(self, operation: Operation) -> Option<Value> {
        match self {
            Self::Delete(options) => Some(options.to_value()),
            Self::Write(options) => Some(options.to_value(match operation {
                Operation::Create => "CreateOptions",
                Operation::Update | Operation::Delete | Operation::Connect => "UpdateOptions",
            })),
            Self::Connect => None,
        }
    }

    fn is_dry_run(self) -> bool {
        match self {
            Self::Write(options) => options.is_dry_run(),
            Self::Delete(options) => options.is_dry_run(),
            Self::Connect => false,
        }
    }
}

fn kind(target: Target<'_>) -> GroupVersionKind {
    let resource = target.resource();
    let (group, version, kind) = match target.subresource {
        Some(subresource) => (&subresource.kind.group, &subresource.kind.version, &subresource.kind.kind),
        None => (&resource.group, &resource.version, &resource.kind),
    };
    GroupVersionKind { group: (**group).into(), version: (**version).into(), kind: (**kind).into() }
}
