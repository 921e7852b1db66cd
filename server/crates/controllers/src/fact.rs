//! Facts: closed sets of values, so that a decision table can be proved complete.

/// One thing that is so or otherwise. Derived for enums: `#[derive(Fact)]` of `apiwright-macros`.
pub trait Fact: Copy + Eq + 'static {
    /// Every value.
    const ALL: &'static [Self];
    /// The value's name in the spec.
    fn name(self) -> &'static str;
}

impl Fact for bool {
    const ALL: &'static [Self] = &[false, true];

    fn name(self) -> &'static str {
        if self { "true" } else { "false" }
    }
}

/// What a controller observed of one object. Derived for structs: `#[derive(Facts)]`.
pub trait Facts {
    /// Each fact's name and value, in the order of the spec.
    fn describe(&self) -> Vec<(&'static str, &'static str)>;
}
