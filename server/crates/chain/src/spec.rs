//! What `chain.yaml` and `bootstrap/*.yaml` say, as data that codegen writes.

/// The chain, the order of admission, the probes.
#[derive(Debug)]
pub struct ChainSpec {
    /// Outermost first.
    pub servers: &'static [ServerSpec],
    /// In the order in which they run.
    pub admission: &'static [PluginSpec],
    /// The health checks.
    pub probes: &'static [ProbeSpec],
}

/// One server of the chain.
#[derive(Debug)]
pub struct ServerSpec {
    /// Which one.
    pub kind: ServerKind,
    /// Which groups it owns.
    pub groups: Groups,
    /// Its controllers.
    pub controllers: &'static [&'static str],
}

/// The servers that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ServerKind {
    Aggregator,
    Kube,
    ApiExtensions,
    NotFound,
}

/// Which groups a server owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// These.
    Named(&'static [&'static str]),
    /// Those that no other server names.
    Rest,
}

/// An admission plugin.
#[derive(Debug)]
pub struct PluginSpec {
    /// Its name, as flags spell it.
    pub name: &'static str,
    /// Whether it runs unless the operator says otherwise.
    pub default: bool,
}

/// A health check.
#[derive(Debug)]
pub struct ProbeSpec {
    /// Its name, as operators probe it.
    pub name: &'static str,
    /// `healthz`, `livez`, `readyz`: which of them ask it.
    pub asked_by: &'static [&'static str],
    /// What it waits for; it is well from then on.
    pub after: Option<Stage>,
}

/// What a start comes to, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Webhooks and policies are known.
    Admission,
    /// The objects that every server starts with are there.
    Objects,
    /// Roles, bindings and flow schemas have been read, and are followed.
    Views,
    /// So have definitions.
    Definitions,
    /// The controllers run.
    Controllers,
    /// The addresses of services are in order.
    Addresses,
    /// Every group version that is served has its APIService.
    Registration,
}

/// What a start mends of an object that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mends {
    /// It stays as it is.
    Nothing,
    /// A role gets back the rules that it lacks, its labels and its annotations.
    Role,
    /// A binding gets back its role, and the subjects that it lacks, its labels and its annotations.
    Binding,
}

/// An object that a server makes where it is absent.
#[derive(Debug)]
pub struct BootstrapObject {
    /// Empty for the core group.
    pub group: &'static str,
    /// For instance `v1`.
    pub version: &'static str,
    /// The plural.
    pub resource: &'static str,
    /// What a start mends of it where it is there.
    pub mends: Mends,
    /// The object; `${name}` in texts stands for what is known at the start only.
    pub json: &'static str,
}

impl ChainSpec {
    /// The server that owns a group.
    pub fn owner(&self, group: &str) -> Option<ServerKind> {
        let named = self
            .servers
            .iter()
            .find(|one| matches!(one.groups, Groups::Named(names) if names.contains(&group)));
        named.or_else(|| self.servers.iter().find(|one| one.groups == Groups::Rest)).map(|one| one.kind)
    }
}
