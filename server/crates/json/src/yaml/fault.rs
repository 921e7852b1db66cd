//! The words of go-yaml, a port of libyaml, for what the parser refuses.
//!
//! Invariant: lines are counted as go-yaml counts them, which is one off for errors of its parser
//! and leaves out the first line.

use granit_parser::{ErrorKind, ScanError};

use crate::Error;

/// An error without a place.
pub(super) fn plain(message: impl std::fmt::Display) -> Error {
    Error { message: format!("yaml: {message}") }
}

/// The text, where it is UTF-8 without control characters.
pub(super) fn check_text(bytes: &[u8]) -> Result<&str, Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let first = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        plain(match (error.error_len(), first) {
            (None, _) => "incomplete UTF-8 octet sequence",
            (_, 0x80..0xc0 | 0xf8..) => "invalid leading UTF-8 octet",
            _ => "invalid trailing UTF-8 octet",
        })
    })?;
    let refused = |c: char| !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    if text.contains(refused) { Err(plain("control characters are not allowed")) } else { Ok(text) }
}

/// Which part of libyaml finds a fault: they count lines differently.
enum Finder {
    Scanner,
    Parser,
}

/// Where libyaml finds it.
enum Place {
    /// Where our parser finds it.
    Here,
    /// At the next token behind.
    Next,
    /// At the end of the text.
    End,
    /// At the end of the text, which is a line of its own where tokens end.
    EndToken,
}

/// The error for what the parser refused.
pub(super) fn of(error: &ScanError, text: &str) -> Error {
    let (finder, place, problem) = words(error.kind());
    // Counted from 0, as libyaml does.
    let here = error.marker().line().saturating_sub(1);
    let line = match place {
        Place::Here => here,
        Place::Next => {
            let behind = text.lines().enumerate().skip(here + 1);
            let mut tokens = behind
                .filter(|(_, line)| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'));
            tokens.next().map_or(text.matches('\n').count(), |(line, _)| line)
        }
        Place::End => text.matches('\n').count(),
        Place::EndToken => text.lines().count(),
    };
    match finder {
        _ if line == 0 => plain(problem),
        Finder::Scanner => plain(format_args!("line {}: {problem}", line + 1)),
        Finder::Parser => plain(format_args!("line {line}: {problem}")),
    }
}

fn words(kind: &ErrorKind) -> (Finder, Place, String) {
    use Finder::{Parser, Scanner};
    use Place::{End, EndToken, Here, Next};
    let (finder, place, problem) = match kind {
        ErrorKind::UnclosedFlowCollection { open: '[' } | ErrorKind::UnexpectedEofFlowSequence => {
            (Parser, EndToken, "did not find expected ',' or ']'")
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            (Parser, EndToken, "did not find expected ',' or '}'")
        }
        ErrorKind::MismatchedFlowCollectionEnd { open: '[', .. }
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement => (Parser, Here, "did not find expected ',' or ']'"),
        ErrorKind::MismatchedFlowCollectionEnd { .. } | ErrorKind::ExpectedFlowMappingSeparator => {
            (Parser, Here, "did not find expected ',' or '}'")
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::UnexpectedEofBlockMapping => {
            (Parser, Here, "did not find expected key")
        }
        ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::UnexpectedEofBlockSequence => {
            (Parser, Here, "did not find expected '-' indicator")
        }
        ErrorKind::ExpectedNodeContent | ErrorKind::MisplacedFlowCollectionEnd => {
            (Parser, Here, "did not find expected node content")
        }
        ErrorKind::ExpectedDocumentStart
        | ErrorKind::InvalidDocumentEnd
        | ErrorKind::MissingDocumentEndBeforeDirective
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            (Parser, Here, "did not find expected <document start>")
        }
        ErrorKind::UndeclaredTagHandle => (Parser, Here, "found undefined tag handle"),
        ErrorKind::DuplicateVersionDirective => (Parser, Here, "found duplicate %YAML directive"),
        ErrorKind::DuplicateTagDirective => (Parser, Here, "found duplicate %TAG directive"),
        ErrorKind::UnsupportedYamlMajorVersion => (Parser, Here, "found incompatible YAML document"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            (Scanner, Next, "could not find expected ':'")
        }
        ErrorKind::UnclosedQuotedScalar => (Scanner, End, "found unexpected end of stream"),
        ErrorKind::DocumentIndicatorInQuotedScalar => (Scanner, Here, "found unexpected document indicator"),
        ErrorKind::UnknownQuotedScalarEscape => (Scanner, Here, "found unknown escape character"),
        ErrorKind::InvalidQuotedScalarHexEscape | ErrorKind::InvalidLowSurrogateHexEscape => {
            (Scanner, Here, "did not find expected hexdecimal number")
        }
        ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidUnicodeEscape => (Scanner, Here, "found invalid Unicode character escape code"),
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation => (Scanner, Here, "found character that cannot start any token"),
        ErrorKind::TabInPlainScalar => (Scanner, Here, "found a tab character that violates indentation"),
        ErrorKind::TabAtBlockScalarStart => {
            (Scanner, Here, "found a tab character where an indentation space is expected")
        }
        ErrorKind::ZeroBlockScalarIndent => (Scanner, Here, "found an indentation indicator equal to 0"),
        ErrorKind::InvalidBlockScalarHeader | ErrorKind::InvalidDirectiveTerminator => {
            (Scanner, Here, "did not find expected comment or line break")
        }
        ErrorKind::MappingValueNotAllowed => {
            (Scanner, Here, "mapping values are not allowed in this context")
        }
        ErrorKind::MappingKeyNotAllowed => (Scanner, Here, "mapping keys are not allowed in this context"),
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::BlockEntryInFlowCollection => {
            (Scanner, Here, "block sequence entries are not allowed in this context")
        }
        ErrorKind::MissingAnchorOrAliasName => {
            (Scanner, Here, "did not find expected alphabetic or numeric character")
        }
        ErrorKind::MissingTagUri => (Scanner, Here, "did not find expected tag URI"),
        ErrorKind::InvalidTagTerminator => (Scanner, Here, "did not find expected whitespace or line break"),
        ErrorKind::UnclosedVerbatimTag => (Scanner, Here, "did not find the expected '>'"),
        ErrorKind::RecursionLimitExceeded => {
            return (Scanner, Here, format!("exceeded max depth of {}", super::DEPTH_MAX));
        }
        // What libyaml does not know as a fault, or not as one of its own.
        other => return (Scanner, Here, unprefixed(&other.to_string())),
    };
    (finder, place, problem.into())
}

/// libyaml keeps what it was doing apart from what was wrong.
fn unprefixed(problem: &str) -> String {
    match problem.split_once(", ") {
        Some((doing, problem)) if doing.starts_with("while ") => problem.into(),
        _ => problem.into(),
    }
}
