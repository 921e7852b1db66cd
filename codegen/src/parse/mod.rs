//! YAML to values that know where they were written.
//!
//! One file per kind of spec; what a spec may say is what its reader asks for. A new kind of spec
//! is a reader here, a field of [`Spec`], and its own checks, lowering and rendering.

mod bootstrap;
mod chain;
mod controllers;
mod examples;
mod group;
mod names;
pub(crate) use names::built_in_names;
mod resource;
mod types;
pub mod words;
pub mod yaml;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostics, Place};
use crate::spec::Spec;

/// What was read.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The specs.
    pub spec: Spec,
    /// The files and folders that they came from.
    pub sources: Vec<PathBuf>,
}

/// Reads the specs of a folder, in the order of file names.
pub fn read(api_specs: &Path, problems: &mut Diagnostics) -> Parsed {
    let mut files = Files { root: api_specs, sources: Vec::new(), problems };
    let groups =
        files.folders("groups").into_iter().filter_map(|folder| group::read(&folder, &mut files)).collect();
    let chain = chain::read(&mut files);
    let controllers = controllers::read(&mut files);
    let bootstrap = bootstrap::read(&mut files);
    Parsed { spec: Spec { groups, chain, controllers, bootstrap }, sources: files.sources }
}

/// The folder of the specs, and what was read of it.
struct Files<'a> {
    root: &'a Path,
    sources: Vec<PathBuf>,
    problems: &'a mut Diagnostics,
}

impl Files<'_> {
    /// The names of the folders in a folder.
    fn folders(&mut self, within: &str) -> Vec<String> {
        self.entries(within, Path::is_dir)
    }

    /// The names of the YAML files in a folder, without their ending.
    fn specs(&mut self, within: &str) -> Vec<String> {
        let names = self.entries(within, Path::is_file);
        names.into_iter().filter_map(|name| name.strip_suffix(".yaml").map(Into::into)).collect()
    }

    /// As [`Files::specs`], of a folder that need not be there.
    fn optional_specs(&mut self, within: &str) -> Vec<String> {
        if self.root.join(within).is_dir() { self.specs(within) } else { Vec::new() }
    }

    /// As [`Files::tree`], of a file that need not be there.
    fn optional_tree(&mut self, name: &str) -> Option<yaml::Node> {
        self.root.join(name).is_file().then(|| self.tree(name)).flatten()
    }

    /// The tree of a file; `None`, which is reported, where it cannot be had.
    fn tree(&mut self, name: &str) -> Option<yaml::Node> {
        let path = self.root.join(name);
        let shown = self.shown(name);
        self.sources.push(path.clone());
        match std::fs::read_to_string(&path) {
            Ok(text) => yaml::parse(&shown, &text, self.problems),
            Err(fault) => {
                self.problems.report(&Place::file(shown), format!("cannot be read: {fault}"));
                None
            }
        }
    }

    /// How messages call a file.
    fn shown(&self, name: &str) -> Arc<str> {
        let root = self.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        format!("{root}/{name}").into()
    }

    fn entries(&mut self, within: &str, wanted: impl Fn(&Path) -> bool) -> Vec<String> {
        let path = self.root.join(within);
        self.sources.push(path.clone());
        let mut names = match std::fs::read_dir(&path) {
            Ok(entries) => entries
                .flatten()
                .filter(|entry| wanted(&entry.path()))
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect::<Vec<_>>(),
            Err(fault) => {
                let shown = self.shown(within);
                self.problems.report(&Place::file(shown), format!("cannot be read: {fault}"));
                Vec::new()
            }
        };
        names.sort();
        names
    }
}
