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
        let characters: Vec<char> = text.chars().collect();
        let is_blank = |c: &char| matches!(c, ' ' | '\t');
        let blank_or_end = |at: usize| characters.get(at).is_none_or(is_blank);
        let mut indicator = text.starts_with("---") || text.starts_with("...");
        let (mut special, mut space_break, mut break_space) = (false, false, false);
        for (at, &c) in characters.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| characters.get(at));
            indicator |= match c {
                '#' => before.is_none_or(|c| *c == '\n' || is_blank(c)),
                ':' => blank_or_end(at + 1),
                '?' | '-' => at == 0 && blank_or_end(1),
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                    at == 0
                }
                _ => false,
            };
            special |= !is_printable(c);
            space_break |= c == '\n' && before == Some(&' ');
            break_space |= c == ' ' && before == Some(&'\n');
        }
        Self {
            plain: !(indicator || special || text.starts_with(' ') || text.ends_with(' ')),
            single_quoted: !(special || space_break || break_space),
            literal: !(special || space_break || text.ends_with(' ')),
        }
    }
}
