//! The node ports that are taken, written down where every server of a store sees them.
//!
//! It is one entry, in the form of upstream's allocator: a bit per port of the range. Every change compares
//! with what was read, so two servers cannot give one port away.
//! Absence: servers that have their store to themselves know their ports without it.

use std::sync::{Arc, Mutex, PoisonError};

use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_storage::{At, Change, Entry, Error, Expect, Key, Outcome, Storage};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::flags::values::PortRange;

/// Where upstream has it.
const KEY: &str = "/registry/ranges/servicenodeports";
/// How often a port is seen without a service before it counts as lost: services are written after their ports.
const SEEN_MAX: u32 = 3;

/// The ports of a range that the servers of a store share.
pub(super) struct Book {
    storage: Arc<dyn Storage>,
    range: PortRange,
    /// Ports without a service, and how often they were seen so.
    lost: Mutex<Vec<(i64, u32)>>,
}

impl Book {
    /// The book that a store has.
    pub(super) fn new(storage: Arc<dyn Storage>, range: PortRange) -> Self {
        Self { storage, range, lost: Mutex::default() }
    }

    /// The ports that are taken.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn read(&self) -> Result<Vec<i64>> {
        let (_, entry) = self.storage.get(KEY, At::Latest).await.map_err(|why| failed(&why))?;
        Ok(entry.map_or_else(Vec::new, |entry| ports(&entry)))
    }

    /// Takes all of these ports or, where one of them has been taken meanwhile, none.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn take(&self, wanted: &[i64]) -> Result<bool> {
        self.change(|taken| {
            let free = wanted.iter().all(|port| !taken.contains(port));
            free.then(|| taken.extend(wanted)).is_some()
        })
        .await
    }

    /// Notes ports that services have.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn note(&self, held: &[i64]) -> Result<()> {
        let missing = |taken: &mut Vec<i64>| {
            let missing: Vec<i64> = held.iter().filter(|port| !taken.contains(port)).copied().collect();
            taken.extend(&missing);
            !missing.is_empty()
        };
        self.change(missing).await.map(drop)
    }

    /// Gives ports back.
    pub(super) async fn release(&self, given: &[i64]) {
        let keep = |taken: &mut Vec<i64>| {
            let before = taken.len();
            taken.retain(|port| !given.contains(port));
            taken.len() != before
        };
        if let Err(why) = self.change(keep).await {
            // The repair finds them.
            tracing::warn!(why = why.message, ?given, "node ports are not given back");
        }
    }

    /// Gives back what no service has had for some repairs.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn drop_lost(&self, held: &[i64]) -> Result<()> {
        let without: Vec<i64> = self.read().await?.into_iter().filter(|port| !held.contains(port)).collect();
        let gone: Vec<i64> = {
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = |port: i64| lost.iter().find(|(one, _)| *one == port).map_or(0, |(_, seen)| *seen);
            let counted: Vec<(i64, u32)> = without.iter().map(|port| (*port, seen(*port) + 1)).collect();
            let (gone, rest) = counted.into_iter().partition::<Vec<_>, _>(|(_, seen)| *seen >= SEEN_MAX);
            *lost = rest;
            gone.into_iter().map(|(port, _)| port).collect()
        };
        if !gone.is_empty() {
            tracing::info!(?gone, "node ports without a service are free again");
            self.release(&gone).await;
        }
        Ok(())
    }

    /// Compares and writes until nobody was faster. `false` where the work says that there is nothing to write.
    async fn change(&self, work: impl Fn(&mut Vec<i64>) -> bool) -> Result<bool> {
        let (_, mut entry) = self.storage.get(KEY, At::Latest).await.map_err(|why| failed(&why))?;
        loop {
            let mut taken = entry.as_deref().map_or_else(Vec::new, ports);
            if !work(&mut taken) {
                return Ok(false);
            }
            let expect = entry.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
            let value = encode(self.range, &taken).into_bytes().into();
            let change = Change::Put { value, ttl_seconds: None };
            let outcome = self.storage.commit(Key::from(KEY), expect, change).await;
            match outcome.map_err(|why| failed(&why))? {
                Outcome::Done { .. } => return Ok(true),
                Outcome::Mismatch { current, .. } => entry = current,
            }
        }
    }
}

fn failed(why: &Error) -> Box<Status> {
    Status::internal(format!("cannot read or write the node ports that are taken: {why}"))
}

/// The ports of an entry. What cannot be read holds none: the repair notes those of the services again.
fn ports(entry: &Entry) -> Vec<i64> {
    decode(&entry.value).unwrap_or_default()
}

fn decode(text: &[u8]) -> Option<Vec<i64>> {
    let (value, _) = apiwright_json::decode(text).ok()?;
    let range = PortRange::parse(value.text_at(&["range"])).ok()?;
    let bits = STANDARD.decode(value.text_at(&["data"])).ok()?;
    // The last byte has the first ports, its lowest bit the very first.
    let set = |at: &usize| bits[bits.len() - 1 - at / 8] >> (at % 8) & 1 == 1;
    let at = (0..bits.len() * 8).filter(set);
    Some(at.map(|at| i64::from(range.first) + at as i64).collect())
}

fn encode(range: PortRange, taken: &[i64]) -> String {
    let PortRange { first, last } = range;
    let mut bits = vec![0_u8; usize::from(last - first) / 8 + 1];
    let size = bits.len();
    let within = taken.iter().filter_map(|port| u16::try_from(*port).ok());
    for port in within.filter(|port| (first..=last).contains(port)) {
        let at = usize::from(port - first);
        bits[size - 1 - at / 8] |= 1 << (at % 8);
    }
    let leading = bits.iter().take_while(|byte| **byte == 0).count();
    let object: Value = [
        ("kind", "RangeAllocation"),
        ("apiVersion", "v1"),
        ("range", &format!("{first}-{last}")),
        ("data", &STANDARD.encode(&bits[leading..])),
    ]
    .into_iter()
    .collect::<apiwright_json::Object>()
    .into();
    apiwright_json::encode::to_string(&object)
}

#[cfg(test)]
mod tests {
    use apiwright_storage_embedded::{Embedded, Options};

    use super::*;

    const RANGE: PortRange = PortRange { first: 30_000, last: 30_020 };

    #[test]
    fn a_bit_per_port() {
        let table: [(&[i64], &[i64], &str); 4] = [
            (&[], &[], ""),
            (&[30_000], &[30_000], "AQ=="),
            (&[30_009, 30_000], &[30_000, 30_009], "AgE="),
            (&[7, 30_020, 30_021], &[30_020], "EAAA"),
        ];
        for (taken, back, data) in table {
            let text = encode(RANGE, taken);
            assert!(text.contains(&format!("\"data\":\"{data}\"")), "{text}");
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(back), "{text}");
        }
        assert_eq!(decode(b"k8s\0..."), None);
    }

    #[tokio::test]
    async fn what_one_takes_the_other_cannot() {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        let (one, other) = (Book::new(Arc::clone(&storage), RANGE), Book::new(storage, RANGE));
        assert!(one.take(&[30_001, 30_002]).await.unwrap());
        assert!(!other.take(&[30_002, 30_003]).await.unwrap());
        assert_eq!(other.read().await.unwrap(), [30_001, 30_002]);
        one.release(&[30_002]).await;
        assert!(other.take(&[30_002, 30_003]).await.unwrap());
        // 30001 and 30003 are services', 30002 is lost.
        for round in 0..SEEN_MAX {
            assert!(one.read().await.unwrap().contains(&30_002), "{round}");
            one.drop_lost(&[30_001, 30_003]).await.unwrap();
        }
        assert_eq!(one.read().await.unwrap(), [30_001, 30_003]);
    }
}
