//! Cluster addresses: an `IPAddress` object is the reservation, `ServiceCIDR` objects are the ranges.
//!
//! Invariant: who could create the `IPAddress` has the address. Both kinds are read when they are
//! needed, so that a changed range counts for the very next service.

use std::net::IpAddr;
use std::sync::Arc;

use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::{Reason, Result};
use apiwright_registry::Store;
use apiwright_registry::store::{DeleteOptions, Freshness, Paging, Selection, WriteOptions};
use apiwright_storage::Entry;

use super::range::Range;
use crate::bootstrap::{Unchecked, own};

/// Who makes `IPAddresses`: `ipaddress.kubernetes.io/managed-by`.
pub(super) const MANAGER: &str = "ipallocator.k8s.io";
/// The label that tells it.
pub(super) const MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";

/// The two kinds.
#[derive(Clone)]
pub(super) struct Addresses {
    /// `ipaddresses`.
    pub(super) records: Arc<Store>,
    /// `servicecidrs`.
    pub(super) ranges: Arc<Store>,
}

/// The service that an address is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    /// Its namespace.
    pub(super) namespace: &'a str,
    /// Its name.
    pub(super) name: &'a str,
}

/// Why there is no address.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is another service's.
    Taken,
    /// It is in no range.
    OutOfRange,
    /// All are taken.
    Full,
    /// Storage failed, or the `IPAddress` was refused.
    Failed(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Taken => "provided IP is already allocated",
            Self::OutOfRange => "the provided network does not match the current range",
            Self::Full => "range is full",
            Self::Failed(why) => why,
        })
    }
}

impl Addresses {
    /// Takes an address that the writer named.
    ///
    /// # Errors
    /// Why it cannot have it.
    pub(super) async fn take(&self, owner: Owner<'_>, address: IpAddr, dry_run: bool) -> Result<(), Refusal> {
        if !self.ready().await?.iter().any(|range| range.contains(address)) {
            return Err(Refusal::OutOfRange);
        }
        if dry_run { Ok(()) } else { self.record(owner, address).await }
    }

    /// Takes any address of a family. A dry run gets one that is no service's.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn take_any(
        &self,
        owner: Owner<'_>,
        six: bool,
        dry_run: bool,
    ) -> Result<IpAddr, Refusal> {
        let ranges = self.ready().await?;
        for range in ranges.iter().filter(|range| range.is_six() == six) {
            if dry_run {
                return Ok(range.network());
            }
            for address in range.candidates() {
                if self.is_taken(address).await? {
                    continue;
                }
                match self.record(owner, address).await {
                    Ok(()) => return Ok(address),
                    // Somebody else was faster.
                    Err(Refusal::Taken) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        Err(Refusal::Full)
    }

    /// Gives an address back. What fails is found and mended at the next start.
    pub(super) async fn give_back(&self, address: IpAddr) {
        let options = DeleteOptions::default();
        let deleted = self.records.delete(&writer(), "", &address.to_string(), &options, &Unchecked).await;
        if let Err(status) = deleted
            && status.reason != Some(Reason::NotFound)
        {
            tracing::warn!(%address, why = status.message, "cannot give an address back");
        }
    }

    /// Notes whose an address is.
    ///
    /// # Errors
    /// Where it is another's already, or storage fails.
    pub(super) async fn record(&self, owner: Owner<'_>, address: IpAddr) -> Result<(), Refusal> {
        let mut object = ip_address(owner, address);
        own(&self.records.resource, &mut object);
        let created = self.records.create(&writer(), "", object, &Unchecked).await;
        match created {
            Ok(_) => Ok(()),
            Err(status) if status.reason == Some(Reason::AlreadyExists) => Err(Refusal::Taken),
            Err(status) => Err(Refusal::Failed(status.message)),
        }
    }

    /// Whether somebody has the address.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn is_taken(&self, address: IpAddr) -> Result<bool, Refusal> {
        match self.records.get("", &address.to_string(), Freshness::Latest).await {
            Ok(_) => Ok(true),
            Err(status) if status.reason == Some(Reason::NotFound) => Ok(false),
            Err(status) => Err(Refusal::Failed(status.message)),
        }
    }

    /// The ranges that addresses may be taken from now.
    async fn ready(&self) -> Result<Vec<Range>, Refusal> {
        let list = self.ranges.list(&Selection::default(), Freshness::Latest, &Paging::default()).await;
        let list = list.map_err(|status| Refusal::Failed(status.message))?;
        Ok(list.entries.iter().flat_map(|entry| self.ranges_of(entry)).collect())
    }

    fn ranges_of(&self, entry: &Arc<Entry>) -> Vec<Range> {
        let Ok(object) = self.ranges.decode(entry) else { return Vec::new() };
        if !is_ready(&object) {
            return Vec::new();
        }
        let cidrs = object.at(&["spec", "cidrs"]).and_then(Value::as_array);
        cidrs.into_iter().flatten().filter_map(|cidr| Range::parse(cidr.as_str()?)).collect()
    }
}

/// Whether a `ServiceCIDR` gives addresses: not when it goes, nor when a controller says so.
fn is_ready(range: &Value) -> bool {
    let conditions = range.at(&["status", "conditions"]).and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|one| one.text_at(&["type"]) == "Ready");
    object::deletion_timestamp(range).is_none() && ready.is_none_or(|one| one.text_at(&["status"]) == "True")
}

fn writer() -> WriteOptions {
    WriteOptions { user: "system:apiserver".into(), ..WriteOptions::default() }
}

fn ip_address(owner: Owner<'_>, address: IpAddr) -> Value {
    let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    let labels: Object = [(FAMILY, family), (MANAGED_BY, MANAGER)].into_iter().collect();
    let metadata: Object =
        [("name", Value::from(address.to_string())), ("labels", labels.into())].into_iter().collect();
    let parent: Object = [("resource", "services"), ("namespace", owner.namespace), ("name", owner.name)]
        .into_iter()
        .collect();
    let spec: Object = [("parentRef", parent)].into_iter().collect();
    [
        ("kind", Value::from("IPAddress")),
        ("apiVersion", "networking.k8s.io/v1".into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ]
    .into_iter()
    .collect::<Object>()
    .into()
}
