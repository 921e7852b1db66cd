//! `groups/<folder>/group.yaml`, and with it all that lies in the folder.

use crate::parse::words::Words;
use crate::parse::{Files, resource, types};
use crate::spec::{Group, Version};

/// Reads a group; `None`, which is reported, where it has no readable `group.yaml`.
pub(super) fn read(folder: &str, files: &mut Files<'_>) -> Option<Group> {
    let tree = files.tree(&format!("groups/{folder}/group.yaml"))?;
    let mut words = Words::of(tree, files.problems)?;
    let name = words.need_text("group");
    let definitions = words.need_text("definitions");
    let priority = words.number("priority");
    let versions = words.items("versions");
    words.finish();
    if folder != name.value && !(folder == "core" && name.is_empty()) && priority.is_some() {
        let help = format!("the folder is called `{folder}`");
        files.problems.report_with_help(
            &name.at,
            format!("`{}` lies in another group's folder", *name),
            help,
        );
    }
    let mut found = Vec::new();
    for node in versions {
        let Some(mut words) = Words::of(node, files.problems) else { continue };
        let name = words.need_text("name");
        let priority_of_version = words.number("priority");
        let served = words.flag("served").unwrap_or(true);
        if priority.is_some() && priority_of_version.is_none() {
            let at = words.at.clone();
            words.problems().report(&at, "`priority` is missing");
        }
        words.finish();
        found.push((name, priority_of_version.map_or(0, |number| number.value), served));
    }
    let listed: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    for version in files.folders(&format!("groups/{folder}")) {
        if !listed.contains(&version.as_str()) {
            let at = crate::diagnostic::Place::file(files.shown(&format!("groups/{folder}/{version}")));
            let help = format!("list it in groups/{folder}/group.yaml");
            files.problems.report_with_help(&at, "the group has no such version", help);
        }
    }
    let versions = found
        .into_iter()
        .map(|(name, priority, served)| {
            let within = format!("groups/{folder}/{}", *name);
            let specs = files.specs(&within);
            let mut version = Version { name, priority, served, types: Vec::new(), resources: Vec::new() };
            for spec in specs {
                let file = format!("{within}/{spec}.yaml");
                let Some(tree) = files.tree(&file) else { continue };
                if spec == "types" {
                    version.types = types::read(tree, files.problems);
                } else if let Some(resource) = resource::read(&spec, tree, files.problems) {
                    version.resources.push(resource);
                }
            }
            version
        })
        .collect();
    Some(Group { folder: folder.into(), name, definitions, priority, versions })
}
