//! A controller's decision table as people read it.

use std::fmt::Write;

use crate::spec::{ControllerSpec, KeyFrom, WatchSpec};

/// The table, with what surrounds it.
pub fn table(spec: &ControllerSpec) -> String {
    let mut out = String::new();
    let runs = if spec.managed {
        "in one of several replicas; stands aside while a kube-controller-manager leads; --controllers selects it"
    } else {
        "in every replica, always"
    };
    let (first, last) = (spec.retry_millis.0, spec.retry_millis.1);
    let _ = writeln!(out, "{}\n{}\n", spec.name, spec.doc);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<9}{value}");
    };
    line("Key", spec.key);
    line("Runs", runs);
    line("Workers", &spec.workers.to_string());
    line("Retries", &format!("after {} up to {}", duration(first), duration(last)));
    if !spec.after.is_empty() {
        line("After", &spec.after.join(", "));
    }
    for (at, one) in spec.watches.iter().enumerate() {
        line(if at == 0 { "Watches" } else { "" }, &watch(one));
    }
    out.push('\n');
    rules(&mut out, spec);
    if !spec.outcomes.is_empty() {
        out.push('\n');
        let width = spec.outcomes.iter().map(|one| one.name.len()).max().unwrap_or_default();
        for one in spec.outcomes {
            let _ = writeln!(out, "{:<width$}  {}", one.name, one.doc);
        }
    }
    out
}

/// One row a rule, the first that fits holds.
fn rules(out: &mut String, spec: &ControllerSpec) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut heading: Vec<String> = spec.facts.iter().map(|fact| fact.name.to_owned()).collect();
    heading.push("then".into());
    rows.push(heading);
    for rule in spec.rules {
        let mut row: Vec<String> = rule
            .when
            .iter()
            .map(|values| if values.is_empty() { "-".into() } else { values.join("|") })
            .collect();
        row.push(rule.then.into());
        rows.push(row);
    }
    rows_of(out, &rows);
}

/// Columns side by side.
pub fn rows_of(out: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

fn watch(of: &WatchSpec) -> String {
    let mut text = match of.resource {
        None => "everything that is stored".to_owned(),
        Some(name) if name.group.is_empty() => format!("{}/{}", name.version, name.plural),
        Some(name) => format!("{}/{}/{}", name.group, name.version, name.plural),
    };
    if let Some(only) = of.only {
        let _ = write!(text, " {only}");
    }
    match of.from {
        KeyFrom::Object => {}
        KeyFrom::Name => text.push_str(", by name"),
        KeyFrom::Namespace => text.push_str(", by namespace"),
        KeyFrom::Hook => text.push_str(", for the keys that it is about"),
        KeyFrom::Always(key) => {
            let _ = write!(text, ", for {key}");
        }
    }
    text
}

fn duration(millis: u64) -> String {
    if millis.is_multiple_of(1000) { format!("{}s", millis / 1000) } else { format!("{millis}ms") }
}
