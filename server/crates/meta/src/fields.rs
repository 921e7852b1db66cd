//! Field selectors: `metadata.name=x,status.phase!=Running`.

/// A field selector; the default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// All must hold.
    pub requirements: Vec<Requirement>,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The field's name.
    pub field: String,
    /// Its value.
    pub value: String,
    /// Whether the field must differ from the value instead.
    pub negated: bool,
}
