//! Reading many objects: pages of one moment, selectors on facts, continue tokens.

use std::sync::Arc;

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_storage::{At, Entry, Range};

use crate::errors;
use crate::selection::{Matcher, Wanted};
use crate::store::{Freshness, ListPage, Paging, Selection, Store};
use crate::token::Token;

impl Store {
    /// The objects of a selection, or a page of them.
    ///
    /// # Errors
    /// 400 for bad tokens, 410 where the past is forgotten, 504 for the future, 500 where storage fails.
    pub async fn list(
        &self,
        selection: &Selection,
        freshness: Freshness,
        paging: &Paging,
    ) -> Result<ListPage> {
        let matcher = Matcher::new(self, selection);
        if !paging.token.is_empty() {
            let token = Token::decode(&paging.token)?;
            if !matches!(freshness, Freshness::Latest | Freshness::Any) {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let prefix = self.key_prefix(&selection.namespace);
            let at = u64::try_from(token.revision).map_or(At::Latest, At::Revision);
            let walk = Walk { store: self, matcher: &matcher, prefix, limit: paging.limit };
            return walk.resume(&token, at).await;
        }
        let namespace = matcher.scope(selection);
        if let Some(name) = matcher.single_name()
            && let Ok(key) = self.key(&namespace, name)
        {
            return self.list_one(&key, freshness, &matcher).await;
        }
        let limit = if freshness == Freshness::Any { 0 } else { paging.limit };
        let walk = Walk { store: self, matcher: &matcher, prefix: self.key_prefix(&namespace), limit };
        walk.read(None, freshness.at(), Vec::new()).await
    }

    /// A list that at most one object can be in.
    async fn list_one(&self, key: &str, freshness: Freshness, matcher: &Matcher) -> Result<ListPage> {
        let read = self.storage.get(key, freshness.at()).await;
        let (revision, entry) = read.map_err(|error| self.storage_error(error, "list"))?;
        let entries = entry.into_iter().filter(|entry| matcher.matches(self, entry)).collect();
        Ok(ListPage { revision, entries, token: String::new(), remaining: None })
    }
}

impl Freshness {
    /// The moment to read at.
    pub(crate) fn at(self) -> At {
        match self {
            Self::Latest => At::Latest,
            Self::Any => At::NotOlderThan(0),
            Self::NotOlderThan(revision) => At::NotOlderThan(revision),
            Self::Exact(revision) => At::Revision(revision),
        }
    }
}

/// A walk over the keys below a prefix.
struct Walk<'a> {
    store: &'a Store,
    matcher: &'a Matcher,
    prefix: String,
    /// 0 for none.
    limit: usize,
}

impl Walk<'_> {
    /// Goes on where a token says.
    async fn resume(&self, token: &Token, at: At) -> Result<ListPage> {
        let start = format!("{}{}", self.prefix, token.start);
        let read = match start.strip_suffix('\0') {
            Some(after) => self.read(Some(after), at, Vec::new()).await,
            None => self.include(&start, at).await,
        };
        // The way on from a forgotten moment is the present; the client decides whether to take it.
        read.map_err(|mut status| {
            if status.message == errors::LIST_TOO_OLD {
                status.message = errors::TOKEN_TOO_OLD.into();
                status.continue_token = Token { revision: -1, start: token.start.clone() }.encode();
            }
            status
        })
    }

    /// From a key on, including it. Tokens made here never ask for that.
    async fn include(&self, start: &str, at: At) -> Result<ListPage> {
        let read = self.store.storage.get(start, at).await;
        let (revision, entry) = read.map_err(|error| self.store.storage_error(error, "list"))?;
        let first = entry.into_iter().filter(|entry| self.matcher.matches(self.store, entry)).collect();
        self.read(Some(start), At::Revision(revision), first).await
    }

    /// Reads until the page is full or the range ends.
    async fn read(&self, after: Option<&str>, at: At, mut first: Vec<Arc<Entry>>) -> Result<ListPage> {
        let room = self.limit.saturating_sub(first.len());
        // A page that is full already learns whether anything follows.
        let limit = if self.limit > 0 { room.max(1) } else { 0 };
        let range = Range { prefix: &self.prefix, after, limit, at };
        let page = if self.matcher.is_empty() {
            self.store.storage.range(range).await
        } else {
            self.store.storage.select(range, &Wanted::new(self.store, self.matcher)).await
        };
        let mut page = page.map_err(|error| self.store.storage_error(error, "list"))?;
        if self.limit > 0 && room == 0 {
            page.remaining += page.entries.len() as u64;
        } else {
            first.append(&mut page.entries);
        }
        let (mut token, mut remaining) = (String::new(), None);
        if let Some(last) = first.last().filter(|_| self.limit > 0 && page.remaining > 0) {
            let start = format!("{}\0", &last.key[self.prefix.len()..]);
            token = Token { revision: page.revision as i64, start }.encode();
            remaining = self.matcher.is_empty().then_some(page.remaining);
        }
        Ok(ListPage { revision: page.revision, entries: first, token, remaining })
    }
}
