//! A CustomResourceDefinition as this crate reads it: the facts that serving depends on.

use std::cmp::Ordering;
use std::sync::Arc;

use apiwright_discovery::order;
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_registry::Scope;
use apiwright_storage::Revision;

use crate::{approval, conditions};

/// The finalizer that holds a definition until its objects are gone.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Says of a definition in normal form that it was deleted.
pub fn set_terminating(definition: &mut Value) {
    let decision = Decision {
        status: "True",
        reason: "InstanceDeletionPending".into(),
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
            .into(),
    };
    conditions::set(definition, "Terminating", &decision);
}

/// A definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// `<plural>.<group>`.
    pub name: String,
    /// Tells it from others of that name.
    pub uid: String,
    /// The write that created it.
    pub since: Revision,
    /// Counts changes of the specification.
    pub generation: i64,
    /// The API group.
    pub group: String,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// The names that are asked for.
    pub names: Names,
    /// The names that it has.
    pub accepted: Names,
    /// Its versions, as they are written.
    pub versions: Vec<Version>,
    /// `conversion.webhook`, where that converts between them.
    pub webhook: Option<Value>,
    /// `NamesAccepted`, where it was ever decided.
    pub names_accepted: Option<Decision>,
    /// What its condition about its approval has to become.
    pub approval: Option<Decision>,
    /// Whether it is `Established`.
    pub established: bool,
    /// Whether it is `Terminating`.
    pub terminating: bool,
    /// Whether it is deleted and waits for its objects to go.
    pub cleaning: bool,
}

/// A condition's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// `True` or `False`.
    pub status: &'static str,
    /// A word.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// What a resource goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub kind: String,
    pub list_kind: String,
    pub categories: Vec<String>,
}

/// A version of a definition.
#[derive(Clone, Debug)]
pub struct Version {
    /// For instance `v1beta1`.
    pub name: String,
    /// Whether it is served.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether it is on its way out.
    pub deprecated: bool,
    /// What every answer warns of then, where the definition says.
    pub deprecation: Option<String>,
    /// `openAPIV3Schema`.
    pub schema: Arc<Value>,
    /// Whether `status` is apart.
    pub status: bool,
    /// The paths of the scale subresource.
    pub scale: Option<Scale>,
    /// What `kubectl get` prints besides the name.
    pub columns: Vec<Column>,
    /// The JSON paths that field selectors may name.
    pub selectable: Vec<String>,
}

/// Where a resource is scaled.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub selector: String,
}

/// A printed column.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i32,
    pub path: String,
}

impl Definition {
    /// Reads a definition in normal form; when it was created, its entry says.
    pub fn read(value: &Value) -> Self {
        let text = |path: &[&str]| value.text_at(path).to_owned();
        let group = text(&["spec", "group"]);
        let deleted = object::deletion_timestamp(value).is_some();
        Self {
            name: object::name(value).to_owned(),
            uid: object::uid(value).to_owned(),
            since: 0,
            generation: object::generation(value),
            scope: match value.text_at(&["spec", "scope"]) {
                "Namespaced" => Scope::Namespaced,
                _ => Scope::Cluster,
            },
            names: Names::read(value.at(&["spec", "names"])),
            accepted: Names::read(value.at(&["status", "acceptedNames"])),
            versions: items(value.at(&["spec", "versions"])).map(Version::read).collect(),
            webhook: value
                .at(&["spec", "conversion"])
                .filter(|conversion| conversion.text_at(&["strategy"]) == "Webhook")
                .and_then(|conversion| conversion.get("webhook").cloned()),
            names_accepted: conditions::decision(value, "NamesAccepted"),
            approval: approval::decide(&group, value)
                .filter(|wanted| conditions::decision(value, approval::CONDITION).as_ref() != Some(wanted)),
            established: conditions::is_true(value, "Established"),
            terminating: conditions::is_true(value, "Terminating"),
            cleaning: deleted && object::finalizers(value).any(|one| one == CLEANUP_FINALIZER),
            group,
        }
    }

    /// What every answer of a version warns of that is on its way out: the newest that is not is named.
    pub fn deprecation(&self, version: &Version) -> Option<String> {
        if !version.deprecated {
            return None;
        }
        if let Some(told) = &version.deprecation {
            return Some(told.clone());
        }
        let (group, kind) = (&self.group, &self.names.kind);
        let mut text = format!("{group}/{} {kind} is deprecated", version.name);
        let better = self.versions.iter().filter(|one| one.served && !one.deprecated);
        let newer = better.filter(|one| order::versions(&one.name, &version.name) == Ordering::Less);
        if let Some(best) = newer.min_by(|a, b| order::versions(&a.name, &b.name)) {
            text.push_str(&format!("; use {group}/{} {kind}", best.name));
        }
        Some(text)
    }

    /// The version that objects are stored in.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }

    /// Whether its objects are to be served: once its names are its own, they are.
    pub fn is_served(&self) -> bool {
        self.established || self.names_accepted.as_ref().is_some_and(|decision| decision.status == "True")
    }
}

impl Names {
    fn read(value: Option<&Value>) -> Self {
        let value = value.unwrap_or(&Value::Null);
        let text = |name: &str| value.text_at(&[name]).to_owned();
        let texts =
            |name: &str| items(value.get(name)).filter_map(Value::as_str).map(str::to_owned).collect();
        Self {
            plural: text("plural"),
            singular: text("singular"),
            short_names: texts("shortNames"),
            kind: text("kind"),
            list_kind: text("listKind"),
            categories: texts("categories"),
        }
    }
}

impl Version {
    fn read(value: &Value) -> Self {
        let name = value.text_at(&["name"]).to_owned();
        let truth = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or_default();
        let scale = value.at(&["subresources", "scale"]).filter(|scale| !scale.is_null());
        Self {
            served: truth("served"),
            storage: truth("storage"),
            deprecated: truth("deprecated"),
            deprecation: value.get("deprecationWarning").and_then(Value::as_str).map(str::to_owned),
            schema: Arc::new(value.at(&["schema", "openAPIV3Schema"]).cloned().unwrap_or_default()),
            status: value.at(&["subresources", "status"]).is_some_and(|status| !status.is_null()),
            scale: scale.map(|scale| Scale {
                spec_replicas: scale.text_at(&["specReplicasPath"]).to_owned(),
                status_replicas: scale.text_at(&["statusReplicasPath"]).to_owned(),
                selector: scale.text_at(&["labelSelectorPath"]).to_owned(),
            }),
            columns: items(value.get("additionalPrinterColumns")).map(Column::read).collect(),
            selectable: items(value.get("selectableFields"))
                .map(|field| field.text_at(&["jsonPath"]).to_owned())
                .collect(),
            name,
        }
    }
}

impl Column {
    fn read(value: &Value) -> Self {
        let text = |name: &str| value.text_at(&[name]).to_owned();
        let priority = value.get("priority").and_then(Value::as_i64).unwrap_or_default();
        Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: text("description"),
            priority: i32::try_from(priority).unwrap_or_default(),
            path: text("jsonPath"),
        }
    }
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
