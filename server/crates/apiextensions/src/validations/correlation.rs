//! What an update left as it was (upstream: `CorrelatedObject`): rules that it breaks are tolerated.

use apiwright_cel::Decl;
use apiwright_cel::decl::{ListKind, Shape};
use apiwright_json::Value;

/// A value and what was in its place.
#[derive(Clone, Copy, Debug)]
struct Pair<'v> {
    new: &'v Value,
    old: &'v Value,
    decl: &'v Decl,
}

/// Where in both objects a walk is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correlation<'v> {
    current: Option<Pair<'v>>,
    /// The nearest place above that is in both.
    above: Option<Pair<'v>>,
}

impl<'v> Correlation<'v> {
    /// At the root of an update.
    pub(super) fn root(new: &'v Value, old: &'v Value, decl: &'v Decl) -> Self {
        Self { current: Some(Pair { new, old, decl }), above: None }
    }

    /// Whether nothing changed here.
    pub(super) fn is_unchanged(&self) -> bool {
        self.current.or(self.above).is_some_and(|pair| same(pair.new, pair.old, Some(pair.decl)))
    }

    /// At a member.
    pub(super) fn member(self, name: &str, decl: Option<&'v Decl>) -> Self {
        let Some(current) = self.current else { return self };
        if self.above.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self::default();
        }
        let pair = match (current.new.get(name), current.old.get(name), decl) {
            (Some(new), Some(old), Some(decl)) => Some(Pair { new, old, decl }),
            _ => None,
        };
        Self { current: pair, above: Some(current) }
    }

    /// At an item.
    pub(super) fn item(self, new: &'v Value, old: Option<&'v Value>, decl: Option<&'v Decl>) -> Self {
        let Some(current) = self.current else { return self };
        let pair = old.zip(decl).map(|(old, decl)| Pair { new, old, decl });
        Self { current: pair, above: Some(current) }
    }
}

/// The item of a list that has an item's keys.
pub(super) fn counterpart<'v>(keys: &[String], item: &Value, items: &'v [Value]) -> Option<&'v Value> {
    items.iter().find(|other| keys.iter().all(|key| other.get(key) == item.get(key)))
}

/// Whether two values are the same; of keyed lists the order does not count.
fn same(new: &Value, old: &Value, decl: Option<&Decl>) -> bool {
    match (new, old, decl.map(|decl| &decl.shape)) {
        (Value::Array(new), Value::Array(old), Some(Shape::List(item, ListKind::Map(keys)))) => {
            new.len() == old.len()
                && new
                    .iter()
                    .all(|one| counterpart(keys, one, old).is_some_and(|other| same(one, other, Some(item))))
        }
        (Value::Object(new), Value::Object(old), Some(Shape::Object(_) | Shape::Map(_))) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| {
                    let inner = decl.and_then(|decl| decl.property(name).or_else(|| decl.element()));
                    old.get(name).is_some_and(|other| same(value, other, inner.map(|inner| &**inner)))
                })
        }
        _ => new == old,
    }
}
