//! What one write of a service takes and gives up, until its outcome is known.

use std::net::IpAddr;
use std::sync::Arc;

use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_registry::{Fate, Held};
use futures::future::BoxFuture;

use super::addresses::Addresses;
use super::book::Book;
use super::ports::Operation;

/// The addresses and ports of a write under way. What was taken goes back when this is dropped.
pub(super) struct Taken {
    addresses: Addresses,
    fresh: Vec<IpAddr>,
    given_up: Vec<IpAddr>,
    /// The node ports.
    pub(super) ports: Operation,
    /// Where the ports that it took are noted, if servers share them.
    noted: Option<(Arc<Book>, Vec<i64>)>,
    /// Whether nothing is really taken.
    pub(super) dry_run: bool,
}

impl Taken {
    /// Nothing yet.
    pub(super) fn new(addresses: Addresses, ports: Operation, dry_run: bool) -> Self {
        Self { addresses, fresh: Vec::new(), given_up: Vec::new(), ports, noted: None, dry_run }
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

    /// Notes the ports for the other servers. `false` where one of them was faster.
    ///
    /// # Errors
    /// Where storage fails.
    pub(super) async fn note(&mut self, book: &Arc<Book>) -> Result<bool> {
        if self.dry_run {
            return Ok(true);
        }
        let ports = self.ports.taken();
        let done = ports.is_empty() || book.take(ports).await?;
        if done {
            self.noted = Some((Arc::clone(book), ports.to_vec()));
        }
        Ok(done)
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
        let noted = self.noted.take();
        let (back, noted) = match fate {
            Fate::Kept => {
                let noted = noted.map(|(book, _)| (book, self.ports.given_up().to_vec()));
                self.ports.keep();
                (given_up, noted)
            }
            Fate::Failed => (taken, noted),
            Fate::Unknown => {
                self.ports.forget();
                (Vec::new(), None)
            }
        };
        let addresses = self.addresses.clone();
        drop(self);
        Box::pin(async move { give_back(&addresses, back, noted).await })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let (taken, noted) = (std::mem::take(&mut self.fresh), self.noted.take());
        if taken.is_empty() && noted.is_none() {
            return;
        }
        let addresses = self.addresses.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { give_back(&addresses, taken, noted).await });
        }
    }
}

async fn give_back(addresses: &Addresses, back: Vec<IpAddr>, ports: Option<(Arc<Book>, Vec<i64>)>) {
    for address in back {
        addresses.give_back(address).await;
    }
    if let Some((book, ports)) = ports.filter(|(_, ports)| !ports.is_empty()) {
        book.release(&ports).await;
    }
}
