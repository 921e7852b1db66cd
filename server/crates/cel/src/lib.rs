//! Kubernetes' expressions, as kube-apiserver 1.36 understands them: checked against declared types, priced before
//! and while they run, evaluated over JSON values that nobody copies.
//!
//! Position: above `schema`. [`Env`] says which names there are, [`Env::compile`] makes a [`Program`] of a text or
//! tells its faults in cel-go's words, [`Program::evaluate`] runs it.
//! Invariant: nothing runs unbounded. Sources are bounded in length and depth, estimates saturate, and every step of
//! an evaluation is charged to a budget.
//! Absence: no I/O. What an expression may ask of the world (the authorizer) comes in as a trait.

pub mod access;
mod ast;
mod check;
mod cost;
pub mod decl;
mod env;
mod error;
mod escape;
mod eval;
mod functions;
mod library;
mod macros;
mod parse;
mod plan;
mod size;
pub mod types;
mod unify;
pub mod value;

pub use decl::Decl;
pub use env::{Declared, Env};
pub use error::{EvalError, Issues};
pub use escape::{escape, unescape};
pub use eval::Outcome;
pub use plan::Program;
pub use types::Type;
pub use value::Val;

/// How much one evaluation may cost.
pub const CALL_LIMIT: u64 = 1_000_000;
/// How much all evaluations for one object may cost.
pub const BUDGET: u64 = 10_000_000;
/// How much the match conditions of one object may cost.
pub const MATCH_BUDGET: u64 = 2_500_000;
/// The longest message that an expression may make, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 5 * 1024;
/// The size of a request that estimates assume.
pub const REQUEST_BYTES_MAX: u64 = 3 * 1024 * 1024;
