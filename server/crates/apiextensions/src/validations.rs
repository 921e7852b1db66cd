//! `x-kubernetes-validations`: rules of custom resources, written as expressions.
//!
//! Position: [`check`] looks at the rules of a definition that is written, a [`Validator`] is made of those of a
//! version that is served.
//! Invariant: what a definition was let pass with compiles again when it is served.

mod check;
mod compile;
mod correlation;
mod field_path;
mod rule;
mod validator;

pub use check::{check, words};
pub(crate) use validator::{Findings, Validator};
