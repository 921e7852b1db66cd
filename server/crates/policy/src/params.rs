//! The objects that policies take parameters from.

use std::sync::Arc;

use apiwright_admission::Attributes;
use apiwright_json::Value;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Reason;
use apiwright_registry::{Freshness, Paging, Scope, Selection, Store};

/// Knows the stores of all kinds that are served.
pub trait Kinds: Send + Sync + 'static {
    /// The store of a kind.
    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Store>>;
}

/// `paramKind` of a policy.
#[derive(Clone, Debug)]
pub(crate) struct ParamKind {
    api_version: String,
    kind: String,
}

impl ParamKind {
    pub(crate) fn of(policy: &Value) -> Option<Self> {
        let kind = policy.at(&["spec", "paramKind"]).filter(|kind| !kind.is_null())?;
        let text = |name: &str| kind.text_at(&[name]).to_owned();
        Some(Self { api_version: text("apiVersion"), kind: text("kind") })
    }

    pub(crate) fn group_version(&self) -> (&str, &str) {
        self.api_version.split_once('/').unwrap_or(("", &self.api_version))
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    fn store(&self, kinds: &dyn Kinds) -> Option<Arc<Store>> {
        let (group, version) = self.group_version();
        kinds.of_kind(group, version, &self.kind)
    }
}

/// `paramRef` of a binding.
#[derive(Clone, Debug)]
pub(crate) struct ParamRef {
    name: String,
    namespace: String,
    selector: Option<Result<LabelSelector, String>>,
    denies_absence: bool,
}

impl ParamRef {
    pub(crate) fn of(binding: &Value) -> Option<Self> {
        let reference = binding.at(&["spec", "paramRef"]).filter(|reference| !reference.is_null())?;
        let selector = reference.get("selector").filter(|selector| !selector.is_null());
        Some(Self {
            name: reference.text_at(&["name"]).to_owned(),
            namespace: reference.text_at(&["namespace"]).to_owned(),
            selector: selector.map(LabelSelector::from_object),
            denies_absence: reference.text_at(&["parameterNotFoundAction"]) == "Deny",
        })
    }
}

/// The parameters that a binding gives a policy for a request; a policy without is evaluated once, with none.
///
/// # Errors
/// With upstream's text.
pub(crate) async fn collect(
    kind: Option<&ParamKind>,
    reference: Option<&ParamRef>,
    request: &Attributes<'_>,
    kinds: Option<&dyn Kinds>,
) -> Result<Vec<Option<Value>>, String> {
    let (Some(kind), Some(reference)) = (kind, reference) else { return Ok(vec![None]) };
    let Some(store) = kinds.and_then(|kinds| kind.store(kinds)) else {
        let shown = format!("&ParamKind{{APIVersion:{},Kind:{},}}", kind.api_version, kind.kind);
        return Err(format!("paramKind kind `{shown}` not known"));
    };
    let namespace = match store.resource.scope {
        Scope::Namespaced if !reference.namespace.is_empty() => reference.namespace.as_str(),
        Scope::Namespaced if request.namespace.is_empty() => {
            let why =
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(why.to_owned());
        }
        Scope::Namespaced => request.namespace,
        Scope::Cluster if !reference.namespace.is_empty() => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
        Scope::Cluster => "",
    };
    let params = if reference.name.is_empty() {
        let selector = match &reference.selector {
            Some(selector) => selector.clone()?,
            None => return Err("one of name or selector must be provided".to_owned()),
        };
        select(&store, namespace, selector).await?
    } else {
        match store.get(namespace, &reference.name, Freshness::Latest).await {
            Ok(entry) => vec![Some(store.decode(&entry).map_err(|why| why.message)?)],
            Err(why) if matches!(why.reason, Some(Reason::NotFound)) => Vec::new(),
            Err(why) => return Err(why.message),
        }
    };
    if params.is_empty() && reference.denies_absence {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(params)
}

async fn select(store: &Store, namespace: &str, labels: LabelSelector) -> Result<Vec<Option<Value>>, String> {
    let selection = Selection { namespace: namespace.into(), labels, ..Selection::default() };
    let page =
        store.list(&selection, Freshness::Latest, &Paging::default()).await.map_err(|why| why.message)?;
    page.entries.iter().map(|entry| store.decode(entry).map(Some).map_err(|why| why.message)).collect()
}
