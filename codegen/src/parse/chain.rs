//! `chain.yaml`: the delegation chain, the order of admission, the probes.

use crate::diagnostic::Spanned;
use crate::parse::Files;
use crate::parse::words::{Words, text};
use crate::parse::yaml::Tree;
use crate::spec::{Chain, ChainServer, Plugin, Probe};

const SERVERS: &[(&str, &str)] = &[
    ("aggregator", "Aggregator"),
    ("kube", "Kube"),
    ("apiextensions", "ApiExtensions"),
    ("not-found", "NotFound"),
];
const ENDPOINTS: &[&str] = &["healthz", "livez", "readyz"];
const STAGES: &[(&str, &str)] = &[
    ("admission", "Admission"),
    ("objects", "Objects"),
    ("views", "Views"),
    ("definitions", "Definitions"),
    ("controllers", "Controllers"),
    ("addresses", "Addresses"),
    ("registration", "Registration"),
];

/// Reads the chain; `None` where the specs have none.
pub(super) fn read(files: &mut Files<'_>) -> Option<Chain> {
    let tree = files.optional_tree("chain.yaml")?;
    let mut words = Words::of(tree, files.problems)?;
    let servers = words.items("servers");
    let admission = words.items("admission");
    let probes = words.entries("probes");
    words.finish();
    let mut chain = Chain::default();
    for node in servers {
        let Some(mut words) = Words::of(node, files.problems) else { continue };
        let kind = words.choice("name", SERVERS);
        words.text("doc");
        let (groups, rest) = match words.take("groups") {
            None => (Vec::new(), false),
            Some(node) if matches!(&node.value, Tree::Scalar(word, false) if word == "rest") => {
                (Vec::new(), true)
            }
            Some(node) => {
                let items = crate::parse::words::items(node, words.problems());
                (items.into_iter().filter_map(|one| text(one, words.problems())).collect(), false)
            }
        };
        let controllers = words.texts("controllers").unwrap_or_default();
        words.finish();
        if let Some(kind) = kind {
            chain.servers.push(ChainServer { kind, groups, rest, controllers });
        }
    }
    for node in admission {
        let Some(mut words) = Words::of(node, files.problems) else { continue };
        let name = words.need_text("plugin");
        let default = words.flag("default").unwrap_or(true);
        words.finish();
        chain.admission.push(Plugin { name, default });
    }
    for (name, node) in probes {
        if matches!(&node.value, Tree::Map(_)) {
            let Some(mut words) = Words::of(node, files.problems) else { continue };
            if !words.was_given("after") {
                words.need("after");
            }
            let after = words.choice("after", STAGES);
            words.finish();
            let asked_by = ENDPOINTS.iter().map(|one| Spanned::new((*one).to_owned(), name.at.clone()));
            chain.probes.push(Probe { asked_by: asked_by.collect(), after, name });
            continue;
        }
        let items = crate::parse::words::items(node, files.problems);
        let asked_by: Vec<_> = items.into_iter().filter_map(|one| text(one, files.problems)).collect();
        for word in asked_by.iter().filter(|word| !ENDPOINTS.contains(&word.as_str())) {
            files.problems.report_unknown(&word.at, "endpoint", word, ENDPOINTS.iter().copied());
        }
        chain.probes.push(Probe { name, asked_by, after: None });
    }
    Some(chain)
}
