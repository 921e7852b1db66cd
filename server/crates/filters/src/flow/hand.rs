//! Shuffle sharding: the few queues that a flow may use.
//!
//! Each flow is dealt a hand of distinct queues by its hash, so that a flow which fills its own
//! hand hardly ever fills the whole hand of another.

/// The queues, of `deck` many, that a flow of this hash may use.
pub(super) fn deal(mut hash: u64, deck: usize, hand: usize) -> impl Iterator<Item = usize> {
    let mut dealt: Vec<usize> = Vec::with_capacity(hand);
    (0..hand.min(deck)).map(move |turn| {
        let left = (deck - turn) as u64;
        let mut card = (hash % left) as usize;
        hash /= left;
        // A card's number among those that are left becomes its number in the deck.
        let mut at = 0;
        while at < dealt.len() && dealt[at] <= card {
            card += 1;
            at += 1;
        }
        dealt.insert(at, card);
        card
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hands_are_distinct_cards_of_the_deck(hash: u64, deck in 1_usize..600, hand in 1_usize..12) {
            let mut cards: Vec<usize> = deal(hash, deck, hand).collect();
            prop_assert_eq!(cards.len(), hand.min(deck));
            prop_assert!(cards.iter().all(|card| *card < deck));
            cards.sort_unstable();
            cards.dedup();
            prop_assert_eq!(cards.len(), hand.min(deck));
        }
    }

    #[test]
    fn hashes_make_a_difference() {
        let first: Vec<usize> = deal(12_345_678_901_234, 64, 6).collect();
        let second: Vec<usize> = deal(98_765_432_109_876, 64, 6).collect();
        assert_ne!(first, second);
    }
}
