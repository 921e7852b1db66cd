//! Field selectors: `metadata.name=x,status.phase!=Running`.
//!
//! Invariant: terms are sorted by their text, as upstream sorts them, so that equal selectors show equally.

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

impl FieldSelector {
    /// Parses `a=b,c!=d`; in values, `\` escapes itself, `,` and `=`.
    ///
    /// # Errors
    /// With upstream's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let mut requirements = Vec::new();
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let Some((field, negated, value)) = split_term(term) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
            };
            requirements.push(Requirement { field: field.into(), value: unescape(value)?, negated });
        }
        Ok(Self { requirements })
    }

    /// A selector of one field's one value.
    pub fn one(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self { requirements: vec![Requirement { field: field.into(), value: value.into(), negated: false }] }
    }

    /// Whether fields, looked up by name, meet all requirements; a field that is not there is empty.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|one| (field(&one.field).unwrap_or_default() == one.value) != one.negated)
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The one value that a field must have.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let one = self.requirements.iter().find(|one| one.field == field && !one.negated)?;
        Some(&one.value)
    }

    /// The selector with each field and value replaced by what `convert` makes of them: how a kind refuses fields it
    /// does not select by. Where both become empty the requirement is dropped.
    ///
    /// # Errors
    /// The first error of `convert`.
    pub fn try_map<E>(
        &self,
        mut convert: impl FnMut(&str, &str) -> Result<(String, String), E>,
    ) -> Result<Self, E> {
        let mut requirements = Vec::with_capacity(self.requirements.len());
        for one in &self.requirements {
            let (field, value) = convert(&one.field, &one.value)?;
            if !(field.is_empty() && value.is_empty()) {
                requirements.push(Requirement { field, value, negated: one.negated });
            }
        }
        Ok(Self { requirements })
    }
}

/// As it is written in a query.
impl std::fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, one) in self.requirements.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let operator = if one.negated { "!=" } else { "=" };
            write!(f, "{comma}{}{operator}{}", one.field, escape(&one.value))?;
        }
        Ok(())
    }
}

impl std::str::FromStr for FieldSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// A value as it is written in a selector.
pub fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                Some(other) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{other}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            // Upstream shows the number of the character.
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", c as u32));
            }
            c => value.push(c),
        }
    }
    Ok(value)
}

/// The texts between the commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// The field, whether the operator negates, and the value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in term.char_indices() {
        let rest = &term[at..];
        for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((&term[..at], negated, value));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_show_in_canonical_form() {
        let table = [
            ("", ""),
            ("b=2,a=1", "a=1,b=2"),
            ("a==1", "a=1"),
            ("a!=1,,b=", "a!=1,b="),
            (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
            ("=x", "=x"),
        ];
        for (text, expected) in table {
            assert_eq!(
                FieldSelector::parse(text).map(|selector| selector.to_string()),
                Ok(expected.into()),
                "{text}"
            );
        }
    }

    #[test]
    fn faults_have_the_words_of_upstream() {
        let table = [
            ("a", "invalid selector: 'a'; can't understand 'a'"),
            ("a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=b\", r"invalid field selector: invalid escape sequence: \"),
        ];
        for (text, expected) in table {
            assert_eq!(FieldSelector::parse(text), Err(expected.into()), "{text}");
        }
    }

    #[test]
    fn matching() {
        let fields = |name: &str| (name == "a").then_some("1");
        for (text, expected) in [("", true), ("a=1", true), ("a!=1", false), ("b=", true), ("b!=x,a=1", true)]
        {
            assert_eq!(
                FieldSelector::parse(text).map(|selector| selector.matches(fields)),
                Ok(expected),
                "{text}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn values_survive_a_selector(value: String) {
            let selector = FieldSelector::one("a", value.as_str());
            assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn any_text_parses_or_fails(text in r"[ab!=,\\]{0,12}|.*") {
            let _ = FieldSelector::parse(&text);
        }
    }
}
