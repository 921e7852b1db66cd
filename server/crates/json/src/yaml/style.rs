//! How a string is written: plain where it can be, in quotes where it must.

use super::resolve;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// The style of a string; keys stay on their line.
pub(super) fn of(text: &str, simple_key: bool) -> Style {
    if is_word(text) {
        return if resolve::is_string(text) { Style::Plain } else { Style::DoubleQuoted };
    }
    let traits = Traits::of(text);
    if text.contains('\n') {
        return if traits.literal && !simple_key { Style::Literal } else { Style::DoubleQuoted };
    }
    match (resolve::is_string(text), traits) {
        (true, Traits { plain: true, .. }) => Style::Plain,
        (true, Traits { single_quoted: true, .. }) => Style::SingleQuoted,
        _ => Style::DoubleQuoted,
    }
}

/// Whether a text is of letters, digits and what is of no meaning to YAML.
fn is_word(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_');
    match text.as_bytes() {
        [first, rest @ ..] => {
            first.is_ascii_alphanumeric() && rest.iter().all(|byte| fine(*byte) || *byte == b'-')
        }
        [] => false,
    }
}

/// Whether a key fits before a colon; others need a question mark.
pub(super) fn is_simple_key(text: &str) -> bool {
    text.len() <= 128 && !text.contains('\n')
}

/// Whether a character needs no escape. libyaml knows none beyond 16 bits; of the line breaks only one is the same
/// in all versions of YAML.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Which styles keep a string what it is.
struct Traits {
    plain: bool,
    single_quoted: bool,
    literal: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let is_blank = |c: char| matches!(c, ' ' | '\t');
        let mut indicator = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut space_break, mut break_space) = (false, false, false);
        let mut before = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let blank_follows = characters.peek().is_none_or(|c| is_blank(*c));
            indicator |= match c {
                '#' => before.is_none_or(|c| c == '\n' || is_blank(c)),
                ':' => blank_follows,
                '?' | '-' => before.is_none() && blank_follows,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    before.is_none()
                }
                _ => false,
            };
            special |= !is_printable(c);
            space_break |= c == '\n' && before == Some(' ');
            break_space |= c == ' ' && before == Some('\n');
            before = Some(c);
        }
        Self {
            plain: !(indicator || special || text.starts_with(' ') || text.ends_with(' ')),
            single_quoted: !(special || space_break || break_space),
            literal: !(special || space_break || text.ends_with(' ')),
        }
    }
}
