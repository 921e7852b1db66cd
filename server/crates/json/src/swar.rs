//! Eight bytes looked at at once: the strings of objects are mostly text that stands for itself.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Whether one of eight bytes ends the plain part of a JSON string: a quote, a backslash or a control character.
pub(crate) fn has_special(word: u64) -> bool {
    (below_space(word) & HIGHS) | ends(word) != 0
}

/// The first high bit that is set is that of the first quote or backslash; the others are not to be relied on.
pub(crate) fn ends(word: u64) -> u64 {
    (equals(word, b'"') | equals(word, b'\\')) & HIGHS
}

/// Whether all of eight bytes are ASCII that Go's encoder writes as it is.
pub(crate) fn is_plain(word: u64) -> bool {
    let escaped = equals(word, b'<') | equals(word, b'>') | equals(word, b'&');
    !has_special(word) && (escaped | word) & HIGHS == 0
}

/// The high bit of a byte is set where it is less than a space; bytes behind such a one may have it, too.
fn below_space(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word
}

fn equals(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference
}

/// A bit for each of eight bytes that is this one.
pub(crate) fn mask(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * u64::from(byte));
    // Without borrows: each byte is judged by itself.
    let same = !(((difference & !HIGHS) + !HIGHS) | difference | !HIGHS);
    // Gathers the high bits in the highest byte.
    (same >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_at_each_place() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut word = *b"abcdefgh";
                word[at] = byte;
                let word = u64::from_le_bytes(word);
                let special = byte < 0x20 || matches!(byte, b'"' | b'\\');
                assert_eq!(has_special(word), special, "{byte:#x} at {at}");
                if matches!(byte, b'"' | b'\\') {
                    assert_eq!(ends(word).trailing_zeros() as usize / 8, at, "{byte:#x} at {at}");
                }
                let plain = !special && byte < 0x80 && !matches!(byte, b'<' | b'>' | b'&');
                assert_eq!(is_plain(word), plain, "{byte:#x} at {at}");
                let expected = if (b'a'..=b'h').contains(&byte) { mask(word, byte) } else { 1 << at };
                assert_eq!(mask(word, byte) | 1 << at, expected | 1 << at, "{byte:#x} at {at}");
            }
        }
    }
}
