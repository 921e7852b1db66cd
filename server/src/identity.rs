//! This server's lease in `kube-system`: which servers a control plane has, and that they live.
//!
//! As kube-apiserver's: one a host, by a hash of its name, renewed every ten seconds. The leases of hosts
//! that are gone are the `identity-lease-cleanup` controller's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_controllers::{Identity, Writer};
use apiwright_json::Value;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use apiwright_registry::typed::{self, MicroTimestamp};
use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};
use tracing::warn;
use uuid::Uuid;

use crate::generated::typed::coordination_v1::Lease;

const NAMESPACE: &str = "kube-system";
const INTERVAL: Duration = Duration::from_secs(10);
const LEASE_SECONDS: i32 = 3600;
/// How much of the hash is in the name.
const HASH_BYTES: usize = 16;

/// Renews the lease until the drain begins.
pub(crate) async fn keep(leases: Arc<Store>, mut drain: Drain) {
    let host = Host::of(&hostname());
    loop {
        if let Err(why) = host.renew(&leases).await {
            warn!(lease = host.name, why = why.message, "cannot renew the identity lease");
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = drain.begun() => return,
        }
    }
}

/// What this machine is called.
pub(crate) fn hostname() -> String {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let name = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname")).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "apiwright".to_owned() } else { name.to_owned() }
}

struct Host {
    name: String,
    holder: String,
    hostname: String,
    writer: Writer,
}

impl Host {
    fn of(hostname: &str) -> Self {
        let hash = BASE32_NOPAD.encode(&Sha256::digest(hostname)[..HASH_BYTES]).to_lowercase();
        let name = format!("apiserver-{hash}");
        let holder = format!("{name}_{}", Uuid::new_v4());
        Self { holder, name, hostname: hostname.to_owned(), writer: Identity::API_SERVER.unasked() }
    }

    async fn renew(&self, leases: &Store) -> Result<()> {
        let renew = |value: &mut Value| {
            let mut lease = typed::read(value)?;
            self.fill(&mut lease, Time::now());
            *value = typed::write(&lease)?;
            Ok(())
        };
        match self.writer.update(leases, (NAMESPACE, &self.name), "", renew).await {
            Err(status) if status.reason == Some(Reason::NotFound) => {
                let mut lease = Lease::default();
                self.fill(&mut lease, Time::now());
                self.writer.create(leases, NAMESPACE, typed::write(&lease)?).await.map(drop)
            }
            renewed => renewed.map(drop),
        }
    }

    fn fill(&self, lease: &mut Lease, now: Time) {
        lease.metadata.name.clone_from(&self.name);
        lease.metadata.labels.append(&mut BTreeMap::from([
            ("apiserver.kubernetes.io/identity".to_owned(), "kube-apiserver".to_owned()),
            ("kubernetes.io/hostname".to_owned(), self.hostname.clone()),
        ]));
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.holder.clone());
        spec.lease_duration_seconds = Some(LEASE_SECONDS);
        spec.renew_time = Some(MicroTimestamp(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_says_who_holds_it_and_since_when() {
        let host = Host::of("node-1");
        assert_eq!(host.name.len(), "apiserver-".len() + 26);
        assert!(host.holder.starts_with(&format!("{}_", host.name)));
        assert_eq!(host.name, Host::of("node-1").name, "a host keeps its name");
        assert_ne!(host.name, Host::of("node-2").name);
        let mut lease = Lease::default();
        lease.metadata.labels.insert("kept".into(), "yes".into());
        host.fill(&mut lease, Time::from_unix(1));
        let written = typed::write(&lease).unwrap();
        let mut text = Vec::new();
        apiwright_json::to_bytes(&written, &mut text);
        let want = format!(
            r#"{{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{{"name":"{}","labels":{{"apiserver.kubernetes.io/identity":"kube-apiserver","kept":"yes","kubernetes.io/hostname":"node-1"}}}},"spec":{{"holderIdentity":"{}","leaseDurationSeconds":3600,"renewTime":"1970-01-01T00:00:01.000000Z"}}}}"#,
            host.name, host.holder
        );
        assert_eq!(String::from_utf8(text).unwrap(), want);
        assert_eq!(typed::read::<Lease>(&written), Ok(lease));
    }
}
