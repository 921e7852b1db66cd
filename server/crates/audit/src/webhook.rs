//! `--audit-webhook-config-file`: lists of events, posted to a server outside.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tracing::error;

use crate::event::TYPE;
use crate::sink::Deliver;

/// How often a list is posted before it is given up.
const TRIES_MAX: u32 = 5;
/// How long a server that stops waits for what is on its way.
const SETTLE_MAX: Duration = Duration::from_secs(5);

/// Posts a body once; the error says why it did not get there.
pub type Post = Arc<dyn Fn(Bytes) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// The server outside.
pub struct Webhook {
    post: Post,
    initial_backoff: Duration,
    runtime: OnceLock<Handle>,
    under_way: Arc<UnderWay>,
}

/// How many lists are on their way, and whoever waits for the last.
#[derive(Default)]
struct UnderWay {
    count: Mutex<usize>,
    ended: Condvar,
}

impl Webhook {
    /// Posts by this; the second try comes after `initial_backoff`, each other after half as long again.
    pub fn new(post: Post, initial_backoff: Duration) -> Self {
        Self { post, initial_backoff, runtime: OnceLock::new(), under_way: Arc::default() }
    }

    fn send(&self, events: &[Bytes]) -> impl Future<Output = bool> + Send + use<> {
        let (post, body, backoff, count) =
            (Arc::clone(&self.post), list(events), self.initial_backoff, events.len());
        async move {
            let mut wait = backoff;
            for attempt in 1.. {
                let why = match post(body.clone()).await {
                    Ok(()) => return true,
                    Err(why) => why,
                };
                if attempt == TRIES_MAX {
                    error!(events = count, why, "cannot post audit events");
                    return false;
                }
                tracing::debug!(events = count, why, "audit events are posted again");
                tokio::time::sleep(wait).await;
                wait = wait * 3 / 2;
            }
            false
        }
    }

    fn runtime(&self) -> Option<Handle> {
        self.runtime.get().cloned().or_else(|| Handle::try_current().ok())
    }
}

impl Deliver for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn begin(&self) {
        let _ = self.runtime.set(Handle::current());
    }

    fn deliver(&self, events: Vec<Bytes>) -> bool {
        let Some(runtime) = self.runtime() else { return false };
        let sent = self.send(&events);
        // The request waits, and its thread with it; others take over the rest of that one's work.
        tokio::task::block_in_place(|| runtime.block_on(sent))
    }

    fn hand_over(&self, events: Vec<Bytes>) {
        let Some(runtime) = self.runtime() else { return };
        let (sent, under_way) = (self.send(&events), Arc::clone(&self.under_way));
        *under_way.count.lock() += 1;
        runtime.spawn(async move {
            sent.await;
            *under_way.count.lock() -= 1;
            under_way.ended.notify_all();
        });
    }

    fn settle(&self) {
        let mut count = self.under_way.count.lock();
        let _ = self.under_way.ended.wait_while_for(&mut count, |count| *count > 0, SETTLE_MAX);
    }
}

/// An EventList; its members do not say what they are.
fn list(events: &[Bytes]) -> Bytes {
    let length: usize = events.iter().map(Bytes::len).sum();
    let mut out = Vec::with_capacity(length + 128);
    out.extend_from_slice(br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#);
    for (at, event) in events.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match event.strip_prefix(TYPE.as_bytes()) {
            Some(rest) => {
                out.push(b'{');
                out.extend_from_slice(rest);
            }
            None => out.extend_from_slice(event),
        }
    }
    out.extend_from_slice(b"]}");
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusing(first: usize) -> (Post, Arc<Mutex<Vec<Bytes>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let post: Post = Arc::new(move |body| {
            let mut kept = kept.lock();
            kept.push(body);
            let answer = if kept.len() <= first { Err("no".to_owned()) } else { Ok(()) };
            Box::pin(std::future::ready(answer))
        });
        (post, seen)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn lists_are_posted_until_they_are_taken() {
        let event = Bytes::from(format!("{TYPE}\"level\":\"Metadata\"}}"));
        for (refused, tries, is_sent) in [(0, 1, true), (2, 3, true), (9, 5, false)] {
            let (post, seen) = refusing(refused);
            let webhook = Webhook::new(post, Duration::from_millis(1));
            webhook.begin();
            assert_eq!(webhook.deliver(vec![event.clone(), event.clone()]), is_sent);
            let seen = seen.lock();
            assert_eq!(seen.len(), tries);
            assert_eq!(
                seen[0],
                r#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"level":"Metadata"},{"level":"Metadata"}]}"#
            );
        }
        let (post, seen) = refusing(1);
        let webhook = Webhook::new(post, Duration::from_millis(20));
        webhook.hand_over(vec![event]);
        webhook.settle();
        assert_eq!(seen.lock().len(), 2);
    }
}
