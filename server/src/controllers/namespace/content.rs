//! What is in a namespace.

use std::sync::Arc;
use std::time::Duration;

use apiwright_aggregator::{Elsewhere, Held, Registration};
use apiwright_chain::User;
use apiwright_controllers::{Next, Resources, Result, Writer};
use apiwright_registry::resource::Scope;
use apiwright_registry::store::{DeleteOptions, Freshness, Paging, Propagation, Selection};
use apiwright_registry::{Resource, Store, Verb};
use apiwright_storage::Entry;

use super::IDENTITY;

/// How often what others hold is looked at.
const ELSEWHERE_INTERVAL: Duration = Duration::from_secs(1);

/// A part of what is in a namespace: pods go before what they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Pods,
    Others,
}

/// What is in a namespace, by resource; resources without objects are left out.
#[derive(Default)]
pub(super) struct Content {
    namespace: String,
    pub(super) kinds: Vec<(Arc<Store>, Vec<Arc<Entry>>)>,
    /// What aggregated API servers have.
    pub(super) elsewhere: Elsewhere,
}

impl Content {
    /// Looks through everything that lives in namespaces.
    pub(super) async fn read(
        resources: &Arc<dyn Resources>,
        outside: &Registration,
        namespace: &str,
    ) -> Result<Self> {
        let mut kinds = Vec::new();
        let selection = Selection { namespace: namespace.to_owned(), ..Selection::default() };
        for store in resources.all().into_iter().filter(|store| is_content(&store.resource)) {
            let list = store.list(&selection, Freshness::Latest, &Paging::default()).await?;
            if !list.entries.is_empty() {
                kinds.push((store, list.entries));
            }
        }
        let elsewhere = outside.held(&user(), namespace).await;
        Ok(Self { namespace: namespace.to_owned(), kinds, elsewhere })
    }

    /// Whether all of a part is being deleted; `None` where there is nothing.
    pub(super) fn is_going(&self, part: Part) -> Option<bool> {
        let here = self
            .part(part)
            .flat_map(|(store, entries)| entries.iter().map(move |entry| store.facts(entry).deleting));
        let elsewhere = self.elsewhere(part).iter().map(Held::is_going);
        let mut all = here.chain(elsewhere).peekable();
        all.peek()?;
        Some(all.all(|deleting| deleting))
    }

    /// When to look again: nobody tells what goes elsewhere.
    pub(super) fn next(&self) -> Next {
        match self.elsewhere.held.is_empty() {
            true => Next::Done,
            false => Next::After(ELSEWHERE_INTERVAL),
        }
    }

    /// Deletes a part.
    ///
    /// # Errors
    /// What was said about resources that could not be deleted; the others are.
    pub(super) async fn delete(
        &self,
        part: Part,
        outside: &Registration,
        writer: &Writer,
    ) -> Result<(), Vec<String>> {
        let mut failures = Vec::new();
        let elsewhere = self.elsewhere(part);
        if !elsewhere.is_empty() {
            failures.extend(outside.delete_held(&user(), elsewhere).await.err().into_iter().flatten());
        }
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        for (store, _) in self.part(part) {
            if let Err(why) = writer.delete_all(store, &self.namespace, &options).await {
                failures.push(why.message.clone());
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    fn elsewhere(&self, part: Part) -> &[Held] {
        match part {
            Part::Pods => &[],
            Part::Others => &self.elsewhere.held,
        }
    }

    fn part(&self, part: Part) -> impl Iterator<Item = &(Arc<Store>, Vec<Arc<Entry>>)> {
        let is_pods = |resource: &Resource| resource.group.is_empty() && &*resource.plural == "pods";
        self.kinds.iter().filter(move |(store, _)| is_pods(&store.resource) == (part == Part::Pods))
    }
}

/// What a namespace takes along: all that lives in it and can be deleted.
fn is_content(resource: &Resource) -> bool {
    resource.scope == Scope::Namespaced && resource.allows(Verb::Delete) && resource.allows(Verb::List)
}

/// Whom aggregated API servers are asked as.
fn user() -> User {
    User { name: IDENTITY.user.into(), groups: IDENTITY.groups(), ..User::default() }
}
