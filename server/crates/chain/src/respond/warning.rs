//! Warning headers: texts for people, collected while a request is handled, sent whether it
//! succeeds or not (upstream: `k8s.io/apiserver/pkg/endpoints/filters/warning.go`).

use http::HeaderValue;
use http::header::WARNING;
use parking_lot::Mutex;

use crate::body::Response;

/// Beyond this many characters in all, each text is cut.
const TOTAL_CHARS_MAX: usize = 4 * 1024;
/// The length that texts are cut to, then.
const CUT_CHARS: usize = 256;

/// The warnings of one request.
#[derive(Debug, Default)]
pub struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds a text; one that is there already or that no header can hold is dropped.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut texts = self.0.lock();
        if !text.is_empty() && !texts.contains(&text) && warning_header(&text).is_some() {
            texts.push(text);
        }
    }

    /// Adds several.
    pub fn extend<T: Into<String>>(&self, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.add(text));
    }

    /// Puts them on the answer.
    pub fn put_on(&self, response: &mut Response) {
        let texts = self.0.lock();
        let total: usize = texts.iter().map(|text| text.chars().count()).sum();
        let mut room = TOTAL_CHARS_MAX;
        for text in texts.iter() {
            let length = if total > TOTAL_CHARS_MAX { CUT_CHARS } else { usize::MAX };
            let cut: String = text.chars().take(length).collect();
            let Some(rest) = room.checked_sub(cut.chars().count()) else { return };
            room = rest;
            if let Some(header) = warning_header(&cut) {
                response.headers_mut().append(WARNING, header);
            }
        }
    }
}

/// `299 - "text"`, quoted; `None` for texts with control characters.
pub fn warning_header(text: &str) -> Option<HeaderValue> {
    if text.chars().any(char::is_control) {
        return None;
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(texts: &[&str]) -> Vec<String> {
        let warnings = Warnings::default();
        warnings.extend(texts.iter().copied());
        let mut response = Response::default();
        warnings.put_on(&mut response);
        let headers = response.headers().get_all(WARNING);
        headers.iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    #[test]
    fn quotes_and_drops() {
        let long = "x".repeat(5000);
        let cases: &[(&[&str], &[String])] = &[
            (&["unknown field \"a\""], &[r#"299 - "unknown field \"a\"""#.into()]),
            (&["a", "a", "b"], &["299 - \"a\"".into(), "299 - \"b\"".into()]),
            (&["two\nlines"], &[]),
            (&[&long], &[format!("299 - \"{}\"", "x".repeat(256))]),
        ];
        for (texts, expected) in cases {
            assert_eq!(sent(texts), *expected, "{texts:?}");
        }
    }
}
