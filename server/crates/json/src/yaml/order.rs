//! The order of keys in written YAML: letters last, numbers by their value (`a_`, `a9`, `a10`, `ab`).

use std::cmp::Ordering;

/// Sorts keys with what belongs to them. The order is upstream's, and nobody has shown it to be total; a merge sort
/// makes something of any order, where the standard library may panic.
pub(super) fn sort<T>(items: Vec<(&str, T)>) -> Vec<(&str, T)> {
    if items.len() < 2 {
        return items;
    }
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let (mut left, mut right) = (sort(left).into_iter().peekable(), sort(right).into_iter().peekable());
    let mut sorted = Vec::with_capacity(left.len() + right.len());
    loop {
        let take_right = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => compare(b.0, a.0).is_lt(),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        match if take_right { right.next() } else { left.next() } {
            Some(item) => sorted.push(item),
            None => return sorted,
        }
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let Some((at, (x, y))) =
        a.char_indices().zip(b.chars()).map(|((at, x), y)| (at, (x, y))).find(|(_, (x, y))| x != y)
    else {
        return a.len().cmp(&b.len());
    };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // Behind a number that has begun already, a zero is a digit like others.
    let begun = (x == '0' || y == '0')
        && a[..at].bytes().rev().take_while(u8::is_ascii_digit).any(|digit| digit != b'0');
    let (a_number, a_len) = number(&a[at..], begun);
    let (b_number, b_len) = number(&b[at..], begun);
    a_number.cmp(&b_number).then(a_len.cmp(&b_len)).then(x.cmp(&y))
}

fn number(text: &str, begun: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(begun), 0), |(number, len), digit| {
        (number.wrapping_mul(10).wrapping_add((digit - b'0').into()), len + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_order() {
        let sorted =
            ["", "1", "2", "10", "A", "B", "a", "a-b", "a_b", "a1", "a01", "a2", "a10", "a100", "ab", "b"];
        for (at, a) in sorted.iter().enumerate() {
            for (other, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), at.cmp(&other), "{a} {b}");
            }
        }
        let shuffled = sorted.iter().rev().map(|key| (*key, ())).collect();
        assert_eq!(sort(shuffled).into_iter().map(|item| item.0).collect::<Vec<_>>(), sorted);
    }
}
