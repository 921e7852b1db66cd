//! The labels of a stored object in one piece of memory: a selector that is tried on thousands of objects reads
//! little of each.

use std::fmt;

use compact_str::CompactString;

/// Labels: of each the lengths of key and value in two bytes each, then both.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct LabelSet(Box<[u8]>);

impl LabelSet {
    /// Of these pairs. Labels that are longer than any valid one are left out.
    pub(crate) fn of(pairs: &[(CompactString, CompactString)]) -> Self {
        let mut bytes =
            Vec::with_capacity(pairs.iter().map(|(key, value)| 4 + key.len() + value.len()).sum());
        for (key, value) in pairs {
            if let (Ok(key_len), Ok(value_len)) = (u16::try_from(key.len()), u16::try_from(value.len())) {
                bytes.extend_from_slice(&key_len.to_le_bytes());
                bytes.extend_from_slice(&value_len.to_le_bytes());
                bytes.extend_from_slice(key.as_bytes());
                bytes.extend_from_slice(value.as_bytes());
            }
        }
        Self(bytes.into())
    }

    /// A label's value; the last one where JSON had several.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.iter().filter(|(one, _)| *one == key.as_bytes()).last();
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (lengths, after) = rest.split_first_chunk::<4>()?;
            let [key_low, key_high, value_low, value_high] = *lengths;
            let (key, after) = after.split_at_checked(u16::from_le_bytes([key_low, key_high]).into())?;
            let (value, after) =
                after.split_at_checked(u16::from_le_bytes([value_low, value_high]).into())?;
            rest = after;
            Some((key, value))
        })
    }
}

impl fmt::Debug for LabelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |(key, value)| (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
        f.debug_map().entries(self.iter().map(text)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values() {
        let long = "x".repeat(1 << 16);
        let pairs = [
            ("a", "1"),
            ("app.kubernetes.io/name", "web"),
            ("empty", ""),
            (&long, "2"),
            ("é", "ü"),
            ("a", "3"),
        ];
        let set = LabelSet::of(&pairs.map(|(key, value)| (key.into(), value.into())));
        for (key, value) in [
            ("a", Some("3")),
            ("app.kubernetes.io/name", Some("web")),
            ("empty", Some("")),
            ("é", Some("ü")),
            ("", None),
            ("app", None),
            (&long, None),
        ] {
            assert_eq!(set.get(key), value, "{key}");
        }
        assert_eq!(LabelSet::default().get(""), None);
    }
}
