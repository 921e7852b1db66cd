//! Compaction at intervals, agreed upon with all servers of the cluster, kube-apiservers included.
//!
//! All count the compactions in the version of one key, whose value is the revision to compact next
//! time. Whoever raises the count first compacts to the revision that it saw one interval before; the
//! others see that the count has moved and take over the newest one. So the past of one interval at
//! least stays readable, however many servers there are.

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{Error, Result, Revision};
use etcd_client::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse};

use crate::{Etcd, Inner, TIMEOUT, convert, failure, within};

/// The key that all agree on; it is below no prefix.
const KEY: &str = "compact_rev_key";

/// What one server knows between two rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// The version of the key that was seen last.
    count: i64,
    /// The newest revision then; 0 before the first round.
    revision: Revision,
}

impl Etcd {
    /// Compacts the cluster at intervals, until the engine is closed.
    pub fn compact_every(&self, interval: Duration) -> impl Future<Output = ()> + Send + use<> {
        let inner = Arc::clone(&self.0);
        async move {
            let mut closed = inner.closed.subscribe();
            let mut round = Round::default();
            loop {
                tokio::select! {
                    _ = closed.wait_for(|closed| *closed) => return,
                    () = tokio::time::sleep(interval) => {}
                }
                match inner.compact_round(round).await {
                    Ok(next) => round = next,
                    Err(error) => tracing::warn!(%error, "etcd was not compacted; it will be next time"),
                }
            }
        }
    }
}

impl Inner {
    pub(crate) async fn compact_round(&self, round: Round) -> Result<Round> {
        let request = Txn::new()
            .when([Compare::version(KEY, CompareOp::Equal, round.count)])
            .and_then([TxnOp::put(KEY, round.revision.to_string(), None)])
            .or_else([TxnOp::get(KEY, None)]);
        let mut kv = self.kv.clone();
        let response = match within(self.options.request_timeout, kv.txn(request)).await {
            Ok(response) => response,
            Err(None) => return Err(Error::Unavailable(TIMEOUT.into())),
            Err(Some(error)) => return Err(failure::of_read(&error)),
        };
        let revision = convert::revision(response.header());
        if !response.succeeded() {
            let found = response.op_responses().into_iter().find_map(|response| match response {
                TxnOpResponse::Get(mut response) => response.take_kvs().pop(),
                _ => None,
            });
            return Ok(Round { count: found.map_or(0, |pair| pair.version()), revision });
        }
        let next = Round { count: round.count + 1, revision };
        if round.revision > 0 {
            match self.compact(round.revision).await {
                Ok(()) => tracing::info!(revision = round.revision, "etcd compacted"),
                // Somebody was there before, by hand for instance.
                Err(Error::Compacted { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(next)
    }
}
