//! Deleting what is selected.

use apiwright_meta::status::{Reason, Result};
use futures::{StreamExt, TryStreamExt, stream};

use crate::store::{Check, DeleteOptions, Freshness, ListPage, Paging, Selection, Store, WriteOptions};

/// How many objects are listed at once.
const PAGE_MAX: usize = 10_000;
/// How many deletions are under way at once, where the engine keeps their order: others see them
/// happen in the order of the list.
const AT_ONCE: usize = 16;

impl Store {
    /// Deletes what is selected. Gives the list as it was before.
    ///
    /// # Errors
    /// The first failure other than 404.
    pub async fn delete_collection(
        &self,
        write: &WriteOptions,
        selection: &Selection,
        freshness: Freshness,
        paging: &Paging,
        options: &DeleteOptions,
        check: &dyn Check,
    ) -> Result<ListPage> {
        let limited = paging.limit > 0;
        let mut next = paging.clone();
        if !limited {
            next.limit = PAGE_MAX;
        }
        let mut page = self.list(selection, freshness, &next).await?;
        self.delete_all(&page, write, options, check).await?;
        // A request that set a limit gets its page; the others get everything.
        while !limited && !page.token.is_empty() {
            next.token = std::mem::take(&mut page.token);
            let more = self.list(selection, Freshness::Latest, &next).await?;
            self.delete_all(&more, write, options, check).await?;
            page.entries.extend(more.entries);
            page.token = more.token;
            page.remaining = None;
        }
        Ok(page)
    }

    async fn delete_all(
        &self,
        page: &ListPage,
        write: &WriteOptions,
        options: &DeleteOptions,
        check: &dyn Check,
    ) -> Result<()> {
        let at_once = if self.storage.keeps_order() { AT_ONCE } else { 1 };
        // The entries are shared, not borrowed: a future of many lifetimes could not be sent.
        stream::iter(page.entries.clone())
            .map(|entry| async move {
                let facts = self.facts(&entry);
                match self.delete(write, &facts.namespace, &facts.name, options, check).await {
                    Err(status) if status.reason != Some(Reason::NotFound) => Err(status),
                    _ => Ok(()),
                }
            })
            .buffered(at_once)
            .try_collect()
            .await
    }
}
