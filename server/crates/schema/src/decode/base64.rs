//! Base64 as Go's standard encoding reads it: padded, line breaks ignored, stray bits in the last
//! digit dropped, and faults told by their byte.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// The canonical spelling of a base64 text; `None` where it is canonical already. Where it is
/// none, the byte at which that shows.
pub(super) fn canonical(text: &str) -> Result<Option<String>, usize> {
    let joined = || text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect::<String>();
    let decoded =
        ENGINE.decode(text).or_else(|_| ENGINE.decode(joined())).map_err(|_| fault(text.as_bytes()))?;
    let spelt = ENGINE.encode(decoded);
    Ok((spelt != text).then_some(spelt))
}

/// Bytes as base64.
pub(super) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Where a text stops being base64.
fn fault(text: &[u8]) -> usize {
    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let mut digits = 0;
    for (at, byte) in text.iter().enumerate().filter(|(_, byte)| !is_break(byte)) {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => digits = (digits + 1) % 4,
            b'=' if digits >= 2 => {
                let mut rest = (at + 1..text.len()).filter(|at| !is_break(&text[*at]));
                if digits == 2 {
                    match rest.next() {
                        None => return text.len(),
                        Some(next) if text[next] != b'=' => return next - 1,
                        Some(_) => {}
                    }
                }
                return rest.next().unwrap_or(text.len());
            }
            _ => return at,
        }
    }
    text.len() - digits
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn spells_as_go_does_and_faults_where_go_does() {
        for (text, want) in [
            ("", Ok(None)),
            ("YQ==", Ok(None)),
            ("YR==", Ok(Some("YQ=="))),
            ("YW\nJj\r\n", Ok(Some("YWJj"))),
            ("***", Err(0)),
            ("YWJ", Err(0)),
            ("YWJjZA", Err(4)),
            ("YWJjZA=", Err(7)),
            ("YWJjZA=x", Err(6)),
            ("YWJjZA==x", Err(8)),
            ("YWJjZ===", Err(5)),
            ("=", Err(0)),
        ] {
            assert_eq!(canonical(text), want.map(|spelt| spelt.map(String::from)), "{text:?}");
        }
    }
}
