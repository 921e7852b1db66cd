//! What Services need outside of themselves: cluster addresses and node ports.
//!
//! Position: behind the store of Services, as its [`Reserve`]. A service is completed (the fields
//! that belong together, the families), then addresses and ports are taken and written into it.
//! Invariant: no two services have an address or a node port in common; of this, addresses are
//! sure by their `IPAddress` objects and ports by this process or, where servers share a store, by the book.

mod addresses;
mod book;
mod carry;
mod families;
mod held;
mod node_ports;
mod ports;
mod random;
mod range;
mod ready;
mod repair;
pub(crate) mod spec;

use std::net::IpAddr;
use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::address::parse_ip;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path, Status, object};
use apiwright_registry::store::{DeleteOptions, WriteOptions};
use apiwright_registry::{Catalogue, Reservation, Reserve, Store};
use apiwright_storage::Storage;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use addresses::{Addresses, Owner, Refusal};
use book::Book;
use families::Families;
use held::Taken;
use ports::{Operation, Ports};
use spec::{Spec, set_text, set_texts};

use crate::bootstrap::Unchecked;
use crate::flags::values::{Cidr, PortRange};

/// What services are given from.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// `--service-cluster-ip-range`: the families there are. The addresses come from `ServiceCIDRs`.
    pub addresses: Vec<Cidr>,
    /// `--service-node-port-range`.
    pub ports: PortRange,
}

/// Gives services their addresses and ports.
pub struct Services {
    store: Arc<Store>,
    endpoints: Arc<Store>,
    addresses: Addresses,
    families: Families,
    range: PortRange,
    book: Option<Arc<Book>>,
    ports: OnceCell<Arc<Ports>>,
}

impl Services {
    /// Services over the kinds of a catalogue, whether these are served or not; other servers may share the
    /// storage. `None` where the catalogue lacks one.
    pub fn new(
        catalogue: &Catalogue,
        storage: &Arc<dyn Storage>,
        ranges: &Ranges,
        is_shared: bool,
    ) -> Option<Self> {
        let store = |group: &str, plural: &str| {
            let resource = Arc::new(catalogue.resource(group, "v1", plural)?.clone());
            Some(Arc::new(Store::new(resource, Arc::clone(storage))))
        };
        let records = store("networking.k8s.io", "ipaddresses")?;
        let cidrs = store("networking.k8s.io", "servicecidrs")?;
        let families = ranges.addresses.iter().map(|range| families::name(range.network.is_ipv6()));
        Some(Self {
            store: store("", "services")?,
            endpoints: store("", "endpoints")?,
            addresses: Addresses { records, ranges: cidrs },
            families: Families(families.collect()),
            range: ranges.ports,
            book: is_shared.then(|| Arc::new(Book::new(Arc::clone(storage), ranges.ports))),
            ports: OnceCell::new(),
        })
    }

    /// The ports, as the stored services have them when they are first asked for. Where servers share them, the book
    /// knows them then, and these here count for nothing.
    async fn ports(&self) -> Result<Arc<Ports>> {
        let taken = || async {
            let taken = repair::node_ports(&self.store).await?;
            if let Some(book) = &self.book {
                book.note(&taken).await?;
            }
            Ok::<_, Box<Status>>(Arc::new(Ports::new(self.range, taken)))
        };
        self.ports.get_or_try_init(taken).await.cloned()
    }

    /// Takes and gives up ports; again, where another server took one of them meanwhile.
    async fn assign(
        &self,
        service: &mut Value,
        taken: &mut Taken,
        work: impl Fn(&mut Value, &mut Operation) -> Result<()>,
    ) -> Result<()> {
        let spec = Spec::of(service);
        let takes = spec.has_node_ports() || spec.needs_health_check();
        let Some(book) = self.book.as_ref() else { return work(service, &mut taken.ports) };
        loop {
            let others = if takes { book.read().await? } else { Vec::new() };
            let mut filled = service.clone();
            taken.ports = Operation::new(Arc::new(Ports::new(self.range, others)), taken.dry_run);
            work(&mut filled, &mut taken.ports)?;
            if taken.note(book).await? {
                *service = filled;
                return Ok(());
            }
        }
    }

    async fn take(&self, dry_run: bool) -> Result<Taken> {
        let ports = Operation::new(self.ports().await?, dry_run);
        Ok(Taken::new(self.addresses.clone(), ports, dry_run))
    }

    async fn fill_new(&self, service: &mut Value, taken: &mut Taken) -> Result<()> {
        carry::pair_addresses(service);
        self.families.settle(service, None)?;
        self.take_addresses(service, taken).await?;
        self.assign(service, taken, node_ports::create).await
    }

    async fn fill_update(&self, service: &mut Value, old: &Value, taken: &mut Taken) -> Result<()> {
        carry::keep_allocated(service, old);
        carry::follow_address(service, old);
        self.families.settle(service, Some(old))?;
        self.change_addresses(service, old, taken).await?;
        self.assign(service, taken, |service, operation| node_ports::update(service, old, operation)).await
    }

    /// Takes an address of each family that has none yet, and those that are named.
    async fn take_addresses(&self, service: &mut Value, taken: &mut Taken) -> Result<()> {
        let spec = Spec::of(service);
        if spec.is_external_name()
            || spec.items("clusterIPs").first().and_then(Value::as_str) == Some(spec::HEADLESS)
        {
            return Ok(());
        }
        let families: Vec<bool> = spec.texts("ipFamilies").iter().map(|family| *family == "IPv6").collect();
        let mut all: Vec<String> = spec.texts("clusterIPs").into_iter().map(str::to_owned).collect();
        all.resize(families.len().max(all.len()), String::new());
        for (at, six) in families.into_iter().enumerate() {
            all[at] = self.take_one(service, &all[at], six, taken).await?;
        }
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        set_texts(service, "clusterIPs", &all);
        set_text(service, "clusterIP", all.first().unwrap_or(&""));
        Ok(())
    }

    /// What becomes of the addresses when a service changes: all are taken, all or the second one
    /// are given up, or a second one is taken.
    async fn change_addresses(&self, service: &mut Value, old: &Value, taken: &mut Taken) -> Result<()> {
        if families::is_settled(service, old) {
            return Ok(());
        }
        let (new, before) = (Spec::of(service), Spec::of(old));
        if before.is_external_name() && !new.is_external_name() {
            return self.take_addresses(service, taken).await;
        }
        if before.is_headless() {
            return Ok(());
        }
        let held = before.addresses();
        if new.is_external_name() {
            taken.give_up(held);
            return Ok(());
        }
        match (before.items("ipFamilies").len(), new.items("ipFamilies").len()) {
            (1, 2) => {
                let mut all: Vec<String> = new.texts("clusterIPs").into_iter().map(str::to_owned).collect();
                all.resize(2, String::new());
                let six = new.texts("ipFamilies")[1] == "IPv6";
                all[1] = self.take_one(service, &all[1], six, taken).await?;
                set_texts(service, "clusterIPs", &[&all[0], &all[1]]);
            }
            (2, 1) => taken.give_up(held.into_iter().skip(1)),
            _ => {}
        }
        Ok(())
    }

    /// Takes the address that is named, or any where none is.
    async fn take_one(&self, service: &Value, wished: &str, six: bool, taken: &mut Taken) -> Result<String> {
        let owner = Owner { namespace: object::namespace(service), name: object::name(service) };
        let Some(address) = parse_ip(wished) else {
            let address = self.addresses.take_any(owner, six, taken.dry_run).await;
            let address =
                address.map_err(|why| Status::internal(format!("failed to allocate a serviceIP: {why}")))?;
            taken.add(address);
            return Ok(address.to_string());
        };
        match self.addresses.take(owner, address, taken.dry_run).await {
            Ok(()) => {
                taken.add(address);
                Ok(wished.to_owned())
            }
            Err(why) => Err(refused(service, address, &why)),
        }
    }
}

impl Reserve for Services {
    fn create<'a>(&'a self, service: &'a mut Value, dry_run: bool) -> BoxFuture<'a, Result<Reservation>> {
        Box::pin(async move {
            let mut taken = self.take(dry_run).await?;
            match self.fill_new(service, &mut taken).await {
                Ok(()) => Ok(Box::new(taken) as Reservation),
                Err(status) => Err(taken.refused(status).await),
            }
        })
    }

    fn update<'a>(
        &'a self,
        service: &'a mut Value,
        old: &'a Value,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<Reservation>> {
        Box::pin(async move {
            let mut taken = self.take(dry_run).await?;
            match self.fill_update(service, old, &mut taken).await {
                Ok(()) => Ok(Box::new(taken) as Reservation),
                Err(status) => Err(taken.refused(status).await),
            }
        })
    }

    /// The Endpoints of the same name go too: a service that comes under this name must not find
    /// the addresses of the one before.
    fn release(&self, service: Value) -> BoxFuture<'static, ()> {
        let (addresses, endpoints) = (self.addresses.clone(), Arc::clone(&self.endpoints));
        let (ports, book) = (self.ports.get().cloned(), self.book.clone());
        Box::pin(async move {
            let (namespace, name) = (object::namespace(&service), object::name(&service));
            let write = WriteOptions { user: "system:apiserver".into(), ..WriteOptions::default() };
            // Most services have none.
            let _ = endpoints.delete(&write, namespace, name, &DeleteOptions::default(), &Unchecked).await;
            for address in Spec::of(&service).addresses() {
                addresses.give_back(address).await;
            }
            let held = node_ports::of(&service);
            match (book, ports) {
                (Some(book), _) if !held.is_empty() => book.release(&held).await,
                (None, Some(ports)) => held.into_iter().for_each(|port| ports.release(port)),
                _ => {}
            }
        })
    }
}

/// 422: the named address cannot be had.
fn refused(service: &Value, address: IpAddr, why: &Refusal) -> Box<Status> {
    let mut errors = ErrorList::new();
    let shown = spec::list(Spec::of(service), "clusterIPs");
    let why = format!("failed to allocate IP {address}: {why}");
    errors.invalid(Path::new("spec").child("clusterIPs"), shown, &why);
    families::invalid(service, &errors)
}
