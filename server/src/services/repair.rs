//! What the stored services have, found at the start; and what is lost or left over, mended.
//!
//! A process that ends between two writes leaves an `IPAddress` without a service; data of other
//! servers may hold services without `IPAddresses`.

use std::net::IpAddr;
use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use apiwright_registry::store::{Freshness, Paging, Selection};
use apiwright_storage::Entry;

use super::addresses::{MANAGED_BY, MANAGER, Owner, Refusal};
use super::spec::Spec;
use super::{Services, node_ports as ports_of};

/// How old an `IPAddress` is before it counts as left over: its service is written after it.
const LEFT_OVER_SECONDS: i64 = 60;

/// The node ports that stored services have. Services without any are not decoded.
///
/// # Errors
/// Where storage fails.
pub(super) async fn node_ports(services: &Store) -> Result<Vec<i64>> {
    let has_ports = |entry: &&Arc<Entry>| {
        let has = |what: &[u8]| entry.value.windows(what.len()).any(|part| part == what);
        has(b"odePort\":")
    };
    let list = all(services).await?;
    let mut ports = Vec::new();
    for entry in list.iter().filter(has_ports) {
        ports.extend(ports_of::of(&services.decode(entry)?));
    }
    Ok(ports)
}

impl Services {
    /// Makes the `IPAddresses` that are missing and deletes those that are left over; so with the node ports that
    /// servers share.
    ///
    /// # Errors
    /// Where storage fails.
    pub async fn repair(&self) -> Result<()> {
        self.ports().await?;
        if let Some(book) = &self.book {
            let held = node_ports(&self.store).await?;
            book.note(&held).await?;
            book.drop_lost(&held).await?;
        }
        for entry in all(&self.store).await? {
            let service = self.store.decode(&entry)?;
            for address in Spec::of(&service).addresses() {
                self.mend(&service, address).await;
            }
        }
        for entry in all(&self.addresses.records).await? {
            let record = self.addresses.records.decode(&entry)?;
            if let Some(address) = self.left_over(&record).await? {
                tracing::info!(%address, "an address without a service is free again");
                self.addresses.give_back(address).await;
            }
        }
        Ok(())
    }

    async fn mend(&self, service: &Value, address: IpAddr) {
        let owner = Owner { namespace: object::namespace(service), name: object::name(service) };
        let made = match self.addresses.is_taken(address).await {
            Ok(false) => self.addresses.record(owner, address).await,
            Ok(true) => return,
            Err(why) => Err(why),
        };
        match made {
            Ok(()) => {
                tracing::info!(%address, owner.namespace, owner.name, "a service's address is noted again");
            }
            Err(Refusal::Taken) => {}
            Err(why) => tracing::warn!(%address, %why, "cannot note a service's address"),
        }
    }

    /// The address of a record that no service has, where it was not made just now.
    async fn left_over(&self, record: &Value) -> Result<Option<IpAddr>> {
        let parent = |member: &str| record.text_at(&["spec", "parentRef", member]);
        let created = object::creation_timestamp(record).and_then(|moment| Time::parse(moment).ok());
        let old = created.is_some_and(|created| Time::now().seconds - created.seconds > LEFT_OVER_SECONDS);
        let own = object::label(record, MANAGED_BY) == Some(MANAGER) && parent("resource") == "services";
        let Some(address) = object::name(record).parse().ok().filter(|_| own && old) else { return Ok(None) };
        match self.store.get(parent("namespace"), parent("name"), Freshness::Latest).await {
            Ok(entry) => {
                let service = self.store.decode(&entry)?;
                Ok((!Spec::of(&service).addresses().contains(&address)).then_some(address))
            }
            Err(status) if status.reason == Some(Reason::NotFound) => Ok(Some(address)),
            Err(status) => Err(status),
        }
    }
}

async fn all(store: &Store) -> Result<Vec<Arc<Entry>>> {
    Ok(store.list(&Selection::default(), Freshness::Latest, &Paging::default()).await?.entries)
}
