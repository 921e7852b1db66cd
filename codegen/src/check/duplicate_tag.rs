//! Protobuf numbers tell fields apart: each is in range and used once in its message.

use std::collections::BTreeMap;

use crate::check::index::{Index, homes};
use crate::diagnostic::Diagnostics;
use crate::spec::Field;

/// The highest number that protobuf has.
const HIGHEST: u32 = (1 << 29) - 1;

/// Reports numbers that are used twice, or that there are not.
pub(super) fn check(index: &Index<'_>, problems: &mut Diagnostics) {
    for one in homes(index.spec).flat_map(|home| &home.version.types) {
        let mut used: BTreeMap<Vec<u32>, &Field> = BTreeMap::new();
        for field in &one.fields {
            let Some(pb) = &field.pb else {
                if let Some(outer) = field.within.first() {
                    let message = format!("`within: {outer}` needs the field's own number, `pb`");
                    problems.report(&field.name.at, message);
                }
                continue;
            };
            if pb.value == 0 || pb.value > HIGHEST {
                problems.report(&pb.at, format!("protobuf has no field number {}", pb.value));
                continue;
            }
            let mut number = field.within.clone();
            number.push(pb.value);
            if let Some(other) = clash(&used, &number) {
                let message =
                    format!("`{}` and `{}` have the same protobuf number", *other.name, *field.name);
                let next = one.fields.iter().filter_map(|field| field.pb.as_ref()).map(|pb| pb.value).max();
                problems.report_with_help(&pb.at, message, format!("{} is free", next.unwrap_or(0) + 1));
            }
            used.insert(number, field);
        }
    }
}

/// A field that has this number, or that has as a field what this number has as a message, or the
/// other way round.
fn clash<'a>(used: &BTreeMap<Vec<u32>, &'a Field>, number: &[u32]) -> Option<&'a Field> {
    used.iter()
        .find(|(other, _)| other.starts_with(number) || number.starts_with(other))
        .map(|(_, field)| *field)
}
