//! Where a container ends, found 64 bytes at a time: what is passed over is most of many an object.
//!
//! Position: below the cursor. Works on masks with a bit for each byte, without a branch for each string.

use crate::swar;

/// Every second bit, from the first.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// What is known after some blocks of a container's text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nesting {
    /// How many containers are open.
    depth: u32,
    /// All bits, where the next byte is inside of a string.
    in_string: u64,
    /// Whether the next byte follows a backslash that escapes it.
    escaped: bool,
}

impl Nesting {
    /// Behind which byte of the block the outermost container ends, if it does.
    pub(crate) fn end_in(&mut self, block: &[u8; 64]) -> Option<usize> {
        let (mut quotes, mut backslashes, mut opening, mut closing) = (0, 0, 0, 0);
        for (at, chunk) in block.chunks_exact(8).enumerate() {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            let word = u64::from_le_bytes(word);
            // `[` and `{` are a bit apart, and so are `]` and `}`.
            let folded = word | 0x2020_2020_2020_2020;
            quotes |= swar::mask(word, b'"') << (8 * at);
            backslashes |= swar::mask(word, b'\\') << (8 * at);
            opening |= swar::mask(folded, b'{') << (8 * at);
            closing |= swar::mask(folded, b'}') << (8 * at);
        }
        let escaped = self.escapes(backslashes);
        let in_string = self.strings(quotes & !escaped);
        self.count(opening & !in_string, closing & !in_string)
    }

    /// The bytes that a backslash escapes.
    fn escapes(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return u64::from(std::mem::take(&mut self.escaped));
        }
        // A run of backslashes escapes what follows it where it is odd: adding its first bit to it carries
        // to the bit behind it, whose place is even or odd as the run's first is and as its length says.
        let before = u64::from(self.escaped);
        let backslashes = backslashes & !before;
        let follows = backslashes << 1 | before;
        let odd_starts = backslashes & !EVEN & !follows;
        let (even_runs, carried) = odd_starts.overflowing_add(backslashes);
        self.escaped = carried;
        (EVEN ^ (even_runs << 1)) & follows
    }

    /// The bytes inside of strings, their opening quotes included.
    fn strings(&mut self, quotes: u64) -> u64 {
        let mut inside = quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            inside ^= inside << shift;
        }
        inside ^= self.in_string;
        self.in_string = if inside >> 63 == 1 { u64::MAX } else { 0 };
        inside
    }

    fn count(&mut self, opening: u64, closing: u64) -> Option<usize> {
        if closing.count_ones() < self.depth {
            // Whatever their order, the outermost stays open.
            self.depth = self.depth + opening.count_ones() - closing.count_ones();
            return None;
        }
        let mut left = opening | closing;
        while left != 0 {
            let at = left.trailing_zeros();
            left &= left - 1;
            if opening >> at & 1 == 1 {
                self.depth += 1;
            } else {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    return Some(at as usize + 1);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, byte by byte.
    fn plainly(text: &[u8]) -> Option<usize> {
        let (mut depth, mut in_string, mut escaped) = (0u32, false, false);
        for (at, byte) in text.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    proptest! {
        #[test]
        fn ends_where_it_ends(text in r#"[{\[]([{}\[\]a:]|"([a{}\[\]]|\\"|\\\\|\\\[)*"){0,200}"#, pad in 0usize..70) {
            // Strings of any length before the rest move it across the blocks.
            let text = format!("[\"{}\",{text}", "x".repeat(pad)).into_bytes();
            let mut nesting = Nesting::default();
            let mut found = None;
            for (at, chunk) in text.chunks(64).enumerate() {
                let mut block = [0; 64];
                block[..chunk.len()].copy_from_slice(chunk);
                if let Some(length) = nesting.end_in(&block) {
                    found = Some(64 * at + length);
                    break;
                }
            }
            prop_assert_eq!(found, plainly(&text));
        }
    }
}
