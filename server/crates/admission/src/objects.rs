//! How plugins read other objects: the stores of the kinds that they ask for.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::status::{Reason, Result};
use apiwright_registry::{Freshness, ObjectFacts, Paging, Selection, Store};
use apiwright_storage::Entry;

/// The objects of a cluster, by resource. Reads are of what is at hand; what is not, is looked for in the
/// newest revision.
#[derive(Clone, Default)]
pub struct Objects {
    /// By group, then plural.
    stores: Arc<HashMap<String, HashMap<String, Store>>>,
}

/// One object as it is stored: its facts cost nothing, its tree a decoding.
pub struct Stored<'a> {
    /// The entry.
    pub entry: Arc<Entry>,
    store: &'a Store,
}

impl Objects {
    /// What these stores hold; of several versions of a resource the first counts.
    pub fn new(stores: impl IntoIterator<Item = Store>) -> Self {
        let mut by_group: HashMap<String, HashMap<String, Store>> = HashMap::new();
        for store in stores {
            let group = by_group.entry(store.resource.group.to_string()).or_default();
            group.entry(store.resource.plural.to_string()).or_insert(store);
        }
        Self { stores: Arc::new(by_group) }
    }

    /// The store of a resource; `None` where nobody serves it.
    pub fn store(&self, group: &str, plural: &str) -> Option<&Store> {
        self.stores.get(group)?.get(plural)
    }

    /// One object, without decoding it; `None` where there is none.
    ///
    /// # Errors
    /// 500 where storage fails.
    pub async fn stored(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Stored<'_>>> {
        let Some(store) = self.store(group, plural) else { return Ok(None) };
        let mut found = store.get(namespace, name, Freshness::Any).await;
        if found.as_ref().is_err_and(|status| status.reason == Some(Reason::NotFound)) {
            found = store.get(namespace, name, Freshness::Latest).await;
        }
        match found {
            Ok(entry) => Ok(Some(Stored { entry, store })),
            Err(status) if matches!(status.reason, Some(Reason::NotFound | Reason::BadRequest)) => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// One object; `None` where there is none.
    ///
    /// # Errors
    /// 500 where storage fails or what is stored cannot be read.
    pub async fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Result<Option<Value>> {
        match self.stored(group, plural, namespace, name).await? {
            Some(stored) => stored.decode().map(Some),
            None => Ok(None),
        }
    }

    /// All objects of a namespace; of all namespaces where it is empty.
    ///
    /// # Errors
    /// 500 where storage fails or what is stored cannot be read.
    pub async fn list(&self, group: &str, plural: &str, namespace: &str) -> Result<Vec<Value>> {
        self.list_saying(group, plural, namespace, "").await
    }

    /// As [`Objects::list`], of those only that may say `json`, a text as JSON without spaces: few
    /// objects need to be decoded where few say it.
    ///
    /// # Errors
    /// As [`Objects::list`].
    pub async fn list_saying(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        json: &str,
    ) -> Result<Vec<Value>> {
        let Some(store) = self.store(group, plural) else { return Ok(Vec::new()) };
        let selection = Selection { namespace: namespace.into(), ..Selection::default() };
        let page = store.list(&selection, Freshness::Any, &Paging::default()).await?;
        let says = |entry: &&Arc<Entry>| memchr::memmem::find(&entry.value, json.as_bytes()).is_some();
        page.entries.iter().filter(says).map(|entry| store.decode(entry)).collect()
    }
}

impl Stored<'_> {
    /// What is known without decoding.
    pub fn facts(&self) -> &ObjectFacts {
        self.store.facts(&self.entry)
    }

    /// The object.
    ///
    /// # Errors
    /// 500 where it cannot be read.
    pub fn decode(&self) -> Result<Value> {
        self.store.decode(&self.entry)
    }
}
