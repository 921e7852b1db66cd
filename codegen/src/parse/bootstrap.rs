//! `bootstrap/<name>.yaml`: objects that a server starts with.

use crate::diagnostic::Diagnostics;
use crate::literal;
use crate::parse::Files;
use crate::parse::words::Words;
use crate::spec::Bootstrap;

/// What a start may mend of objects that are there, and the variants that stand for it.
const MENDS: &[(&str, &str)] = &[("role", "Role"), ("binding", "Binding")];

/// Reads every file of the folder.
pub(super) fn read(files: &mut Files<'_>) -> Vec<Bootstrap> {
    let mut found = Vec::new();
    for name in files.optional_specs("bootstrap") {
        let file = format!("bootstrap/{name}.yaml");
        let Some(tree) = files.tree(&file) else { continue };
        let Some(mut words) = Words::of(tree, files.problems) else { continue };
        let resource = words.need_text("resource");
        let mends = words.choice("mends", MENDS).map_or("Nothing", |mends| mends.value);
        let objects = words.items("objects");
        words.finish();
        let Some((group_version, plural)) = resource.rsplit_once('/') else {
            wrong(&resource.at, files.problems);
            continue;
        };
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        let (group, version, plural) = (group.to_owned(), version.to_owned(), plural.to_owned());
        let objects = objects.iter().map(literal::any).collect();
        found.push(Bootstrap { at: resource.at, group, version, plural, mends, objects });
    }
    found
}

fn wrong(at: &crate::diagnostic::Place, problems: &mut Diagnostics) {
    problems.report_with_help(
        at,
        "this names no resource",
        "write it as `apps/v1/deployments` or `v1/pods`".to_owned(),
    );
}
