//! What one write of a service takes and gives up, until its outcome is known.

use std::net::IpAddr;

use apiwright_meta::Status;
use apiwright_registry::{Fate, Held};
use futures::future::BoxFuture;

use super::addresses::Addresses;
use super::ports::Operation;

/// The addresses and ports of a write under way. What was taken goes back when this is dropped.
pub(super) struct Taken {
    addresses: Addresses,
    fresh: Vec<IpAddr>,
    given_up: Vec<IpAddr>,
    /// The node ports.
    pub(super) ports: Operation,
    /// Whether nothing is really taken.
    pub(super) dry_run: bool,
}

impl Taken {
    /// Nothing yet.
    pub(super) fn new(addresses: Addresses, ports: Operation, dry_run: bool) -> Self {
        Self { addresses, fresh: Vec::new(), given_up: Vec::new(), ports, dry_run }
    }

    /// Notes an address that was taken.
    pub(super) fn add(&mut self, address: IpAddr) {
        if !self.dry_run {
            self.fresh.push(address);
        }
    }

    /// Notes addresses that go back once the write has happened.
    pub(super) fn give_up(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        if !self.dry_run {
            self.given_up.extend(addresses);
        }
    }

    /// Gives everything back for a write that cannot be.
    pub(super) async fn refused(self, why: Box<Status>) -> Box<Status> {
        Box::new(self).settle(Fate::Failed).await;
        why
    }
}

impl Held for Taken {
    fn settle(mut self: Box<Self>, fate: Fate) -> BoxFuture<'static, ()> {
        let (taken, given_up) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.given_up));
        let back = match fate {
            Fate::Kept => {
                self.ports.keep();
                given_up
            }
            Fate::Failed => taken,
            Fate::Unknown => {
                self.ports.forget();
                Vec::new()
            }
        };
        let addresses = self.addresses.clone();
        drop(self);
        Box::pin(async move { give_back(&addresses, back).await })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.fresh);
        if taken.is_empty() {
            return;
        }
        let addresses = self.addresses.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { give_back(&addresses, taken).await });
        }
    }
}

async fn give_back(addresses: &Addresses, back: Vec<IpAddr>) {
    for address in back {
        addresses.give_back(address).await;
    }
}
