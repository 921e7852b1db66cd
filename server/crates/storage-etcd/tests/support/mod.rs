//! The engine of a real etcd for one test.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apiwright_cache::{self as cache, Cached};
use apiwright_storage::Storage;
use apiwright_storage_etcd::{Etcd, Options};
use apiwright_storage_testing::etcd::Member;
#[allow(unused_imports, reason = "not every test file needs all")]
pub(crate) use apiwright_storage_testing::etcd::{Relay, available, free_port};

/// A member, with what it takes to reach it.
pub(crate) struct Server(Member);

impl Server {
    /// A member of its own.
    pub(crate) fn start() -> Self {
        Self(Member::start())
    }

    /// A member that wants certificates.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) fn start_tls(files: impl FnOnce(&Path) -> Vec<String>) -> Self {
        Self(Member::start_tls(files))
    }

    /// Options to reach it, with short times.
    pub(crate) fn options(&self) -> Options {
        Options {
            progress_interval: Duration::from_millis(200),
            backoff_max: Duration::from_millis(400),
            ..Options::new([self.url()])
        }
    }

    /// An engine, once the member serves.
    pub(crate) async fn connect(&self, options: Options) -> Etcd {
        let mut last = String::new();
        for _ in 0..300 {
            match Etcd::connect(options.clone()).await {
                Ok(engine) => match engine.health().await {
                    Ok(()) => return engine,
                    Err(error) => last = error.to_string(),
                },
                Err(error) => last = error.to_string(),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        panic!("etcd does not come up: {last}\n{log}");
    }

    /// A cache of a part of the member's keys.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) async fn cached(&self, options: Options, root: &str) -> Cached {
        let engine = Arc::new(self.connect(options).await);
        let options = cache::Options {
            root: root.into(),
            progress_interval: Duration::from_millis(200),
            backoff_max: Duration::from_millis(400),
            ..cache::Options::default()
        };
        Cached::open(engine, options).await.expect("the member can be read")
    }
}

impl Deref for Server {
    type Target = Member;

    fn deref(&self) -> &Member {
        &self.0
    }
}

impl DerefMut for Server {
    fn deref_mut(&mut self) -> &mut Member {
        &mut self.0
    }
}
