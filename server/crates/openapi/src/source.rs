//! The documents that are served, made on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apiwright_json::{Value, to_bytes};
use apiwright_registry::Resource;
use apiwright_registry::typed::Types;
use arc_swap::ArcSwap;
use bytes::Bytes;

use crate::swagger::Swagger;
use crate::{document, gnostic};

/// All documents, by the path below `/openapi/v3/`. Readers never wait.
pub struct OpenApi {
    types: Types,
    current: ArcSwap<BTreeMap<String, Arc<Document>>>,
    /// Where servers outside have documents, by the same paths.
    outside: ArcSwap<BTreeMap<String, String>>,
    /// The v2 documents of other servers, by the name of what they serve.
    others: ArcSwap<BTreeMap<String, Arc<Value>>>,
    /// The one v2 document and what it was made of.
    swagger: Mutex<Option<Summary>>,
}

/// The one v2 document and what it was made of.
struct Summary {
    documents: Arc<BTreeMap<String, Arc<Document>>>,
    others: Arc<BTreeMap<String, Arc<Value>>>,
    built: Arc<Built>,
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
    /// What others need to verify service accounts' tokens.
    OpenId(&'static str),
}

/// A resource, and the schema of its kind where a definition has it.
#[derive(Clone)]
pub struct Published {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The schema as it was written, of custom resources.
    pub schema: Option<Value>,
}

/// The resources of a group version: known, or asked for when the document is.
#[derive(Clone)]
pub(crate) enum Resources {
    Known(Vec<Arc<Resource>>),
    Later(Later),
}

/// Gives the resources of a group version.
pub type Later = Arc<dyn Fn() -> Vec<Published> + Send + Sync>;

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
    protobuf: OnceLock<Bytes>,
    encode: fn(&Value) -> Vec<u8>,
}

impl OpenApi {
    /// No group version yet.
    pub fn new(types: Types) -> Self {
        let roots = [
            ("api", Subject::Root("api")),
            ("apis", Subject::Root("apis")),
            ("version", Subject::CodeVersion),
            (".well-known/openid-configuration", Subject::OpenId("/.well-known/openid-configuration")),
            ("openid/v1/jwks", Subject::OpenId("/openid/v1/jwks")),
        ];
        let documents =
            roots.into_iter().map(|(path, subject)| (path.to_owned(), Document::new(subject))).collect();
        Self {
            types,
            current: ArcSwap::from_pointee(documents),
            outside: ArcSwap::default(),
            others: ArcSwap::default(),
            swagger: Mutex::default(),
        }
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
        // Groups of custom resources have no document.
        let is_known = matches!(resources, Resources::Known(_));
        let subject = Subject::Version(group.into(), version.into(), resources);
        self.current.rcu(|documents| {
            let mut documents = BTreeMap::clone(documents);
            documents.insert(path(group, version), Document::new(subject.clone()));
            if !group.is_empty() && is_known {
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

    /// Adds the v2 document of another server to the one that is served, or replaces what it said.
    pub fn set_other(&self, name: &str, document: Arc<Value>) {
        if self.others.load().get(name).is_some_and(|known| *known == document) {
            return;
        }
        self.others.rcu(|others| {
            let mut others = BTreeMap::clone(others);
            others.insert(name.to_owned(), Arc::clone(&document));
            others
        });
    }

    /// Takes the v2 document of another server out.
    pub fn remove_other(&self, name: &str) {
        if !self.others.load().contains_key(name) {
            return;
        }
        self.others.rcu(|others| {
            let mut others = BTreeMap::clone(others);
            others.remove(name);
            others
        });
    }

    /// The resources of a group version.
    pub(crate) fn published(&self, group: &str, version: &str) -> Vec<Published> {
        match self.current.load().get(&path(group, version)).map(|document| &document.subject) {
            Some(Subject::Version(_, _, resources)) => resources.all(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn types(&self) -> &Types {
        &self.types
    }

    /// All in one, of version 2, building it if nobody has since something changed.
    pub fn swagger(&self) -> Arc<Built> {
        // Whoever panicked while building left nothing half done.
        let mut summary = self.swagger.lock().unwrap_or_else(PoisonError::into_inner);
        let (documents, others) = (self.current.load_full(), self.others.load_full());
        if let Some(summary) = &*summary
            && Arc::ptr_eq(&summary.documents, &documents)
            && Arc::ptr_eq(&summary.others, &others)
        {
            return Arc::clone(&summary.built);
        }
        let mut swagger = Swagger::default();
        for document in documents.values() {
            swagger.add(&document::build(&document.subject, &self.types));
        }
        for document in others.values() {
            swagger.merge(document);
        }
        let built = Arc::new(Built::of(&swagger.into_value(), gnostic::v2));
        *summary = Some(Summary { documents, others, built: Arc::clone(&built) });
        built
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
        document
            .built
            .get_or_init(|| Built::of(&document::build(&document.subject, &self.types), gnostic::v3))
    }
}

impl Document {
    fn new(subject: Subject) -> Arc<Self> {
        Arc::new(Self { subject, built: OnceLock::new() })
    }
}

impl Built {
    /// The document in protobuf, made when it is first asked for.
    pub fn protobuf(&self) -> &Bytes {
        self.protobuf.get_or_init(|| {
            let value = apiwright_json::decode(&self.json).map(|(value, _)| value).unwrap_or_default();
            (self.encode)(&value).into()
        })
    }

    fn of(value: &Value, encode: fn(&Value) -> Vec<u8>) -> Self {
        let mut json = Vec::new();
        to_bytes(value, &mut json);
        let digest = ring::digest::digest(&ring::digest::SHA512, &json);
        let hash = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Self { json: json.into(), hash, protobuf: OnceLock::new(), encode }
    }
}

impl Resources {
    pub(crate) fn all(&self) -> Vec<Published> {
        match self {
            Self::Known(resources) => {
                let published =
                    |resource: &Arc<Resource>| Published { resource: Arc::clone(resource), schema: None };
                resources.iter().map(published).collect()
            }
            Self::Later(resources) => resources(),
        }
    }
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().iter().map(|one| &*one.resource.plural)).finish()
    }
}

/// Where a document of this process is.
pub(crate) fn address(path: &str, hash: &str) -> String {
    format!("/openapi/v3/{path}?hash={hash}")
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}
