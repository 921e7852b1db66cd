//! `examples:` of a resource.

use crate::diagnostic::Diagnostics;
use crate::parse::words::Words;
use crate::parse::yaml::Node;
use crate::spec::{Examples, Rejected, Write};

/// Reads the examples of a resource, where it has some.
pub(super) fn read(words: &mut Words<'_>) -> Option<Examples> {
    let node = words.take("examples")?;
    let mut words = Words::of(node, words.problems())?;
    let minimal = words.need("minimal");
    let rejected = words.items("rejected");
    let rejected = rejected.into_iter().filter_map(|node| one(node, words.problems())).collect();
    words.finish();
    Some(Examples { minimal: minimal?, rejected })
}

fn one(node: Node, problems: &mut Diagnostics) -> Option<Rejected> {
    let mut words = Words::of(node, problems)?;
    let at = words.at.clone();
    let (create, update) = (words.take("create"), words.take("update"));
    words.exclusive(&[("create", create.is_some()), ("update", update.is_some())]);
    let message = words.need_text("message");
    if create.is_none() && update.is_none() {
        let help = "say with `create` or `update` how the object differs from the minimal one";
        words.problems().report_with_help(&at, "nothing is tried", help);
    }
    words.finish();
    let (write, change) = match (create, update) {
        (Some(change), _) => (Write::Create, change),
        (None, change) => (Write::Update, change?),
    };
    Some(Rejected { at, write, change, message })
}
