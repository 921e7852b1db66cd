//! What the specs mean: plain ordered data, everything resolved, nothing left to look up.
//!
//! No places, no tokens. What rendering needs to know beyond its own artefact is here by value.

mod controller;
mod resource;
mod types;

pub use controller::{Controller, Example, Fact, KeyFrom, Outcome, Watch};

pub use resource::{
    Cell, Column, Conversion, Does, Examples, Names, Part, Rejected, Resource, Selectable, Storage, Strategy,
    Subresource, Verb, Write,
};
pub use types::{Field, KindName, ListKind, Node, Patch, Rule, Shape, Struct, StructRef, Union};

/// All that is compiled in.
#[derive(Debug)]
pub struct Ir {
    /// The groups, the ones with the highest priority first, then the ones without resources.
    pub groups: Vec<Group>,
    /// Definitions that are no type but a value (`Quantity`), and what they mean, by name.
    pub values: Vec<(String, String)>,
    /// The delegation chain; `None` where the specs have none.
    pub chain: Option<Chain>,
    /// The controllers, by name.
    pub controllers: Vec<Controller>,
    /// What a server starts with.
    pub bootstrap: Vec<BootstrapObject>,
}

/// The delegation chain.
#[derive(Debug)]
pub struct Chain {
    /// Outermost first.
    pub servers: Vec<ChainServer>,
    /// Admission plugins in order, and whether they run by default.
    pub admission: Vec<(String, bool)>,
    /// The health checks.
    pub probes: Vec<Probe>,
}

/// A health check.
#[derive(Debug)]
pub struct Probe {
    /// Its name.
    pub name: String,
    /// Who asks it.
    pub asked_by: Vec<String>,
    /// The stage of the start that it waits for.
    pub after: Option<&'static str>,
}

/// A server of the chain.
#[derive(Debug)]
pub struct ChainServer {
    /// The variant that stands for it.
    pub kind: &'static str,
    /// The groups that it owns; `None` for those that no other server names.
    pub groups: Option<Vec<String>>,
    /// Its controllers.
    pub controllers: Vec<String>,
}

/// An object that a server starts with.
#[derive(Debug)]
pub struct BootstrapObject {
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// The resource.
    pub plural: String,
    /// The variant that says what a start mends of it where it is there.
    pub mends: &'static str,
    /// The object.
    pub json: String,
}

/// An API group.
#[derive(Debug)]
pub struct Group {
    /// Empty for the core group.
    pub name: String,
    /// `groupPriorityMinimum`; `None` where it has types only.
    pub priority: Option<i64>,
    /// The preferred one first.
    pub versions: Vec<Version>,
}

/// A version of a group.
#[derive(Debug)]
pub struct Version {
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub name: String,
    /// What the modules of its types and resources are called, `core_v1`.
    pub module: String,
    /// `versionPriority`.
    pub priority: i64,
    /// Whether it is served by default.
    pub served: bool,
    /// Its types, by name.
    pub types: Vec<Struct>,
    /// Its resources, by plural.
    pub resources: Vec<Resource>,
}
