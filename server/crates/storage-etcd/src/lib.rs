//! The engine for a real etcd cluster; the only user of etcd-client.
//!
//! Every operation is one request to the cluster (long ranges are several, at one revision), so
//! any number of servers can share it. Nothing is kept here: entries are made anew for each answer,
//! and only watches and leases have state.

mod compaction;
mod convert;
mod failure;
mod leases;
mod options;
mod progress;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apiwright_storage::{
    Annex, At, Change, Entry, Error, Expect, Feed, Key, Outcome, Page, Range, Result, Revision, Storage,
    Watch,
};
use bytes::Bytes;
use etcd_client::{
    Certificate, Client, Compare, CompareOp, ConnectOptions, DeleteOptions, GetOptions, GetResponse,
    Identity, KvClient, PutOptions, TlsOptions, Txn, TxnOp, TxnOpResponse,
};
use futures::future::BoxFuture;
use tokio::sync::watch as flag;

pub use options::{Options, Root, Tls, User};

use convert::Names;
use failure::Kind;
use leases::Leases;
use watch::WatchesAll;

/// How many entries one request reads at most: an answer has to fit into memory twice.
const PAGE_MAX: usize = 2000;
/// How often each other member is tried for a request that was not sent. The client's choice is random:
/// with two of three members down, fewer turns would find the third too late once in some hundred requests.
const TURNS: usize = 32;
/// How often a range is begun anew whose revision was compacted while it was read.
const RANGE_ATTEMPTS: usize = 5;

/// The engine.
#[derive(Debug)]
pub struct Etcd(Arc<Inner>);

/// What watches share with the engine.
pub(crate) struct Inner {
    client: Client,
    kv: KvClient,
    pub(crate) options: Options,
    pub(crate) names: Names,
    /// Whether it is safe to ask how far a watch has come.
    pub(crate) can_request_progress: bool,
    /// The newest compaction that was heard of.
    pub(crate) compacted: AtomicU64,
    /// The newest revision that a read has seen.
    pub(crate) newest: flag::Sender<Revision>,
    pub(crate) watches_all: WatchesAll,
    pub(crate) closed: flag::Sender<bool>,
    leases: Leases,
}

impl Etcd {
    /// Connects to a cluster. Members that cannot be reached are tried again when they are needed;
    /// only a cluster with authentication has to answer now.
    pub async fn connect(options: Options) -> Result<Self> {
        let client = within(options.connect_timeout + options.request_timeout, async {
            Client::connect(&options.endpoints, Some(connect_options(&options))).await
        })
        .await
        .map_err(|error| error.as_ref().map_or_else(timeout, failure::of_read))?;
        let can_request_progress = progress::is_safe_to_request(&options).await;
        let kv =
            client.kv_client().max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX);
        Ok(Self(Arc::new(Inner {
            client,
            kv,
            names: Names(options.root.clone()),
            options,
            can_request_progress,
            compacted: AtomicU64::new(0),
            newest: flag::Sender::new(0),
            watches_all: WatchesAll::new(!can_request_progress),
            closed: flag::Sender::new(false),
            leases: Leases::default(),
        })))
    }
}

impl Inner {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn check(&self) -> Result<()> {
        if *self.closed.borrow() { Err(closed()) } else { Ok(()) }
    }

    /// One request, asked of other members for as long as it reaches none. The client takes them in
    /// turns, the ones that are down as well.
    async fn ask<T, F>(
        &self,
        limit: Duration,
        request: impl Fn() -> F,
    ) -> Result<T, Option<etcd_client::Error>>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let others = self.options.endpoints.len().saturating_sub(1);
        within(limit, async {
            for _ in 0..others * TURNS {
                match request().await {
                    Err(error) if failure::is_unsent(&error) => {}
                    outcome => return outcome,
                }
            }
            request().await
        })
        .await
    }

    /// Remembers a compaction; gives the newest one known.
    pub(crate) fn note_compacted(&self, revision: Revision) -> Revision {
        self.compacted.fetch_max(revision, Ordering::Relaxed).max(revision)
    }

    /// The error of a read at some revision.
    async fn read_error(&self, error: Option<etcd_client::Error>, at: At) -> Error {
        let Some(error) = error else { return timeout() };
        match (failure::kind(&error), at) {
            (Kind::Compacted, At::Revision(requested)) => self.compacted(requested),
            (Kind::Future, At::Revision(requested)) => match self.revision().await {
                Ok(newest) => Error::Future { requested, newest },
                Err(error) => error,
            },
            _ => failure::of_read(&error),
        }
    }

    fn compacted(&self, requested: Revision) -> Error {
        Error::Compacted { requested, oldest: self.note_compacted(requested + 1) }
    }

    async fn read(&self, key: Vec<u8>, options: GetOptions, at: At) -> Result<GetResponse> {
        self.check()?;
        let options = match at {
            At::Latest | At::NotOlderThan(_) => options,
            // etcd takes 0 for the latest.
            At::Revision(0) => return Err(self.compacted(0)),
            At::Revision(revision) => options.with_revision(revision as i64),
        };
        let get = || {
            let (mut kv, key, options) = (self.kv.clone(), key.clone(), options.clone());
            async move { kv.get(key, Some(options)).await }
        };
        match self.ask(self.options.request_timeout, get).await {
            Ok(response) => {
                let newest = convert::revision(response.header());
                match at {
                    At::NotOlderThan(requested) if requested > newest => {
                        Err(Error::Future { requested, newest })
                    }
                    _ => Ok(response),
                }
            }
            Err(error) => Err(self.read_error(error, at).await),
        }
    }

    async fn revision(&self) -> Result<Revision> {
        self.revision_within(self.options.request_timeout).await
    }

    async fn revision_within(&self, limit: Duration) -> Result<Revision> {
        let options = GetOptions::new().with_count_only();
        // One of our own keys, there or not: a user need not have access to others.
        let key = self.names.theirs("/registry/health");
        let get = || {
            let (mut kv, options) = (self.kv.clone(), options.clone());
            let key = key.as_bytes();
            async move { kv.get(key, Some(options)).await }
        };
        match self.ask(limit, get).await {
            Ok(response) => {
                let revision = convert::revision(response.header());
                self.newest.send_if_modified(|newest| {
                    let changes = revision > *newest;
                    *newest = revision.max(*newest);
                    changes
                });
                Ok(revision)
            }
            Err(error) => Err(error.as_ref().map_or_else(timeout, failure::of_read)),
        }
    }

    async fn get(&self, key: &str, at: At) -> Result<(Revision, Option<Arc<Entry>>)> {
        let mut response = self.read(self.names.theirs(key).as_bytes().into(), GetOptions::new(), at).await?;
        let entry = response.take_kvs().into_iter().next().map(|pair| self.names.entry(pair)).transpose()?;
        Ok((read_revision(&response, at), entry))
    }

    /// Reads a range in parts of one revision.
    async fn range(&self, range: Range<'_>) -> Result<Page> {
        let mut page = Page { revision: 0, entries: Vec::new(), remaining: 0 };
        let mut at = range.at;
        let prefix = self.names.theirs(range.prefix);
        let limit = if range.limit == 0 { usize::MAX } else { range.limit };
        loop {
            let wanted = (limit - page.entries.len()).min(PAGE_MAX);
            let last = page.entries.last().map(|entry| entry.key.clone());
            let after = last.as_deref().or(range.after).map(|key| self.names.theirs(key));
            let start = convert::start(&prefix, after.as_deref());
            let options = GetOptions::new().with_range(convert::end(&prefix)).with_limit(wanted as i64);
            let mut response = self.read(start, options, at).await?;
            let pairs = response.take_kvs();
            page.revision = read_revision(&response, at);
            page.remaining = (response.count() as u64).saturating_sub(pairs.len() as u64);
            for pair in pairs {
                page.entries.push(self.names.entry(pair)?);
            }
            if page.remaining == 0 || page.entries.len() >= limit {
                return Ok(page);
            }
            at = At::Revision(page.revision);
        }
    }

    async fn commit(&self, key: Key, expect: Expect, change: Change) -> Result<Outcome> {
        self.check()?;
        let expected = match (expect, &change) {
            (Expect::Absent, Change::Put { .. }) => 0,
            (Expect::Revision(revision), _) if revision > 0 => revision,
            // Nothing can meet it, and etcd would find that the absent key does.
            _ => {
                let (revision, current) = self.get(&key, At::Latest).await?;
                return Ok(Outcome::Mismatch { revision, current });
            }
        };
        let name = self.names.theirs(&key);
        let name = name.as_bytes();
        let mut lease = self.lease(&change).await?;
        let response = loop {
            let then = match &change {
                Change::Put { value, .. } => vec![
                    TxnOp::put(name, value.to_vec(), Some(PutOptions::new().with_lease(lease))),
                    TxnOp::get(name, Some(GetOptions::new().with_keys_only())),
                ],
                Change::Delete => vec![TxnOp::delete(name, Some(DeleteOptions::new().with_prev_key()))],
            };
            let request = Txn::new()
                .when([Compare::mod_revision(name, CompareOp::Equal, expected as i64)])
                .and_then(then)
                .or_else([TxnOp::get(name, None)]);
            let write = || {
                let (mut kv, request) = (self.kv.clone(), request.clone());
                async move { kv.txn(request).await }
            };
            match self.ask(self.options.request_timeout, write).await {
                Ok(response) => break response,
                Err(None) => return Err(Error::Unknown(TIMEOUT.into())),
                Err(Some(error)) if lease != 0 && failure::kind(&error) == Kind::NoLease => {
                    // It ended early, with a member's clock or by somebody's hand.
                    self.leases.forget(lease);
                    lease = self.lease(&change).await?;
                }
                Err(Some(error)) => return Err(failure::of_write(&error)),
            }
        };
        let revision = convert::revision(response.header());
        let pair = response.op_responses().into_iter().find_map(|response| match response {
            TxnOpResponse::Get(mut response) => response.take_kvs().pop(),
            TxnOpResponse::Delete(mut response) => response.take_prev_kvs().pop(),
            _ => None,
        });
        if !response.succeeded() {
            return Ok(Outcome::Mismatch {
                revision,
                current: pair.map(|pair| self.names.entry(pair)).transpose()?,
            });
        }
        let Some(pair) = pair else {
            return Err(Error::Corrupt(format!("etcd does not tell what it did to {key}")));
        };
        let entry = match change {
            Change::Put { value, .. } => Arc::new(written(key, value, &pair)),
            Change::Delete => self.names.entry(pair)?,
        };
        Ok(Outcome::Done { revision, entry })
    }

    /// The lease that a change needs; 0 for none.
    async fn lease(&self, change: &Change) -> Result<i64> {
        let Change::Put { ttl_seconds: Some(seconds), .. } = change else { return Ok(0) };
        let grant = async |seconds: i64| {
            let grant = || {
                let mut client = self.client.lease_client();
                async move { client.grant(seconds, None).await }
            };
            match self.ask(self.options.request_timeout, grant).await {
                Ok(response) => Ok(response.id()),
                Err(error) => Err(error.as_ref().map_or_else(timeout, failure::of_read)),
            }
        };
        self.leases.get(*seconds, grant).await
    }

    async fn compact(&self, revision: Revision) -> Result<()> {
        self.check()?;
        let compact = || {
            let mut kv = self.kv.clone();
            async move { kv.compact(revision as i64, None).await }
        };
        match self.ask(self.options.request_timeout, compact).await {
            Ok(_) => {
                self.note_compacted(revision);
                Ok(())
            }
            Err(error) => Err(self.read_error(error, At::Revision(revision)).await),
        }
    }
}

impl Storage for Etcd {
    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async {
            self.0.check()?;
            self.0.revision().await
        })
    }

    fn get<'a>(&'a self, key: &'a str, at: At) -> BoxFuture<'a, Result<(Revision, Option<Arc<Entry>>)>> {
        Box::pin(self.0.get(key, at))
    }

    fn range<'a>(&'a self, range: Range<'a>) -> BoxFuture<'a, Result<Page>> {
        Box::pin(async move {
            for _ in 1..RANGE_ATTEMPTS {
                match self.0.range(range).await {
                    Err(Error::Compacted { .. }) if !matches!(range.at, At::Revision(_)) => {}
                    result => return result,
                }
            }
            self.0.range(range).await
        })
    }

    fn commit(&self, key: Key, expect: Expect, change: Change) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(self.0.commit(key, expect, change))
    }

    fn watch<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Watch>> {
        Box::pin(async move {
            self.0.check()?;
            Ok(watch::watch(self.0.clone(), prefix, after))
        })
    }

    fn feed<'a>(&'a self, prefix: &'a str, after: Revision) -> BoxFuture<'a, Result<Feed>> {
        Box::pin(async move {
            self.0.check()?;
            Ok(watch::feed(self.0.clone(), prefix, after))
        })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.0.compact(revision))
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            self.0.check()?;
            self.0.revision_within(self.0.options.health_timeout).await.map(drop)
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { if self.0.closed.send_replace(true) { Err(closed()) } else { Ok(()) } })
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What the client library needs to know.
pub(crate) fn connect_options(options: &Options) -> ConnectOptions {
    let mut connect = ConnectOptions::new()
        .with_connect_timeout(options.connect_timeout)
        .with_keep_alive(options.keep_alive_interval, options.keep_alive_timeout)
        .with_keep_alive_while_idle(true)
        .with_require_leader(true);
    if let Some(user) = &options.user {
        connect = connect.with_user(&user.name, &user.password).with_auto_token_refresh(true);
    }
    if let Some(tls) = &options.tls {
        let mut config = TlsOptions::new().ca_certificate(Certificate::from_pem(&tls.ca));
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        if let Some(name) = &tls.server_name {
            config = config.domain_name(name);
        }
        connect = connect.with_tls(config);
    }
    connect
}

/// What was written, as etcd's answer without the value tells.
fn written(key: Key, value: Bytes, pair: &etcd_client::KeyValue) -> Entry {
    Entry {
        key,
        value,
        create_revision: pair.create_revision() as Revision,
        mod_revision: pair.mod_revision() as Revision,
        version: pair.version() as u64,
        annex: Annex::default(),
    }
}

/// The revision that an answer shows.
fn read_revision(response: &GetResponse, at: At) -> Revision {
    match at {
        At::Latest | At::NotOlderThan(_) => convert::revision(response.header()),
        At::Revision(revision) => revision,
    }
}

/// Waits for an answer, but not for ever; `None` is for ever.
async fn within<T>(
    limit: Duration,
    request: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, Option<etcd_client::Error>> {
    match tokio::time::timeout(limit, request).await {
        Ok(result) => result.map_err(Some),
        Err(_) => Err(None),
    }
}

const TIMEOUT: &str = "etcd does not answer in time";

fn timeout() -> Error {
    Error::Unavailable(TIMEOUT.into())
}

fn closed() -> Error {
    Error::Unavailable("the storage is closed".into())
}
