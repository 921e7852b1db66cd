//! Which engine holds the objects, and where.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use apiwright_encryption::{Encrypted, Transformers};
use apiwright_storage::Storage;
use apiwright_storage_embedded::{Embedded, Lock, Options};

use crate::encryption;
use crate::flags::{Flags, StorageEngine};
use crate::generated::catalogue;

/// What keys begin with in engines of our own.
const ROOT: &str = "/registry/";

/// The engine that flags ask for: naming a cluster means etcd.
///
/// # Errors
/// When they contradict each other, or this binary does not have the engine.
pub fn choose(flags: &Flags) -> Result<StorageEngine, String> {
    let named = [
        ("--etcd-servers", !flags.etcd_servers.is_empty()),
        ("--etcd-prefix", flags.etcd_prefix.is_some()),
        ("--etcd-cafile", flags.etcd_cafile.is_some()),
        ("--etcd-certfile", flags.etcd_certfile.is_some()),
        ("--etcd-compaction-interval", flags.etcd_compaction_interval.is_some()),
        ("--etcd-healthcheck-timeout", flags.etcd_healthcheck_timeout.is_some()),
    ];
    let named = named.iter().find(|(_, is_named)| *is_named).map(|(flag, _)| *flag);
    let engine = match (flags.storage, named) {
        (None, None) => StorageEngine::Embedded,
        (None, Some(_)) | (Some(StorageEngine::Etcd), _) => StorageEngine::Etcd,
        (Some(engine), None) => engine,
        (Some(_), Some(flag)) => return Err(format!("{flag} goes with --storage=etcd")),
    };
    if engine == StorageEngine::Etcd {
        if !cfg!(feature = "etcd") {
            let flag = named.unwrap_or("--storage=etcd");
            return Err(format!("{flag}: this binary was built without etcd; build it with --features etcd"));
        }
        if flags.etcd_servers.is_empty() {
            return Err("--storage=etcd needs --etcd-servers".into());
        }
    }
    Ok(engine)
}

/// An engine that runs.
pub struct Opened {
    /// Where objects are.
    pub storage: Arc<dyn Storage>,
    /// Our own engine behind it, which makes snapshots.
    pub embedded: Option<Arc<Embedded>>,
    /// What seals values on their way to the engine, where they are encrypted.
    pub encrypted: Option<Arc<Encrypted>>,
}

/// Opens the engine; `lock` is that of the data directory.
///
/// # Errors
/// When it cannot be used; the text names what is wrong.
pub async fn open(flags: &Flags, lock: &Arc<Lock>) -> Result<Opened, String> {
    let transformers = encryption::transformers(flags).await?;
    let embedded = match choose(flags)? {
        StorageEngine::Memory => Embedded::memory(Options::default()),
        StorageEngine::Embedded => open_embedded(directory(&flags.data_dir), Arc::clone(lock)).await?,
        StorageEngine::Etcd => {
            let (storage, encrypted) = etcd::open(flags, transformers).await?;
            return Ok(Opened { storage, embedded: None, encrypted });
        }
    };
    let embedded = Arc::new(embedded);
    let engine: Arc<dyn Storage> = Arc::clone(&embedded) as _;
    let Some(transformers) = transformers else {
        return Ok(Opened { storage: engine, embedded: Some(embedded), encrypted: None });
    };
    let may_wait = transformers.has_plugins();
    let encrypted = Arc::new(sealed(engine, transformers, ROOT));
    let storage = encryption::cached(Arc::clone(&encrypted) as _, may_wait).await?;
    Ok(Opened { storage, embedded: Some(embedded), encrypted: Some(encrypted) })
}

/// An engine whose values are sealed; `root` is what its keys begin with.
fn sealed(engine: Arc<dyn Storage>, transformers: Transformers, root: &str) -> Encrypted {
    Encrypted::new(engine, transformers, encryption::resource_of(catalogue()), root)
}

/// Where the embedded engine's files are in a data directory.
pub fn directory(data_dir: &Path) -> PathBuf {
    data_dir.join("store")
}

/// Reads all of the store, so it runs where it may block.
async fn open_embedded(dir: PathBuf, lock: Arc<Lock>) -> Result<Embedded, String> {
    let opened =
        tokio::task::spawn_blocking(move || Embedded::open_locked(dir, lock, Options::default())).await;
    opened.map_err(|error| error.to_string())?.map_err(|why| why.to_string())
}

#[cfg(feature = "etcd")]
mod etcd {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use apiwright_encryption::{Encrypted, Transformers};
    use apiwright_storage::Storage;
    use apiwright_storage_etcd::{Etcd, Options, Root, Tls};

    use crate::encryption;
    use crate::flags::Flags;

    /// Under what all keys are unless `--etcd-prefix` says otherwise.
    const PREFIX: &str = "/registry";
    /// How long a cluster may take to answer.
    const PATIENCE: Duration = Duration::from_secs(10);
    /// How often the cluster is compacted, unless a flag says otherwise: as kube-apiserver does it.
    const COMPACTION_INTERVAL: Duration = Duration::from_mins(5);

    pub(super) async fn open(
        flags: &Flags,
        transformers: Option<Transformers>,
    ) -> Result<(Arc<dyn Storage>, Option<Arc<Encrypted>>), String> {
        let mut options = Options::new(flags.etcd_servers.iter().cloned());
        let prefix = flags.etcd_prefix.as_deref().unwrap_or(PREFIX).trim_matches('/');
        let theirs = format!("/{prefix}/");
        let ours = format!("{PREFIX}/");
        options.root = (theirs != ours).then(|| Root { ours, theirs: theirs.clone() });
        if flags.etcd_servers.iter().any(|server| server.starts_with("https:")) || flags.etcd_cafile.is_some()
        {
            options.tls = Some(tls(flags)?);
        }
        if let Some(timeout) = flags.etcd_healthcheck_timeout {
            options.health_timeout = timeout;
        }
        let name = flags.etcd_servers.join(",");
        let engine = Etcd::connect(options)
            .await
            .map_err(|why| format!("cannot use the etcd cluster {name}: {why}"))?;
        // A cluster that starts together with us may need a moment.
        let patience = Instant::now() + PATIENCE;
        while let Err(why) = engine.health().await {
            if Instant::now() > patience {
                return Err(format!("cannot reach the etcd cluster {name}: {why}"));
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        let interval = flags.etcd_compaction_interval.unwrap_or(COMPACTION_INTERVAL);
        if !interval.is_zero() {
            tokio::spawn(engine.compact_every(interval));
        }
        let engine: Arc<dyn Storage> = Arc::new(engine);
        let may_wait = transformers.as_ref().is_some_and(Transformers::has_plugins);
        let encrypted = transformers
            .map(|transformers| Arc::new(super::sealed(Arc::clone(&engine), transformers, &theirs)));
        let engine = encrypted.clone().map_or(engine, |encrypted| encrypted as _);
        let cached = encryption::cached(engine, may_wait).await;
        let cached = cached.map_err(|why| format!("the etcd cluster {name}: {why}"))?;
        Ok((cached, encrypted))
    }

    fn tls(flags: &Flags) -> Result<Tls, String> {
        let read = |file: &PathBuf| {
            std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
        };
        let ca = flags.etcd_cafile.as_ref().map(read).transpose()?.unwrap_or_default();
        let identity = match (&flags.etcd_certfile, &flags.etcd_keyfile) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        Ok(Tls { ca, identity, ..Tls::default() })
    }
}

#[cfg(not(feature = "etcd"))]
mod etcd {
    use std::sync::Arc;

    use apiwright_encryption::{Encrypted, Transformers};
    use apiwright_storage::Storage;

    use crate::flags::Flags;

    /// Flags that ask for it have been refused.
    pub(super) async fn open(
        _: &Flags,
        _: Option<Transformers>,
    ) -> Result<(Arc<dyn Storage>, Option<Arc<Encrypted>>), String> {
        std::future::ready(Err("this binary was built without etcd".into())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Outcome;

    #[test]
    fn choices() {
        let etcd = |named: &str| {
            if cfg!(feature = "etcd") {
                Ok(StorageEngine::Etcd)
            } else {
                Err(format!("{named}: this binary was built without etcd; build it with --features etcd"))
            }
        };
        for (arguments, expected) in [
            (&[][..], Ok(StorageEngine::Embedded)),
            (&["--storage=memory"], Ok(StorageEngine::Memory)),
            (&["--storage=etcd", "--etcd-servers=http://a:2379"], etcd("--etcd-servers")),
            (&["--etcd-servers=http://a:2379"], etcd("--etcd-servers")),
            (&["--storage=memory", "--etcd-prefix=/x"], Err("--etcd-prefix goes with --storage=etcd".into())),
        ] {
            let Ok(Outcome::Start(flags)) = Flags::read(arguments.iter().copied()) else {
                panic!("{arguments:?}")
            };
            assert_eq!(choose(&flags), expected, "{arguments:?}");
        }
    }
}
