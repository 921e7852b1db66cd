//! From what is written to what it means: references resolved, defaults as JSON, lists derived,
//! descriptions filled in. The specs passed every check, so nothing here can fail.

mod chain;
mod controllers;
mod lists;
mod names;
mod resources;
mod types;
mod values;

use crate::check::index::{Home, Index};
use crate::descriptions::Descriptions;
use crate::ir::{Group, Ir, Version};
use crate::spec::Spec;

/// Lowers specs that passed every check.
pub fn lower(spec: &Spec, descriptions: &Descriptions) -> Ir {
    let context = Context { index: &Index::of(spec), descriptions };
    let mut groups: Vec<Group> = spec
        .groups
        .iter()
        .map(|group| {
            let mut versions: Vec<Version> =
                group.versions.iter().map(|version| context.version(Home { group, version })).collect();
            versions.sort_by_key(|version| std::cmp::Reverse(version.priority));
            Group {
                name: group.name.value.clone(),
                priority: group.priority.as_ref().map(|one| one.value),
                versions,
            }
        })
        .collect();
    groups.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name)));
    let values = values::described(&groups, descriptions);
    Ir {
        groups,
        values,
        chain: spec.chain.as_ref().map(chain::chain),
        controllers: spec.controllers.iter().map(controllers::lower).collect(),
        bootstrap: chain::bootstrap(spec),
    }
}

/// What lowering looks things up in.
struct Context<'a> {
    index: &'a Index<'a>,
    descriptions: &'a Descriptions,
}

impl<'a> Context<'a> {
    fn version(&self, home: Home<'a>) -> Version {
        let mut types: Vec<_> = home.version.types.iter().map(|one| self.lower_type(home, one)).collect();
        types.extend(home.version.resources.iter().filter_map(|resource| self.list_type(home, resource)));
        types.sort_by(|a, b| a.definition.cmp(&b.definition));
        let mut resources: Vec<_> =
            home.version.resources.iter().map(|resource| self.lower_resource(home, resource)).collect();
        resources.sort_by(|a, b| a.plural.cmp(&b.plural));
        Version {
            group: home.group.name.value.clone(),
            name: home.version.name.value.clone(),
            module: names::module(home),
            priority: home.version.priority,
            served: home.version.served,
            types,
            resources,
        }
    }
}
