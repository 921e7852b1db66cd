//! The compiler of api-specs: YAML in, Rust and data out.
//!
//! Position: a build dependency of the server, which it knows nothing of. One direction only:
//!
//! ```text
//! parse    YAML -> values that know where they were written
//! check    values -> nothing, or every fault at once; one file per rule
//! lower    values -> ir: plain ordered data, everything resolved
//! render   ir -> Rust, one file per artefact
//! ```
//!
//! Invariant: the output depends on the specs only; the same specs give the same bytes.

pub mod build;
pub mod check;
pub mod descriptions;
pub mod diagnostic;
pub mod ir;
pub mod literal;
pub mod lower;
pub mod parse;
pub mod render;
pub mod spec;
pub mod table;

use std::path::{Path, PathBuf};

pub use diagnostic::{Diagnostic, Diagnostics};

/// What the specs become.
#[derive(Debug)]
pub struct Output {
    /// Each file's name, which may have folders in it, and its text.
    pub files: Vec<(String, String)>,
    /// The files and folders that were read: what a build has to watch.
    pub sources: Vec<PathBuf>,
}

/// Compiles the specs of a folder.
///
/// # Errors
/// Every fault that the specs have, in the order of their files and lines.
pub fn compile(api_specs: &Path) -> Result<Output, Diagnostics> {
    let mut problems = Diagnostics::default();
    let parsed = parse::read(api_specs, &mut problems);
    check::check(&parsed.spec, &mut problems);
    if !problems.is_empty() {
        return Err(problems.sorted());
    }
    let ir = lower::lower(&parsed.spec, &descriptions::Descriptions::built_in());
    Ok(Output { files: render::render(&ir), sources: parsed.sources })
}
