//! What is stored can be read back: one prefix holds one kind, and a resource that is stored as
//! another kind says how.

use std::collections::BTreeMap;

use crate::check::index::{Home, Index, homes};
use crate::diagnostic::Diagnostics;
use crate::spec::{Resource, Storage};

/// Reports prefixes of two kinds, and conversions without a kind to convert to.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    let mut held: BTreeMap<&str, (String, &str)> = BTreeMap::new();
    for home in homes(index.spec) {
        for resource in &home.version.resources {
            let Some(storage) = &resource.storage else { continue };
            if storage.stored_as.is_none() && (storage.hook || !storage.rename.is_empty()) {
                let help = "`as` says which kind is stored";
                problems.report_with_help(&resource.plural.at, "a conversion to itself", help);
            }
            let prefix = storage.prefix.as_ref().map_or(resource.plural.as_str(), |prefix| prefix);
            let kind = stored_kind(home, resource, storage);
            match held.get(prefix) {
                Some((other, plural)) if *other != kind => {
                    let at = storage.prefix.as_ref().map_or(&resource.plural.at, |prefix| &prefix.at);
                    let message = format!("`/registry/{prefix}` holds both {other} (`{plural}`) and {kind}");
                    let help = "give one of them another prefix: `storage: {prefix: …}`";
                    problems.report_with_help(at, message, help);
                }
                _ => {
                    held.insert(prefix, (kind, &resource.plural));
                }
            }
        }
    }
}

fn stored_kind(home: Home<'_>, resource: &Resource, storage: &Storage) -> String {
    match storage.stored_as.as_ref().map(|name| (&name.home, &name.name)) {
        Some((Some((folder, version)), name)) => format!("{folder}/{version}.{name}"),
        Some((None, name)) => format!("{}/{}.{name}", home.group.folder, *home.version.name),
        None => format!("{}/{}.{}", home.group.folder, *home.version.name, *resource.kind),
    }
}
