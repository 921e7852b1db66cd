//! The documents that are served, made on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use apiwright_json::{Value, to_bytes};
use apiwright_registry::Resource;
use apiwright_registry::typed::Types;
use arc_swap::ArcSwap;
use bytes::Bytes;

use crate::document;

/// All documents, by the path below `/openapi/v3/`. Readers never wait.
pub struct OpenApi {
    types: Types,
    current: ArcSwap<BTreeMap<String, Arc<Document>>>,
    /// Where servers outside have documents, by the same paths.
    outside: ArcSwap<BTreeMap<String, String>>,
}

/// What a document is about.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// `api` or `apis`: the list of versions or groups.
    Root(&'static str),
    /// A group's document, `apis/apps`.
    Group(String),
    /// A group version with these resources, `apis/apps/v1`.
    Version(String, String, Resources),
    /// `version`.
    CodeVersion,
}

/// The resources of a group version: known, or asked for when the document is.
#[derive(Clone)]
pub(crate) enum Resources {
    Known(Vec<Arc<Resource>>),
    Later(Later),
}

/// Gives the resources of a group version.
pub type Later = Arc<dyn Fn() -> Vec<Arc<Resource>> + Send + Sync>;

/// A document that may not have been built yet.
pub struct Document {
    subject: Subject,
    built: OnceLock<Built>,
}

/// A document and its name.
pub struct Built {
    /// The JSON.
    pub json: Bytes,
    /// The hash that `?hash=` holds; the entity tag is the same in quotes.
    pub hash: String,
}

impl OpenApi {
    /// No group version yet.
    pub fn new(types: Types) -> Self {
        let roots = [
            ("api", Subject::Root("api")),
            ("apis", Subject::Root("apis")),
            ("version", Subject::CodeVersion),
        ];
        let documents =
            roots.into_iter().map(|(path, subject)| (path.to_owned(), Document::new(subject))).collect();
        Self { types, current: ArcSwap::from_pointee(documents), outside: ArcSwap::default() }
    }

    /// Adds a group version, or replaces what was said of it.
    pub fn set(&self, group: &str, version: &str, resources: Vec<Arc<Resource>>) {
        self.put(group, version, Resources::Known(resources));
    }

    /// The same, with resources that are made when somebody asks for the document.
    pub fn set_later(&self, group: &str, version: &str, resources: Later) {
        self.put(group, version, Resources::Later(resources));
    }

    fn put(&self, group: &str, version: &str, resources: Resources) {
        let subject = Subject::Version(group.into(), version.into(), resources);
        self.current.rcu(|documents| {
            let mut documents = BTreeMap::clone(documents);
            documents.insert(path(group, version), Document::new(subject.clone()));
            if !group.is_empty() {
                documents
                    .entry(format!("apis/{group}"))
                    .or_insert_with(|| Document::new(Subject::Group(group.to_owned())));
            }
            documents
        });
    }

    /// Takes a group version out, and its group with the last one.
    pub fn remove(&self, group: &str, version: &str) {
        self.current.rcu(|documents| {
            let mut documents = BTreeMap::clone(documents);
            documents.remove(&path(group, version));
            let below = format!("apis/{group}/");
            if !documents.keys().any(|path| path.starts_with(&below)) {
                documents.remove(&format!("apis/{group}"));
            }
            documents
        });
    }

    /// From now on servers outside have these documents, by their paths, at these addresses.
    pub fn set_outside(&self, documents: BTreeMap<String, String>) {
        if **self.outside.load() != documents {
            self.outside.store(Arc::new(documents));
        }
    }

    /// Whether this process has a document of this path.
    pub fn has(&self, path: &str) -> bool {
        self.current.load().contains_key(path)
    }

    /// Where every document is, in order of their paths; what a server outside has goes first.
    pub(crate) fn addresses(&self) -> BTreeMap<String, String> {
        let mut addresses = BTreeMap::clone(&self.outside.load());
        for (path, document) in self.paths() {
            let hash = &self.built(&document).hash;
            addresses.entry(path).or_insert_with_key(|path| address(path, hash));
        }
        addresses
    }

    /// The document of a path below `/openapi/v3/`.
    pub fn document(&self, path: &str) -> Option<Arc<Document>> {
        self.current.load().get(path).cloned()
    }

    /// Every document's path.
    pub fn paths(&self) -> Vec<(String, Arc<Document>)> {
        self.current.load().iter().map(|(path, document)| (path.clone(), Arc::clone(document))).collect()
    }

    /// A document's content, building it if nobody has yet.
    pub fn built<'a>(&self, document: &'a Document) -> &'a Built {
        document.built.get_or_init(|| Built::of(&document::build(&document.subject, &self.types)))
    }
}

impl Document {
    fn new(subject: Subject) -> Arc<Self> {
        Arc::new(Self { subject, built: OnceLock::new() })
    }
}

impl Built {
    fn of(value: &Value) -> Self {
        let mut json = Vec::new();
        to_bytes(value, &mut json);
        let digest = ring::digest::digest(&ring::digest::SHA512, &json);
        let hash = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Self { json: json.into(), hash }
    }
}

impl Resources {
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        match self {
            Self::Known(resources) => resources.clone(),
            Self::Later(resources) => resources(),
        }
    }
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().iter().map(|one| &*one.plural)).finish()
    }
}

/// Where a document of this process is.
pub(crate) fn address(path: &str, hash: &str) -> String {
    format!("/openapi/v3/{path}?hash={hash}")
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}
