//! Lists that are looked into only where they are not too long.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::quoted;

use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;

/// Says what is wrong with the items of a list, unless the words found it too long: then no more than that.
pub(super) fn each<'a>(
    holder: &'a Value,
    member: &str,
    path: &Path,
    out: &mut Faults<'_>,
    mut faults: impl FnMut(&'a Value, &Path, &mut Faults<'_>),
) -> &'a [Value] {
    let (items, path) = (cells::items(holder, &[member]), path.child(member));
    let is_too_long = out.is_declared(&path);
    out.declared(&path);
    if is_too_long {
        out.drop_below(&path);
        return &[];
    }
    for (at, item) in items.iter().enumerate() {
        faults(item, &path.index(at), out);
    }
    items
}

/// The same of a list whose items have to differ by a text, which is said when all else is.
pub(super) fn each_once<'a>(
    holder: &'a Value,
    member: &str,
    key: impl Fn(&'a Value) -> &'a str,
    path: &Path,
    out: &mut Faults<'_>,
    faults: impl FnMut(&'a Value, &Path, &mut Faults<'_>),
) {
    let items = each(holder, member, path, out, faults);
    let mut seen = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let key = key(item);
        if seen.contains(&key) {
            out.duplicate(path.child(member).index(at), quoted(key));
        } else {
            seen.push(key);
        }
    }
}

/// The text that an item is.
pub(super) fn text(item: &Value) -> &str {
    item.as_str().unwrap_or_default()
}

/// The name that an item has.
pub(super) fn name(item: &Value) -> &str {
    item.text_at(&["name"])
}
