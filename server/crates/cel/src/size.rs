//! Ranges of sizes and costs; arithmetic that stays at the bounds.

/// The factor for a walk through a text.
pub(crate) const TEXT: f64 = 0.1;
/// The factor for the length of a regular expression.
pub(crate) const REGEX: f64 = 0.25;
/// What making a list costs.
pub(crate) const LIST: u64 = 10;
/// What making a map costs.
pub(crate) const MAP: u64 = 30;
/// What making an object costs.
pub(crate) const STRUCT: u64 = 40;

/// The least and the most that something can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Bounds {
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    pub(crate) const ZERO: Self = Self::exactly(0);
    pub(crate) const ONE: Self = Self::exactly(1);

    pub(crate) const fn exactly(value: u64) -> Self {
        Self { min: value, max: value }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Times a factor, rounded up.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// A size times a factor, rounded up.
pub(crate) fn scaled(value: u64, factor: f64) -> u64 {
    // A float beyond the bound becomes the bound.
    (value as f64 * factor).ceil() as u64
}
