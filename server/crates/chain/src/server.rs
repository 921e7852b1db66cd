//! The phases of a server: assembled from links, prepared, run.
//!
//! The phase is a type, as upstream's PrepareRun and Run are: what needs all links in place
//! (health checks, post-start hooks) cannot be reached before.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::delegate::Delegate;

/// Makes a link's delegate, given the next one. The last link has none.
pub type Build = Box<dyn FnOnce(Option<Arc<dyn Delegate>>) -> Arc<dyn Delegate> + Send>;

/// Work that starts once the server listens; readiness waits until it has succeeded.
pub type PostStartHook = Box<dyn FnOnce() -> BoxFuture<'static, Result<(), String>> + Send>;

/// One link of the chain, not connected yet.
pub struct Link {
    /// As in `chain.yaml`.
    pub name: &'static str,
    /// Connects it.
    pub build: Build,
    /// What it does after the start, by name.
    pub hooks: Vec<(&'static str, PostStartHook)>,
}

impl Link {
    /// A link without post-start hooks.
    pub fn new(
        name: &'static str,
        build: impl FnOnce(Option<Arc<dyn Delegate>>) -> Arc<dyn Delegate> + Send + 'static,
    ) -> Self {
        Self { name, build: Box::new(build), hooks: Vec::new() }
    }

    /// Adds a post-start hook.
    #[must_use]
    pub fn after_start(
        mut self,
        name: &'static str,
        hook: impl FnOnce() -> BoxFuture<'static, Result<(), String>> + Send + 'static,
    ) -> Self {
        self.hooks.push((name, Box::new(hook)));
        self
    }
}

/// Links in place, nothing runs.
pub struct Assembling {
    links: Vec<Link>,
}

/// Connected: requests could be served.
pub struct Prepared {
    head: Arc<dyn Delegate>,
    hooks: Vec<(&'static str, PostStartHook)>,
}

/// A server in one of its phases.
pub struct Server<Phase> {
    phase: Phase,
}

impl Server<Assembling> {
    /// A server of these links, outermost first.
    pub fn assemble(links: impl IntoIterator<Item = Link>) -> Self {
        Self { phase: Assembling { links: links.into_iter().collect() } }
    }

    /// Connects the links, innermost first.
    ///
    /// # Panics
    /// When there is no link.
    pub fn prepare(self) -> Server<Prepared> {
        let mut next: Option<Arc<dyn Delegate>> = None;
        let mut hooks = Vec::new();
        for link in self.phase.links.into_iter().rev() {
            next = Some((link.build)(next));
            hooks.splice(0..0, link.hooks);
        }
        Server { phase: Prepared { head: next.expect("a chain has links"), hooks } }
    }
}

impl Server<Prepared> {
    /// What the filters hand requests to.
    pub fn head(&self) -> Arc<dyn Delegate> {
        Arc::clone(&self.phase.head)
    }

    /// The post-start hooks' names, in the order in which they start.
    pub fn hook_names(&self) -> Vec<&'static str> {
        self.phase.hooks.iter().map(|(name, _)| *name).collect()
    }

    /// Runs the post-start hooks one after the other; `done` hears how each ended.
    pub async fn run_hooks(self, done: impl Fn(&'static str, Result<(), String>)) {
        for (name, hook) in self.phase.hooks {
            done(name, hook().await);
        }
    }
}

/// Tells long-running work that the server drains.
#[derive(Clone, Debug)]
pub struct Drain {
    begun: watch::Receiver<bool>,
    /// Begins this one, too.
    other: Option<watch::Receiver<bool>>,
}

/// Starts the drain.
#[derive(Debug)]
pub struct Drainer(watch::Sender<bool>);

/// A drain that has not begun.
pub fn drain() -> (Drainer, Drain) {
    let (sender, receiver) = watch::channel(false);
    (Drainer(sender), Drain { begun: receiver, other: None })
}

impl Drainer {
    /// Begins the drain.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Drain {
    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        *self.begun.borrow() || self.other.as_ref().is_some_and(|other| *other.borrow())
    }

    /// This one and a part's own: it begins when either does.
    #[must_use]
    pub fn or(&self, part: &Self) -> Self {
        Self { begun: self.begun.clone(), other: Some(part.begun.clone()) }
    }

    /// Resolves when it begins, or when nobody is left who could begin it.
    pub async fn begun(&mut self) {
        let begun = self.begun.wait_for(|begun| *begun);
        let Some(other) = &mut self.other else {
            let _ = begun.await;
            return;
        };
        tokio::select! {
            _ = begun => {}
            _ = other.wait_for(|begun| *begun) => {}
        }
    }
}
