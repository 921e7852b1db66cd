//! The scale subresource: an object seen as an `autoscaling/v1 Scale`, written through one.
//!
//! Invariant: a write sets the wished replicas and nothing else of the object.

use apiwright_chain::Response;
use apiwright_chain::request::RequestBody;
use apiwright_json::{Object, Value};
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Path, Status, object};
use apiwright_registry::{SubresourceKind, Transform};
use apiwright_schema::managed::Scale as Owners;
use futures::future::BoxFuture;

use crate::admit::{Admit, Options, View};
use crate::call::Call;
use crate::change::{Change, Changing};
use crate::create::write_options;
use crate::decode::Wanted;
use crate::negotiate::{self, Output};
use crate::options::{GetOptions, WriteOptions};
use crate::ownership::Ownership;
use crate::route::{Action, not_supported};
use crate::server::{Flavour, Target};
use crate::{encode, patch, update};

/// Where an object has what its Scale shows.
#[derive(Clone, Copy)]
struct Paths<'a> {
    spec_replicas: &'a str,
    status_replicas: &'a str,
    selector: &'a str,
}

/// Serves the scale subresource.
pub(crate) async fn serve(
    call: &Call,
    body: RequestBody,
    target: Target<'_>,
    action: Action,
) -> Result<Response> {
    let paths = Paths::of(target)?;
    match action {
        Action::Get => get(call, target, paths).await,
        Action::Update => {
            let output = negotiate::output(&call.head, target.server.flavour)?;
            let (options, scale) = update::read(call, body, target, Wanted::of(target)?).await?;
            write(call, target, paths, output, &options, Change::Replace(scale)).await
        }
        Action::Patch => {
            let patch_type = patch::patch_type(call, target)?;
            let output = negotiate::output(&call.head, target.server.flavour)?;
            let (options, change) = patch::read(call, body, target, patch_type).await?;
            write(call, target, paths, output, &options, change).await
        }
        _ => Err(not_supported(target.resource(), &call.info.verb)),
    }
}

async fn get(call: &Call, target: Target<'_>, paths: Paths<'_>) -> Result<Response> {
    let output = negotiate::output(&call.head, target.server.flavour)?;
    let options = GetOptions::read(&call.query)?;
    let entry = target.store().get(target.namespace(&call.info), &call.info.name, options.freshness).await?;
    let object = target.store().decode(&entry)?;
    paths.check_wish(target, &object)?;
    encode::value(call, target, output, 200, &paths.scale_of(&object)?)
}

async fn write(
    call: &Call,
    target: Target<'_>,
    paths: Paths<'_>,
    output: Output,
    options: &WriteOptions,
    change: Change,
) -> Result<Response> {
    let admit = Admit::new(call, target, Options::Write(options)).seen_as(&paths);
    let changing = Changing {
        call,
        target,
        wanted: Wanted::of(target)?,
        change,
        validation: options.field_validation(),
        ownership: Ownership::new(target, options.manager(call.user_agent())),
        admit: &admit,
    };
    let mut scaling = Scaling { changing, paths, owners: owners(target, paths) };
    let write = write_options(call, target, options);
    let (namespace, name) = (target.namespace(&call.info), &call.info.name);
    let written = target.store().update(&write, namespace, name, &mut scaling, &admit).await?;
    call.warnings.extend(written.warnings);
    let object = target.store().decode(&written.entry)?;
    paths.check_wish(target, &object)?;
    encode::value(call, target, output, 200, &paths.scale_of(&object)?)
}

impl View for Paths<'_> {
    fn view(&self, object: &Value) -> Result<Value> {
        self.scale_of(object)
    }
}

/// A change of an object's Scale, as a change of the object.
struct Scaling<'a> {
    changing: Changing<'a>,
    paths: Paths<'a>,
    owners: Owners,
}

impl Transform for Scaling<'_> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        Box::pin(async move {
            let target = self.changing.target;
            let Some(old) = old else {
                let resource = target.resource().group_resource();
                return Err(Status::not_found(&resource, &self.changing.call.info.name));
            };
            let mut old_scale = self.paths.scale_of(old)?;
            let owners = self.owners.to_scale(managed_fields(old)).map_err(Status::internal)?;
            put_managed_fields(&mut old_scale, owners);
            let scale = self.changing.make(Some(&old_scale)).await?;
            // Custom resources are validated as what they are.
            if target.server.flavour == Flavour::BuiltIn {
                validate(&scale)?;
            }
            self.scaled(old, &scale)
        })
    }

    fn uid(&self) -> Option<&str> {
        self.changing.uid()
    }
}

impl Scaling<'_> {
    /// The object with the Scale's replicas, and with its version where it says one.
    fn scaled(&self, old: &Value, scale: &Value) -> Result<Value> {
        let mut new = old.clone();
        let version = object::resource_version(scale);
        if !version.is_empty() {
            object::set_resource_version(&mut new, version);
        }
        let replicas = scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or_default();
        set(&mut new, self.paths.spec_replicas, replicas);
        let owners =
            self.owners.to_object(managed_fields(old), managed_fields(scale)).map_err(Status::internal)?;
        put_managed_fields(&mut new, owners);
        Ok(new)
    }
}

impl<'a> Paths<'a> {
    fn of(target: Target<'a>) -> Result<Self> {
        match target.subresource.map(|one| &one.does) {
            Some(SubresourceKind::Scale { spec_replicas, status_replicas, selector }) => {
                Ok(Self { spec_replicas, status_replicas, selector })
            }
            _ => Err(Status::internal("not a scale subresource")),
        }
    }

    /// A custom resource that does not say how many it wants cannot be shown as a Scale.
    fn check_wish(self, target: Target<'_>, object: &Value) -> Result<()> {
        let path = self.spec_replicas;
        if target.server.flavour == Flavour::BuiltIn || lookup(object, path).is_some_and(|one| !one.is_null())
        {
            return Ok(());
        }
        Err(Status::internal(format!("the spec replicas field \".{path}\" does not exist")))
    }

    /// An object's Scale.
    fn scale_of(self, object: &Value) -> Result<Value> {
        let mut metadata = Object::new();
        for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object.at(&["metadata", name]) {
                metadata.push(name, value.clone());
            }
        }
        let number = |path| lookup(object, path).and_then(Value::as_i64);
        let mut spec = Object::new();
        if let Some(replicas) = number(self.spec_replicas).filter(|replicas| *replicas != 0) {
            spec.push("replicas", replicas);
        }
        let mut status = Object::new();
        status.push("replicas", number(self.status_replicas).unwrap_or_default());
        let selector = self.selector(object)?;
        if !selector.is_empty() {
            status.push("selector", selector);
        }
        let mut scale = Object::new();
        scale.push("kind", "Scale");
        scale.push("apiVersion", "autoscaling/v1");
        scale.push("metadata", metadata);
        scale.push("spec", spec);
        scale.push("status", status);
        Ok(Value::Object(scale))
    }

    /// The selector as a text: as it is where it is one, else in the order of its keys.
    fn selector(self, object: &Value) -> Result<String> {
        if self.selector.is_empty() {
            return Ok(String::new());
        }
        match lookup(object, self.selector) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.to_string()),
            Some(selector) => {
                let is_labels =
                    selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
                let wrapped = || Value::Object(Object::from_iter([("matchLabels", selector.clone())]));
                let parsed = if is_labels {
                    LabelSelector::from_object(&wrapped())
                } else {
                    LabelSelector::from_object(selector)
                };
                parsed.map(|selector| selector.to_string()).map_err(Status::internal)
            }
        }
    }
}

/// How the owners of the object and of its Scale correspond, in each version of the object.
fn owners(target: Target<'_>, paths: Paths<'_>) -> Owners {
    let api_version = target.server.api_version.as_str();
    let mut replicas = vec![(api_version.into(), Some(Owners::path(paths.spec_replicas)))];
    for sibling in &target.server.siblings {
        let path = match sibling.subresource("scale").map(|scale| &scale.does) {
            Some(SubresourceKind::Scale { spec_replicas, .. }) => Some(Owners::path(spec_replicas)),
            _ => None,
        };
        replicas.push((sibling.api_version().as_str().into(), path));
    }
    Owners { api_version: api_version.into(), replicas }
}

fn validate(scale: &Value) -> Result<()> {
    let replicas = scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or_default();
    if replicas >= 0 {
        return Ok(());
    }
    let mut errors = ErrorList::new();
    errors.invalid(Path::new("spec.replicas"), replicas, "must be greater than or equal to 0");
    let kind = GroupKind { group: "autoscaling".into(), kind: "Scale".into() };
    Err(Status::invalid(&kind, object::name(scale), &errors))
}

fn managed_fields(object: &Value) -> Option<&Value> {
    object.at(&["metadata", "managedFields"])
}

fn put_managed_fields(object: &mut Value, entries: Option<Value>) {
    match entries {
        Some(entries) => object::set(object, "managedFields", entries),
        None => {
            object::metadata_mut(object).remove("managedFields");
        }
    }
}

fn lookup<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|step| !step.is_empty()).try_fold(object, |value, step| value.get(step))
}

fn set(object: &mut Value, path: &str, number: i64) {
    let mut steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    let Some(last) = steps.pop() else { return };
    let Value::Object(root) = object else { return };
    let mut at = root;
    for step in steps {
        at = at.object(step);
    }
    at.insert(last, number);
}
