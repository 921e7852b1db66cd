//! Names that the server makes up: `generateName` and five random characters.

use uuid::Uuid;

/// No vowels, no digits that look like letters.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
const NAME_MAX: usize = 63;

/// A name for a prefix, which is cut where the name would be too long.
pub fn generate(prefix: &str) -> String {
    let mut end = prefix.len().min(NAME_MAX - SUFFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::with_capacity(end + SUFFIX);
    name.push_str(&prefix[..end]);
    // The low 62 bits of a version 4 uuid are random.
    let mut random = Uuid::new_v4().as_u64_pair().1 & (u64::MAX >> 2);
    for _ in 0..SUFFIX {
        name.push(ALPHABET[(random % ALPHABET.len() as u64) as usize].into());
        random /= ALPHABET.len() as u64;
    }
    name
}

/// A new uid.
pub(crate) fn uid() -> String {
    Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_kept_or_cut() {
        let name = generate("gen-");
        assert!(name.starts_with("gen-") && name.len() == 9 && name != generate("gen-"));
        assert!(name.bytes().skip(4).all(|byte| ALPHABET.contains(&byte)));
        assert_eq!(generate(&"é".repeat(40)).len(), 63);
    }
}
