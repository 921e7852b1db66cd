//! The query string, read as Go's `url.ParseQuery` reads it.
//!
//! What cannot be understood is left out: pairs with a semicolon, pairs with a broken escape.

/// The parameters of a query, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the text behind the question mark.
    pub fn parse(text: &str) -> Self {
        Self(
            text.split('&')
                .filter(|pair| !pair.is_empty() && !pair.contains(';'))
                .filter_map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    Some((unescape(name)?, unescape(value)?))
                })
                .collect(),
        )
    }

    /// A parameter's first value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(its_name, _)| its_name == name).map(|(_, value)| value.as_str())
    }

    /// Whether the parameter is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A parameter's values, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(its_name, _)| its_name == name).map(|(_, value)| value.as_str())
    }

    /// The parameters in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn unescape(text: &str) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.into());
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let (high, low) = (hex(*bytes.get(at + 1)?)?, hex(*bytes.get(at + 2)?)?);
                out.push(high << 4 | low);
                at += 3;
            }
            b'+' => {
                out.push(b' ');
                at += 1;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::Query;

    #[test]
    fn reads_as_go_does() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("limit=5&watch", &[("limit", "5"), ("watch", "")]),
            ("limit=1;watch=1", &[]),
            ("limit=%zz&a=%62", &[("a", "b")]),
            ("a=b%2", &[]),
            ("labelSelector=a%3Db+c&labelSelector=d", &[("labelSelector", "a=b c"), ("labelSelector", "d")]),
            ("a=b=c", &[("a", "b=c")]),
        ];
        for (text, expected) in cases {
            assert_eq!(Query::parse(text).iter().collect::<Vec<_>>(), *expected, "{text}");
        }
    }
}
