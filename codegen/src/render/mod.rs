//! IR to Rust. One file per artefact: the types, the structs and the resources of each version, the
//! catalogue over them, the tests that examples are, and the module that holds it together.
//!
//! Generated code is data: statics of the tables that the library crates define. Controllers' decisions
//! are code, so that the compiler proves them complete; so are the structs of kinds that Rust has logic for.

mod catalogue;
mod chain;
mod controllers;
mod examples;
mod format;
mod modules;
mod resources;
mod typed;
mod types;
mod words;

use crate::ir::Ir;

/// The files, by name.
pub fn render(ir: &Ir) -> Vec<(String, String)> {
    let mut files = vec![
        ("mod.rs".to_owned(), modules::render(ir)),
        ("catalogue.rs".to_owned(), catalogue::render(ir)),
        ("chain.rs".to_owned(), chain::render(ir)),
        ("examples.rs".to_owned(), examples::render(ir)),
    ];
    for version in ir.groups.iter().flat_map(|group| &group.versions) {
        files.push((format!("types/{}.rs", version.module), types::render(version)));
        if !version.resources.is_empty() {
            files.push((format!("resources/{}.rs", version.module), resources::render(version)));
        }
    }
    files.extend(typed::Typed::of(ir).files());
    for controller in &ir.controllers {
        files.push((format!("controllers/{}.rs", controller.module), controllers::render(controller)));
    }
    files
}
