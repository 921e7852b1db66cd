//! Which form a client wants its answer in: the Accept header, and what asks for indentation.
//!
//! Upstream: `k8s.io/apiserver/pkg/endpoints/handlers/negotiation`, `munnerz/goautoneg`.

use http::header::{ACCEPT, USER_AGENT};
use http::request::Parts;

use crate::query::Query;

/// A format that objects are written and read in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Media {
    /// `application/json`
    #[default]
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// The form of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The format.
    pub media: Media,
    /// Whether JSON is indented.
    pub pretty: bool,
}

/// One alternative of an Accept header.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<'a> {
    /// `application`, or `*`.
    pub kind: &'a str,
    /// `json`, or `*`.
    pub subkind: &'a str,
    /// The preference, 1 where it is not said.
    pub quality: f32,
    /// The other parameters, in order.
    pub params: Vec<(&'a str, &'a str)>,
}

impl Media {
    /// All of them, in the server's order of preference.
    pub const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Protobuf];

    /// The media type.
    pub fn mime(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The format of this media type, without parameters.
    pub fn of(mime: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|media| media.mime() == mime)
    }

    /// Whether watches can be written in it.
    pub fn streams(self) -> bool {
        match self {
            Self::Json | Self::Protobuf => true,
            Self::Yaml => false,
        }
    }

    /// What the media type says behind `application/`.
    pub fn subtype(self) -> &'static str {
        &self.mime()["application/".len()..]
    }
}

impl Form {
    /// The form for an object that is sent as it is; `None` where no acceptable one is spoken.
    pub fn plain(head: &Parts) -> Option<Self> {
        let header = accept(head);
        if header.is_empty() {
            return Some(Self { media: Media::Json, pretty: asks_for_pretty(head) });
        }
        let clauses = parse_accept(header);
        let (clause, media) = candidates(&clauses).find(|(clause, media)| is_plain(clause, *media))?;
        let pretty = clause.params.contains(&("pretty", "1")) || asks_for_pretty(head);
        Some(Self { media, pretty })
    }
}

/// The Accept header, empty where there is none.
pub fn accept(head: &Parts) -> &str {
    head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Each alternative with each format that it matches, in order of preference.
pub fn candidates<'c, 'a>(clauses: &'c [Clause<'a>]) -> impl Iterator<Item = (&'c Clause<'a>, Media)> {
    clauses.iter().flat_map(|clause| {
        Media::ALL.into_iter().filter(|media| clause.matches(*media)).map(move |media| (clause, media))
    })
}

impl Clause<'_> {
    /// Whether it names this format, or any.
    pub fn matches(&self, media: Media) -> bool {
        match (self.kind, self.subkind) {
            ("*", subkind) => subkind == "*",
            ("application", "*") => true,
            ("application", subkind) => subkind == media.subtype(),
            _ => false,
        }
    }
}

/// The alternatives of an Accept header, best first. Named types come before wildcards, whatever
/// their quality, as goautoneg's comparison has it.
pub fn parse_accept(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(parse_clause).collect();
    for last in 1..clauses.len() {
        let mut at = last;
        while at > 0 && precedes(&clauses[at], &clauses[at - 1]) {
            clauses.swap(at, at - 1);
            at -= 1;
        }
    }
    clauses
}

/// Whether the query or a browser-like user agent asks for indented JSON.
pub fn asks_for_pretty(head: &Parts) -> bool {
    let query = head.uri.query().unwrap_or_default();
    if query.contains("pretty")
        && let Some(value) = Query::parse(query).get("pretty").filter(|value| !value.is_empty())
    {
        return matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True");
    }
    let agent = head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix))
}

/// Whether a clause asks for an object as it is: no conversion, no server version, no odd stream.
fn is_plain(clause: &Clause<'_>, media: Media) -> bool {
    clause.params.iter().all(|(name, value)| match *name {
        "as" | "g" | "v" => false,
        "stream" => value.is_empty() || (media.streams() && *value == "watch"),
        "sv" => value.is_empty(),
        _ => true,
    })
}

fn parse_clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';');
    let range = parts.next().unwrap_or_default().trim_matches(' ');
    let (kind, subkind) = match range.split_once('/') {
        Some((kind, subkind)) if !subkind.contains('/') && !subkind.is_empty() => (kind, subkind),
        None if range == "*" => ("*", "*"),
        _ => return None,
    };
    let mut clause = Clause {
        kind: kind.trim_matches(' '),
        subkind: subkind.trim_matches(' '),
        quality: 1.0,
        params: vec![],
    };
    for param in parts {
        let Some((name, value)) = param.split_once('=').filter(|(_, value)| !value.contains('=')) else {
            continue;
        };
        match (name.trim_matches(' '), value.trim_matches(' ')) {
            (_, "") => {}
            ("q", value) => clause.quality = value.parse().unwrap_or(0.0),
            (name, value) => clause.params.push((name, value)),
        }
    }
    Some(clause)
}

fn precedes(a: &Clause<'_>, b: &Clause<'_>) -> bool {
    a.quality > b.quality || (a.kind != "*" && b.kind == "*") || (a.subkind != "*" && b.subkind == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(uri: &str, headers: &[(http::HeaderName, &str)]) -> Parts {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn picks_the_form() {
        const JSON: Option<Media> = Some(Media::Json);
        const YAML: Option<Media> = Some(Media::Yaml);
        const PROTOBUF: Option<Media> = Some(Media::Protobuf);
        let cases = [
            ("", JSON),
            ("*/*", JSON),
            ("application/*", JSON),
            ("application/yaml", YAML),
            ("application/vnd.kubernetes.protobuf,application/json", PROTOBUF),
            ("application/json;q=0.5,application/yaml;q=0.9", YAML),
            ("*/*,application/yaml;q=0.1", YAML),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", JSON),
            ("application/json;as=Table;v=v1;g=meta.k8s.io", None),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", JSON),
            ("application/json;stream=watch", JSON),
            ("application/yaml;stream=watch", None),
            ("text/html", None),
            ("application/cbor", None),
        ];
        for (header, expected) in cases {
            let head = head("/", &[(ACCEPT, header)]);
            assert_eq!(Form::plain(&head).map(|form| form.media), expected, "{header}");
        }
    }

    #[test]
    fn indents_for_people() {
        let cases = [
            ("/", "kubectl/v1.36", "", false),
            ("/?pretty=true", "kubectl", "", true),
            ("/?pretty=1", "kubectl", "", true),
            ("/?pretty=false", "curl/8", "", false),
            ("/?pretty=", "curl/8", "", true),
            ("/", "curl/8.5.0", "", true),
            ("/", "Wget/1.21", "", true),
            ("/", "kubectl", "application/json;pretty=1", true),
            ("/", "kubectl", "application/json;pretty=0", false),
        ];
        for (uri, agent, accept, expected) in cases {
            let head = head(uri, &[(USER_AGENT, agent), (ACCEPT, accept)]);
            assert_eq!(Form::plain(&head).map(|form| form.pretty), Some(expected), "{uri} {agent} {accept}");
        }
    }
}
