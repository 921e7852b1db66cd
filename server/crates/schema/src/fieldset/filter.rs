//! Which fields may be owned through a subresource: `GetResetFields` and its filter form.

use super::element::Element;
use super::set::Set;

/// Which fields count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// All.
    #[default]
    All,
    /// All but these and what is below them: the fields that the strategy resets.
    Exclude(Set),
    /// Only what is at or below a match of one of these.
    Include(Vec<Pattern>),
}

/// Steps to fields; `None` stands for any step.
pub type Pattern = Vec<Option<Element>>;

impl Filter {
    /// All but these top-level fields, for instance `status`.
    pub fn without(fields: &[&str]) -> Self {
        if fields.is_empty() {
            return Self::All;
        }
        Self::Exclude(Set::of_fields(&fields.iter().map(std::slice::from_ref).collect::<Vec<_>>()))
    }

    /// All but these fields and what is in them.
    pub fn without_paths<'a>(paths: impl Iterator<Item = Vec<&'a str>>) -> Self {
        let paths: Vec<Vec<&str>> = paths.collect();
        if paths.is_empty() {
            return Self::All;
        }
        Self::Exclude(Set::of_fields(&paths.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    /// The fields of a set that count.
    #[must_use]
    pub fn apply(&self, set: Set) -> Set {
        match self {
            Self::All => set,
            Self::Exclude(reset) => set.recursive_difference(reset),
            Self::Include(patterns) => {
                let patterns: Vec<&[Option<Element>]> = patterns.iter().map(Vec::as_slice).collect();
                include(&set, &patterns)
            }
        }
    }
}

/// What some pattern matches. As upstream, a field on the way to a match counts, too.
fn include(set: &Set, patterns: &[&[Option<Element>]]) -> Set {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    set.map(|node| {
        let below: Vec<&[Option<Element>]> = patterns
            .iter()
            .filter_map(|pattern| pattern.split_first())
            .filter(|(first, _)| first.as_ref().is_none_or(|first| *first == node.element))
            .map(|(_, rest)| rest)
            .collect();
        let mut kept = node.clone();
        kept.member = node.member && !below.is_empty();
        kept.children = if below.is_empty() { Set::new() } else { include(&node.children, &below) };
        kept
    })
}
