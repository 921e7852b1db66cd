//! `examples:` of a resource.

use crate::diagnostic::{Place, Spanned};
use crate::parse::yaml::Node;

/// What a server takes and refuses.
#[derive(Debug)]
pub struct Examples {
    /// The least that it takes.
    pub minimal: Node,
    /// What it refuses.
    pub rejected: Vec<Rejected>,
}

/// What a server refuses.
#[derive(Debug)]
pub struct Rejected {
    /// Where it was written.
    pub at: Place,
    /// What is tried.
    pub write: Write,
    /// How the object differs from the minimal one, as a merge patch.
    pub change: Node,
    /// What the server says.
    pub message: Spanned<String>,
}

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// To create the changed object.
    Create,
    /// To change the created one.
    Update,
}
