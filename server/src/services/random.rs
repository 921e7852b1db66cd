//! Random places to start looking from: so that addresses and ports are not reused at once.

use std::hash::{BuildHasher as _, RandomState};

/// A number below `limit`; 0 where that is 0. Not for secrets.
pub(super) fn below(limit: u64) -> u64 {
    // Every RandomState has keys of its own.
    RandomState::new().hash_one(0_u8).checked_rem(limit).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn numbers_are_below_their_limit_and_differ() {
        assert_eq!((below(0), below(1)), (0, 0));
        let numbers: std::collections::HashSet<u64> = (0..50).map(|_| below(u64::MAX)).collect();
        assert!(numbers.len() > 40);
    }
}
