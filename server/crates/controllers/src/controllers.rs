//! All controllers of a server: fed by the same informers, started in order, stopped together.

use std::sync::Arc;

use apiwright_chain::Drain;
use apiwright_registry::Store;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::change::{Change, object_key};
use crate::informers::Informers;
use crate::metrics;
use crate::queue::Queue;
use crate::reconcile::Reconcile;
use crate::spec::{ControllerSpec, KeyFrom, WatchSpec};
use crate::worker::Worker;

/// Finds the store of a resource, by group, version and plural.
type Stores<'a> = &'a dyn Fn(&str, &str, &str) -> Option<Arc<Store>>;

/// Controllers that do not run yet.
pub struct Controllers {
    informers: Informers,
    workers: Vec<Arc<Worker>>,
}

/// Controllers that run, for those who look behind them.
#[derive(Clone)]
pub struct Running {
    workers: Arc<[Arc<Worker>]>,
}

impl Controllers {
    /// None yet, over these informers.
    pub fn new(informers: Informers) -> Self {
        Self { informers, workers: Vec::new() }
    }

    /// For controllers that look things up in caches or hear of changes themselves.
    pub fn informers(&mut self) -> &mut Informers {
        &mut self.informers
    }

    /// Adds a controller; its queue hears of what its spec watches. Resources that are not served are
    /// passed over: nothing happens to them.
    pub fn add(&mut self, controller: impl Reconcile, stores: Stores<'_>) -> Arc<Queue> {
        let controller: Arc<dyn Reconcile> = Arc::new(controller);
        let queue = Arc::new(Queue::new(controller.spec().retry_millis));
        let mut sources = Vec::new();
        for watch in controller.spec().watches {
            let handler = Arc::new(feed(watch, Arc::clone(&controller), Arc::clone(&queue)));
            let cache = match watch.resource {
                None => {
                    self.informers.listen_to_all(handler);
                    None
                }
                Some(name) => stores(name.group, name.version, name.plural).map(|store| {
                    self.informers.listen(&store, handler);
                    self.informers.cache(&store)
                }),
            };
            if let KeyFrom::Always(key) = watch.from {
                queue.add(key);
            }
            sources.push((watch, cache));
        }
        let worker = Arc::new(Worker::new(controller, Arc::clone(&queue), sources));
        self.workers.push(worker);
        queue
    }

    /// Runs all of them until the drain begins. `leads` says whether those of kube-controller-manager
    /// may run.
    pub fn start(self, leads: watch::Receiver<bool>, drain: Drain) -> Running {
        let workers: Arc<[Arc<Worker>]> = self.workers.into();
        let mut informed = self.informers.synced();
        tokio::spawn(self.informers.run(drain.clone()));
        let running = Running { workers: Arc::clone(&workers) };
        tokio::spawn(async move {
            if informed.wait_for(|synced| *synced).await.is_err() {
                return;
            }
            let mut tasks = JoinSet::new();
            for worker in &*workers {
                worker.begin();
                let before = workers
                    .iter()
                    .filter(|one| worker.controller.spec().after.contains(&one.controller.spec().name));
                let before: Vec<_> = before.map(|one| one.synced()).collect();
                tasks.spawn(run(Arc::clone(worker), before, leads.clone()));
            }
            let mut drain = drain;
            drain.begun().await;
            for worker in &*workers {
                worker.queue.close();
            }
            while tasks.join_next().await.is_some() {}
        });
        running
    }
}

/// Runs one controller once those before it have seen everything.
async fn run(worker: Arc<Worker>, before: Vec<watch::Receiver<bool>>, leads: watch::Receiver<bool>) {
    for mut synced in before {
        if synced.wait_for(|synced| *synced).await.is_err() {
            return;
        }
    }
    let spec = worker.controller.spec();
    let (always, may_run) = if spec.managed {
        (None, leads)
    } else {
        let (sender, receiver) = watch::channel(true);
        (Some(sender), receiver)
    };
    let mut tasks = JoinSet::new();
    for _ in 0..spec.workers {
        let (worker, may_run) = (Arc::clone(&worker), may_run.clone());
        tasks.spawn(async move { worker.run(may_run).await });
    }
    while tasks.join_next().await.is_some() {}
    drop(always);
}

/// What adds the keys of a watch to a queue.
fn feed(
    watch: &'static WatchSpec,
    controller: Arc<dyn Reconcile>,
    queue: Arc<Queue>,
) -> impl Fn(&Change<'_>) + Send + Sync {
    move |change| {
        let Some(facts) = change.facts() else { return };
        if watch.only.is_some_and(|only| object_key(&facts.namespace, &facts.name) != only) {
            return;
        }
        match watch.from {
            KeyFrom::Object => queue.add(&object_key(&facts.namespace, &facts.name)),
            KeyFrom::Name => queue.add(&facts.name),
            KeyFrom::Namespace => queue.add(&facts.namespace),
            KeyFrom::Always(key) => queue.add(key),
            KeyFrom::Hook => controller.keys(change, &mut |key| queue.add(key)),
        }
    }
}

impl Running {
    /// The specs of the controllers that run.
    pub fn specs(&self) -> impl Iterator<Item = &'static ControllerSpec> {
        self.workers.iter().map(|worker| worker.controller.spec())
    }

    /// Whether a controller has looked at everything that was there at the start; `None` where no
    /// such controller runs.
    pub fn has_synced(&self, name: &str) -> Option<bool> {
        self.find(name).map(|worker| *worker.synced().borrow())
    }

    /// A controller and its queue.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Worker>> {
        self.workers.iter().find(|worker| worker.controller.spec().name == name)
    }

    /// What the queues count, in Prometheus' text format.
    pub fn render_metrics(&self, out: &mut String) {
        let queues: Vec<(&str, &Queue)> =
            self.workers.iter().map(|worker| (worker.controller.spec().name, &*worker.queue)).collect();
        metrics::render(out, &queues);
    }
}
