//! `kms`, version 2: a plugin outside keeps the key that seals the seed that seals values.
//!
//! One seed seals all values until the plugin changes its key; each value gets a key of its own, derived from the
//! seed and random bytes that lie in front of it. Seeds that the plugin has opened are kept, so that it is
//! asked once for each. Invariant: a seed that the plugin has not vouched for within three minutes seals nothing.

mod envelope;
mod service;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::aes_gcm::AesGcm;
use crate::random;
use crate::transform::{Cipher, Fault, Opened, Transform};
use envelope::{Envelope, SeedKind, Seeded, hash};
use service::{Service, Status};

/// How often a plugin that is well is asked, and one that is not.
const WELL: Duration = Duration::from_mins(1);
const ILL: Duration = Duration::from_secs(10);
/// How long a seed seals after the plugin has last said that its key is still the same.
const SEED_SECONDS_MAX: u64 = 180;
/// How long what a plugin said of itself is repeated to health checks.
const SAID_WELL: Duration = Duration::from_secs(20);
const SAID_ILL: Duration = Duration::from_secs(3);
/// How many seeds are kept.
const SEEDS_MAX: usize = 10_000;

/// A plugin, by its socket.
pub(crate) struct Plugin(Arc<Inner>, Mutex<Option<JoinHandle<()>>>);

struct Inner {
    name: String,
    service: Service,
    /// What seals.
    seal: ArcSwapOption<Seal>,
    /// What opens, by what the plugin sealed it into.
    seeds: Mutex<HashMap<Vec<u8>, Arc<dyn Cipher>>>,
    /// What the last check came to, and when.
    said: Mutex<Option<(Instant, Result<(), String>)>>,
    /// The version that it first said it speaks.
    version: Mutex<Option<String>>,
}

/// A seed that seals.
struct Seal {
    cipher: Arc<dyn Cipher>,
    envelope: Envelope,
    until: Mutex<Instant>,
}

impl Plugin {
    /// Nobody is asked yet.
    pub(crate) fn new(name: &str, endpoint: &str, timeout: Duration) -> Self {
        Self(
            Arc::new(Inner {
                name: name.to_owned(),
                service: Service::new(endpoint, timeout),
                seal: ArcSwapOption::empty(),
                seeds: Mutex::default(),
                said: Mutex::default(),
                version: Mutex::default(),
            }),
            Mutex::new(None),
        )
    }

    /// Asks for a key, and keeps asking whether it is still the same.
    pub(crate) async fn start(&self) {
        let mut is_well = self.0.probe().await;
        let inner = Arc::clone(&self.0);
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(if is_well { WELL } else { ILL }).await;
                is_well = inner.probe().await;
            }
        });
        *self.1.lock() = Some(task);
    }

    /// Whether it is well, as it said a moment ago or says now.
    pub(crate) async fn check(&self) -> Result<(), String> {
        let said = self.0.said.lock().clone();
        if let Some((at, outcome)) = said
            && at.elapsed() < if outcome.is_ok() { SAID_WELL } else { SAID_ILL }
        {
            return outcome;
        }
        self.0.ask().await
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        if let Some(task) = self.1.lock().take() {
            task.abort();
        }
    }
}

impl Inner {
    async fn probe(&self) -> bool {
        match self.ask().await {
            Ok(()) => true,
            Err(why) => {
                tracing::error!(name = self.name, %why, "kms plugin failed health check probe");
                false
            }
        }
    }

    async fn ask(&self) -> Result<(), String> {
        let outcome = match self.service.status().await {
            Ok(status) => self
                .take(&status)
                .await
                .map_err(|why| format!("kmsv2 Provider {} is not healthy, error: {why}", self.name)),
            Err(why) => Err(format!(
                "failed to perform status section of the healthz check for KMS Provider {}, error: {why}",
                self.name
            )),
        };
        *self.said.lock() = Some((Instant::now(), outcome.clone()));
        outcome
    }

    /// What the plugin says of itself.
    async fn take(&self, status: &Status) -> Result<(), String> {
        let mut faults = Vec::new();
        if status.healthz != "ok" {
            faults.push(format!("got unexpected healthz status: {}", status.healthz));
        }
        if matches!(status.version.as_str(), "v2" | "v2beta1") {
            let mut known = self.version.lock();
            let first = known.get_or_insert_with(|| status.version.clone());
            if *first != status.version {
                faults.push(format!(
                    "KMSv2 API version should not change after the initial status response version {first}, got {}",
                    status.version
                ));
            }
        } else {
            faults.push(format!("expected KMSv2 API version v2, got {}", status.version));
        }
        match envelope::check_key_id(&status.key_id) {
            Err(why) => {
                faults.push(format!("got invalid KMSv2 KeyID hash {:?}: {why}", hash(&status.key_id)));
            }
            Ok(()) => faults.extend(self.rotate(&status.key_id).await.err()),
        }
        match faults.as_slice() {
            [] => Ok(()),
            [only] => Err(only.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    /// Goes on with the seed, or takes another one where the plugin has another key.
    async fn rotate(&self, key_id: &str) -> Result<(), String> {
        // Before anybody is asked: the limit is the longest that it can be.
        let until = Instant::now() + Duration::from_secs(SEED_SECONDS_MAX);
        let current = self.seal.load_full();
        if let Some(seal) = current.filter(|seal| seal.envelope.key_id == key_id) {
            *seal.until.lock() = until;
            return Ok(());
        }
        let failed = |why: String| format!("failed to rotate DEK uid={:?}, errGen={why}", "");
        let seed = random::bytes::<{ envelope::SEED_BYTES }>().map_err(|fault| failed(fault.text))?;
        let uid = Uuid::new_v4().to_string();
        let answer = self.service.encrypt(&uid, seed.to_vec()).await;
        let answer = answer.map_err(|why| failed(format!("failed to encrypt DEK, error: {why}")))?;
        let envelope = Envelope {
            encrypted_data: Vec::new(),
            key_id: answer.key_id,
            encrypted_dek_source: answer.ciphertext,
            annotations: answer.annotations,
            encrypted_dek_source_type: SeedKind::HkdfSha256XnonceAesGcmSeed as i32,
        };
        envelope.check_all_but_data().map_err(failed)?;
        if envelope.key_id != key_id {
            let (status, sealed) = (hash(key_id), hash(&envelope.key_id));
            return Err(format!(
                "failed to rotate DEK uid={uid:?}, statusKeyIDHash={status:?}, encryptKeyIDHash={sealed:?}"
            ));
        }
        let cipher: Arc<dyn Cipher> = Arc::new(Seeded::new(seed.to_vec()).map_err(failed)?);
        self.keep(envelope.fingerprint(), Arc::clone(&cipher));
        self.seal.store(Some(Arc::new(Seal { cipher, envelope, until: Mutex::new(until) })));
        Ok(())
    }

    fn keep(&self, fingerprint: Vec<u8>, cipher: Arc<dyn Cipher>) {
        let mut seeds = self.seeds.lock();
        if seeds.len() >= SEEDS_MAX {
            seeds.clear();
        }
        seeds.insert(fingerprint, cipher);
    }

    async fn open(&self, sealed: &[u8], place: &str) -> Result<Opened, Fault> {
        let envelope = Envelope::read(sealed).map_err(Fault::lasting)?;
        let fingerprint = envelope.fingerprint();
        let known = self.seeds.lock().get(&fingerprint).cloned();
        let cipher = match known {
            Some(cipher) => cipher,
            None => {
                let uid = Uuid::new_v4().to_string();
                let key = self.service.decrypt(&uid, &envelope).await;
                let key =
                    key.map_err(|why| Fault::passing(format!("failed to decrypt DEK, error: {why}")))?;
                let cipher = cipher_of(&envelope, key).map_err(Fault::lasting)?;
                self.keep(fingerprint, Arc::clone(&cipher));
                cipher
            }
        };
        let value = cipher.decrypt(&envelope.encrypted_data, place)?;
        let is_stale = self.seal.load().as_ref().is_none_or(|seal| {
            seal.envelope.key_id != envelope.key_id
                || seal.envelope.encrypted_dek_source_type != envelope.encrypted_dek_source_type
        });
        Ok(Opened { value, is_stale })
    }
}

fn cipher_of(envelope: &Envelope, key: Vec<u8>) -> Result<Arc<dyn Cipher>, String> {
    if envelope.encrypted_dek_source_type == SeedKind::HkdfSha256XnonceAesGcmSeed as i32 {
        return Ok(Arc::new(Seeded::new(key)?));
    }
    match AesGcm::new(&key) {
        Some(cipher) => Ok(Arc::new(cipher)),
        None => Err(format!("crypto/aes: invalid key size {}", key.len())),
    }
}

impl Transform for Plugin {
    fn seal(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let Some(seal) = self.0.seal.load_full() else {
            return Err(Fault::passing("got unexpected nil transformer"));
        };
        if Instant::now() > *seal.until.lock() {
            let hash = hash(&seal.envelope.key_id);
            return Err(Fault::passing(format!("encryptedDEKSource with keyID hash {hash:?} expired")));
        }
        let encrypted_data = seal.cipher.encrypt(value, place)?;
        Ok(Envelope { encrypted_data, ..seal.envelope.clone() }.written())
    }

    fn open<'a>(&'a self, sealed: &'a [u8], place: &'a str) -> BoxFuture<'a, Result<Opened, Fault>> {
        Box::pin(self.0.open(sealed, place))
    }
}
