//! The answer to those who would change what others own.

use apiwright_meta::Status;
use apiwright_meta::field::{Cause, quoted};
use apiwright_meta::status::{Details, Reason};

use crate::fieldset::Path;
use crate::managed::{Operation, Owner};

/// 409 with each field a cause.
pub(super) fn status(conflicts: &[(Owner, Vec<Path>)]) -> Box<Status> {
    let causes = conflicts.iter().flat_map(|(owner, paths)| {
        let message = format!("conflict with {}", describe(owner));
        paths.iter().map(move |path| Cause {
            reason: "FieldManagerConflict".into(),
            message: message.clone(),
            field: text(path),
        })
    });
    Box::new(Status {
        code: 409,
        reason: Some(Reason::Conflict),
        message: message(conflicts),
        details: Some(Box::new(Details { causes: causes.collect(), ..Details::default() })),
        ..Status::default()
    })
}

fn message(conflicts: &[(Owner, Vec<Path>)]) -> String {
    let count: usize = conflicts.iter().map(|(_, paths)| paths.len()).sum();
    if let [(owner, paths)] = conflicts
        && let [path] = paths.as_slice()
    {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", describe(owner), text(path));
    }
    let mut lines = Vec::with_capacity(count + conflicts.len());
    for (owner, paths) in conflicts {
        lines.push(format!("conflicts with {}:", describe(owner)));
        lines.extend(paths.iter().map(|path| format!("- {}", text(path))));
    }
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

fn describe(owner: &Owner) -> String {
    let mut out = quoted(&owner.manager);
    if !owner.subresource.is_empty() {
        out.push_str(" with subresource ");
        out.push_str(&quoted(&owner.subresource));
    }
    if owner.operation == Operation::Update {
        out.push_str(" using ");
        out.push_str(&owner.api_version);
    }
    out
}

fn text(path: &Path) -> String {
    path.iter().map(ToString::to_string).collect()
}
