//! The endpoints of the service `kubernetes`: which servers serve now.

mod membership;
mod wanted;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use apiwright_controllers::{Change, Next, Queue, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;
use apiwright_registry::store::DeleteOptions;
use apiwright_storage::{At, Range};

use super::look_up;
use crate::generated::controllers::kubernetes_endpoints::{Controller, Endpoints, Facts, Slice};
pub use membership::{Membership, Rule};
use wanted::{Wanted, is_of_service};

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// Keeps them.
pub(super) struct KubernetesEndpoints {
    pub(super) endpoints: Arc<Store>,
    pub(super) slices: Arc<Store>,
    pub(super) membership: Arc<Membership>,
    pub(super) writer: Writer,
    /// The first address of the services' first range, whose family the endpoints are of.
    pub(super) family: IpAddr,
}

/// What there should be.
pub(super) struct Observed {
    wanted: Wanted,
    /// The names of slices that should not be.
    strays: Vec<String>,
}

impl KubernetesEndpoints {
    /// The slices of the service.
    async fn slices(&self) -> Result<Vec<Value>> {
        let key = self.slices.key(NAMESPACE, NAME)?;
        let prefix = key.strip_suffix(NAME).unwrap_or(&key);
        let page = self.slices.storage.range(Range { prefix, after: None, limit: 0, at: At::Latest }).await;
        let page = page.map_err(membership::unavailable)?;
        let of_service = page.entries.iter().filter(|entry| is_of_service(self.slices.facts(entry)));
        of_service.map(|entry| self.slices.decode(entry)).collect()
    }
}

impl Controller for KubernetesEndpoints {
    type Observed = Observed;

    async fn observe(&self, _key: &str) -> Result<(Facts, Observed)> {
        let server = self.membership.server();
        let lease = self.membership.lease().await?;
        let endpoints = look_up::object(&self.endpoints, NAMESPACE, NAME).await?;
        let all = self.slices().await?;
        let ours = |slice: &&Value| wanted::is_ours(slice, self.family);
        let slice = all.iter().find(ours);
        let members = self.membership.members(slice).await?;
        let wanted =
            Wanted::new(&members, self.membership.alone(&members), self.membership.port, self.family);
        let strays: Vec<String> = all
            .iter()
            .filter(|slice| !ours(slice))
            .map(|one| apiwright_meta::object::name(one).to_owned())
            .collect();
        let facts = Facts {
            server,
            lease,
            endpoints: match &endpoints {
                None => Endpoints::Absent,
                Some(one) if wanted.are_endpoints(one) => Endpoints::Current,
                Some(_) => Endpoints::Other,
            },
            slice: match slice {
                None => Slice::Absent,
                Some(one) if wanted.is_slice(one) => Slice::Current,
                Some(_) => Slice::Other,
            },
            strays: !strays.is_empty(),
        };
        Ok((facts, Observed { wanted, strays }))
    }

    async fn renew(&self, _key: &str, _observed: Observed) -> Result<Next> {
        self.membership.renew().await?;
        Ok(AT_ONCE)
    }

    async fn resign(&self, _key: &str, _observed: Observed) -> Result<Next> {
        self.membership.resign().await?;
        Ok(AT_ONCE)
    }

    async fn create_endpoints(&self, _key: &str, observed: Observed) -> Result<Next> {
        let made = self.writer.create(&self.endpoints, NAMESPACE, observed.wanted.endpoints()).await;
        look_up::unless(made, Reason::AlreadyExists).map(|()| AT_ONCE)
    }

    async fn update_endpoints(&self, _key: &str, observed: Observed) -> Result<Next> {
        let set = |value: &mut Value| {
            observed.wanted.set_endpoints(value);
            Ok(())
        };
        let set = self.writer.update(&self.endpoints, (NAMESPACE, NAME), "", set).await;
        look_up::unless(set, Reason::NotFound).map(|()| AT_ONCE)
    }

    async fn delete_strays(&self, _key: &str, observed: Observed) -> Result<Next> {
        for stray in &observed.strays {
            let deleted =
                self.writer.delete(&self.slices, (NAMESPACE, stray), &DeleteOptions::default()).await;
            look_up::unless(deleted, Reason::NotFound)?;
        }
        Ok(AT_ONCE)
    }

    async fn create_slice(&self, _key: &str, observed: Observed) -> Result<Next> {
        let made = self.writer.create(&self.slices, NAMESPACE, observed.wanted.slice()).await;
        look_up::unless(made, Reason::AlreadyExists).map(|()| AT_ONCE)
    }

    async fn update_slice(&self, _key: &str, observed: Observed) -> Result<Next> {
        let set = |value: &mut Value| {
            observed.wanted.set_slice(value);
            Ok(())
        };
        let set = self.writer.update(&self.slices, (NAMESPACE, NAME), "", set).await;
        look_up::unless(set, Reason::NotFound).map(|()| AT_ONCE)
    }

    async fn leave(&self, _key: &str, _observed: Observed) -> Result<Next> {
        self.membership.left();
        Ok(Next::Done)
    }

    async fn wait(&self, _key: &str, _observed: Observed) -> Result<Next> {
        Ok(self.membership.next_look())
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        let facts = change.facts();
        if facts
            .is_some_and(|facts| facts.namespace == NAMESPACE && (facts.name == NAME || is_of_service(facts)))
        {
            add(NAME);
        }
    }
}

/// One thing is done at a time; what is left is looked at at once.
const AT_ONCE: Next = Next::After(Duration::ZERO);

impl Membership {
    /// From now on the controller hears of what the server does.
    pub(super) fn feed(&self, queue: Arc<Queue>) {
        // There is one queue for as long as there is a server.
        let _ = self.poke.set(Box::new(move || queue.add(NAME)));
    }
}
