//! Watching a selection: storage's changes as what they mean for it.
//!
//! Invariant: each change comes once and in order; an object that enters or leaves the selection
//! was added to or deleted from it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_storage::{At, Entry, Error, Event, Range, Revision, Watch};
use futures::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::selection::{Matcher, Wanted};
use crate::store::{Selection, Store, WatchEvent, WatchOptions, WatchStream};

/// How long a watch that asked for bookmarks waits for the next one.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before its end the last bookmark comes.
const LAST_BOOKMARK_BEFORE: Duration = Duration::from_secs(2);

impl Store {
    /// What happens to the objects of a selection.
    ///
    /// # Errors
    /// What can be told before the stream starts; later failures are the stream's last item.
    pub async fn watch(&self, selection: Selection, options: WatchOptions) -> Result<WatchStream> {
        match self.open_watch(&selection, &options).await {
            Ok(state) => Ok(stream::unfold(state, WatchState::next).boxed()),
            // Upstream tells what is wrong with a start in the stream, as an ERROR event.
            Err(status) => Ok(stream::once(async { Err(status) }).boxed()),
        }
    }

    async fn open_watch(&self, selection: &Selection, options: &WatchOptions) -> Result<WatchState> {
        let matcher = Matcher::new(self, selection);
        let namespace = matcher.scope(selection);
        let single = matcher.single_name().and_then(|name| self.key(&namespace, name).ok());
        let prefix = self.key_prefix(&namespace);
        let prefix = single.as_deref().unwrap_or(&prefix);
        let from = options.from.unwrap_or_default();

        if !options.initial_events && from > 0 && from < self.since {
            return Err(too_old(from, self.since));
        }
        let mut ready = VecDeque::new();
        let start = if options.initial_events {
            let at = options.from.map_or(At::Latest, At::NotOlderThan);
            let range = Range { prefix, after: None, limit: 0, at };
            let page = if matcher.is_empty() {
                self.storage.range(range).await
            } else {
                self.storage.select(range, &Wanted::new(self, &matcher)).await
            };
            let page = page.map_err(|error| self.storage_error(error, "watch"))?;
            let is_named = |entry: &Arc<Entry>| single.as_ref().is_none_or(|key| *key == entry.key);
            ready.extend(page.entries.into_iter().filter(is_named).map(WatchEvent::Added));
            if options.bookmarks {
                ready.push_back(WatchEvent::Bookmark(page.revision, true));
            }
            page.revision
        } else if from == 0 {
            self.storage.revision().await.map_err(|error| self.storage_error(error, "watch"))?
        } else {
            from
        };
        let only = matcher.only(self);
        let source = self.storage.watch_only(prefix, start, only.as_ref()).await;
        let source = source.map_err(|error| self.watch_error(error, start))?;
        Ok(WatchState {
            store: self.clone(),
            matcher,
            single,
            ready,
            source,
            start,
            seen: start,
            bookmarks: options.bookmarks.then(|| Bookmarks::new(options.timeout)),
            ended: false,
        })
    }

    fn watch_error(&self, error: Error, start: Revision) -> Box<Status> {
        match error {
            Error::Compacted { oldest, .. } => too_old(start, oldest),
            error => self.storage_error(error, "watch"),
        }
    }
}

/// 410: changes that the watch wants are forgotten.
fn too_old(start: Revision, oldest: Revision) -> Box<Status> {
    Status::expired(format!("too old resource version: {start} ({oldest})"))
}

/// A watch that is under way.
struct WatchState {
    store: Store,
    matcher: Matcher,
    /// The only key of the selection.
    single: Option<apiwright_storage::Key>,
    /// Events that come before those of the source.
    ready: VecDeque<WatchEvent>,
    source: Watch,
    start: Revision,
    /// Everything up to here was delivered or is not of the selection.
    seen: Revision,
    bookmarks: Option<Bookmarks>,
    ended: bool,
}

impl WatchState {
    async fn next(mut self) -> Option<(Result<WatchEvent>, Self)> {
        if let Some(event) = self.ready.pop_front() {
            return Some((Ok(event), self));
        }
        while !self.ended {
            let change = match &mut self.bookmarks {
                None => self.source.next().await,
                Some(bookmarks) => {
                    let timer = bookmarks.timer.as_mut();
                    tokio::select! {
                        biased;
                        change = self.source.next() => change,
                        () = timer => {
                            self.catch_up();
                            if let Some(event) = self.ready.pop_front() {
                                return Some((Ok(event), self));
                            }
                            continue;
                        }
                    }
                }
            };
            match change {
                Some(Ok(event)) => {
                    if let Some(event) = self.translate(event) {
                        return Some((Ok(event), self));
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return self.failed(error).map(|status| (Err(status), self));
                }
                None => self.ended = true,
            }
        }
        None
    }

    /// A bookmark is due: takes what the source has at hand, so that the bookmark is as new as can be.
    fn catch_up(&mut self) {
        while let Some(change) = self.source.next().now_or_never() {
            let Some(Ok(event)) = change else {
                self.ended = true;
                break;
            };
            let event = self.translate(event);
            self.ready.extend(event);
        }
        self.ready.push_back(WatchEvent::Bookmark(self.seen, false));
        if let Some(bookmarks) = &mut self.bookmarks {
            bookmarks.schedule();
        }
    }

    /// What a change means for the selection; `None` for nothing.
    fn translate(&mut self, event: Event) -> Option<WatchEvent> {
        let revision = event.revision();
        self.seen = self.seen.max(revision);
        if revision <= self.start {
            return None;
        }
        if let (Some(single), Some(key)) = (&self.single, event.key())
            && single != key
        {
            return None;
        }
        let selected = |entry: &Arc<Entry>| self.matcher.matches(&self.store, entry);
        match event {
            Event::Put { entry, previous } => {
                let previous = previous.filter(selected);
                match (selected(&entry), previous) {
                    (true, Some(_)) => Some(WatchEvent::Modified(entry)),
                    (true, None) => Some(WatchEvent::Added(entry)),
                    (false, Some(previous)) => Some(WatchEvent::Deleted(previous, revision)),
                    (false, None) => None,
                }
            }
            Event::Delete { previous, revision } => {
                selected(&previous).then_some(WatchEvent::Deleted(previous, revision))
            }
            Event::Progress(_) => None,
        }
    }

    /// A watch whose receiver was too slow just ends: it may go on from where it was. One that
    /// delivered nothing yet began too far back.
    fn failed(&self, error: Error) -> Option<Box<Status>> {
        match error {
            Error::Compacted { oldest, .. } if self.seen == self.start => Some(too_old(self.start, oldest)),
            Error::Compacted { .. } => None,
            error => Some(self.store.storage_error(error, "watch")),
        }
    }
}

/// When the next bookmark is due.
struct Bookmarks {
    timer: Pin<Box<Sleep>>,
    /// The last one; `None` once it has come or where there is no end.
    last: Option<Instant>,
}

impl Bookmarks {
    fn new(timeout: Option<Duration>) -> Self {
        let now = Instant::now();
        let last = timeout
            .map(|timeout| now + timeout.saturating_sub(LAST_BOOKMARK_BEFORE))
            .filter(|last| *last > now);
        let mut bookmarks = Self { timer: Box::pin(sleep_until(now)), last };
        bookmarks.schedule();
        bookmarks
    }

    fn schedule(&mut self) {
        let now = Instant::now();
        let mut next = now + BOOKMARK_EVERY;
        match self.last {
            Some(last) if last <= now => self.last = None,
            Some(last) => next = next.min(last),
            None => {}
        }
        self.timer.as_mut().reset(next);
    }
}
