//! How pods are spread over zones, racks and the like.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::quoted;
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};

use super::validate::Context;
use super::{number, scheduling};
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// The faults of topology spread constraints.
pub(super) fn faults(context: &Context<'_>, path: &Path, out: &mut Faults<'_>) {
    let constraints = cells::items(context.spec, &["topologySpreadConstraints"]);
    let pair = |one: &Value| {
        (one.text_at(&["topologyKey"]).to_owned(), one.text_at(&["whenUnsatisfiable"]).to_owned())
    };
    for (at, constraint) in constraints.iter().enumerate() {
        let path = path.index(at);
        let skew = number(constraint, "maxSkew").unwrap_or_default();
        if skew <= 0 {
            out.invalid(path.child("maxSkew"), skew, "must be greater than zero");
        }
        let key = constraint.text_at(&["topologyKey"]);
        if key.is_empty() {
            out.required(path.child("topologyKey"), "can not be empty");
        }
        out.declared(&path.child("whenUnsatisfiable"));
        let own = pair(constraint);
        if constraints[at + 1..].iter().any(|other| pair(other) == own) {
            let shown = quoted(&format!("{{{}, {}}}", own.0, own.1));
            out.duplicate(path.child("{topologyKey, whenUnsatisfiable}"), shown);
        }
        domains(constraint, &path, out);
        out.declared(&path.child("nodeAffinityPolicy"));
        out.declared(&path.child("nodeTaintsPolicy"));
        scheduling::label_keys(constraint, &path, out);
        let selector = constraint.get("labelSelector");
        out.append(validate_label_selector(
            selector,
            SelectorLeniency::default(),
            &path.child("labelSelector"),
        ));
    }
}

fn domains(constraint: &Value, path: &Path, out: &mut Faults<'_>) {
    let Some(least) = number(constraint, "minDomains") else { return };
    let path = path.child("minDomains");
    if least <= 0 {
        out.invalid(path.clone(), least, "must be greater than zero");
    }
    let action = constraint.text_at(&["whenUnsatisfiable"]);
    if action != "DoNotSchedule" {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        out.invalid(path, least, &why);
    }
}
