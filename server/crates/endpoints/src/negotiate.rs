//! What a client wants to get and what it sent: formats, conversions, the two kinds of refusal.
//!
//! Built-in resources are refused twice upstream: go-restful compares media types without
//! parameters before the handler runs, the handler reads qualities and conversions. Custom
//! resources meet the handler only. The texts differ, so both are here.

use apiwright_chain::negotiate::{accept, asks_for_pretty, candidates, parse_accept};
use apiwright_chain::{Form, Media};
use apiwright_meta::Status;
use apiwright_meta::status::{Details, Reason, Result};
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;

use crate::server::Flavour;

/// The patch formats of built-in resources.
pub(crate) const PATCH_TYPES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// The patch formats of custom resources, which have no merge keys for strategic merges.
pub(crate) const CUSTOM_PATCH_TYPES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// The format.
    pub(crate) form: Form,
    /// What the object is turned into.
    pub(crate) convert: Option<Convert>,
}

/// A conversion that any object knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convert {
    /// To what.
    pub(crate) to: ConvertTo,
    /// The version of `meta.k8s.io`.
    pub(crate) version: MetaVersion,
}

/// What objects can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConvertTo {
    /// Rows of cells, for people.
    Table,
    /// An object's metadata.
    PartialObjectMetadata,
    /// The metadata of a list's objects.
    PartialObjectMetadataList,
}

/// A version of `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    /// `meta.k8s.io/v1`
    V1,
    /// `meta.k8s.io/v1beta1`
    V1Beta1,
}

impl MetaVersion {
    /// As `apiVersion` has it.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// How to answer.
///
/// # Errors
/// 406 where no alternative of the Accept header can be served.
pub(crate) fn output(head: &Parts, flavour: Flavour) -> Result<Output> {
    output_where(head, flavour, |_| true)
}

/// How to answer with what is no stored object: a review or a token makes no table.
///
/// # Errors
/// 406 where no alternative of the Accept header can be served.
pub(crate) fn tableless_output(head: &Parts, flavour: Flavour) -> Result<Output> {
    let is_table = |convert: Convert| convert.to == ConvertTo::Table;
    output_where(head, flavour, |output| !output.convert.is_some_and(is_table))
}

fn output_where(head: &Parts, flavour: Flavour, fits: impl Fn(&Output) -> bool) -> Result<Output> {
    let header = accept(head);
    if header.is_empty() {
        return Ok(Output {
            form: Form { media: Media::Json, pretty: asks_for_pretty(head) },
            convert: None,
        });
    }
    let clauses = parse_accept(header);
    candidates(&clauses)
        .filter_map(|(clause, media)| accepted(&clause.params, media, flavour))
        .find(fits)
        .map(|mut output| {
            output.form.pretty |= asks_for_pretty(head);
            output
        })
        .ok_or_else(|| not_acceptable(&mimes(false)))
}

/// How to answer a watch.
///
/// # Errors
/// 406 also where the format cannot be streamed.
pub(crate) fn stream_output(head: &Parts, flavour: Flavour) -> Result<Output> {
    match output(head, flavour) {
        Ok(output) if output.form.media.streams() => Ok(output),
        _ => Err(not_acceptable(&mimes(true))),
    }
}

/// The format of a body; JSON where the client does not say.
///
/// # Errors
/// 415.
pub(crate) fn input(head: &Parts) -> Result<Media> {
    let header =
        head.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?")).unwrap_or_default();
    if header.is_empty() {
        return Ok(Media::Json);
    }
    media_type(header).and_then(|mime| Media::of(&mime)).ok_or_else(|| unsupported(&mimes(false)))
}

/// The format of a patch: the header up to the first semicolon, as it is.
///
/// # Errors
/// 415 where it is none of `known`.
pub(crate) fn patch_type(head: &Parts, known: &'static [&'static str]) -> Result<&'static str> {
    let header = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime = header.split(';').next().unwrap_or_default();
    known.iter().find(|one| **one == mime).copied().ok_or_else(|| unsupported(known))
}

/// What go-restful checks before a built-in resource's handler runs. `streams` is for collections,
/// which offer watches.
///
/// # Errors
/// 406 and 415 in its words.
pub(crate) fn check_route(head: &Parts, streams: bool) -> Result<()> {
    if head.method == Method::PATCH {
        let header = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let known = header.split(',').any(|one| PATCH_TYPES.contains(&without_parameters(one)));
        if !known {
            return Err(generic(415, Reason::UnsupportedMediaType, "415: Unsupported Media Type".into()));
        }
    }
    let header = accept(head);
    let header = if header.is_empty() { "*/*" } else { header };
    let acceptable =
        header.split(',').map(without_parameters).any(|mime| mime == "*/*" || Media::of(mime).is_some());
    if acceptable {
        return Ok(());
    }
    let mut available = mimes(false);
    if streams {
        available.extend(mimes(true));
    }
    let available = available.join(", ");
    let length = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let writes = matches!(head.method, Method::POST | Method::PUT | Method::PATCH);
    Err(if writes && matches!(length, "" | "0") {
        let message = format!("415: Unsupported Media Type\n\nAvailable representations: {available}");
        generic(415, Reason::UnsupportedMediaType, message)
    } else {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        generic(406, Reason::NotAcceptable, message)
    })
}

/// 406 in the handler's words for a conversion that an object does not know.
pub(crate) fn cannot_convert(message: String) -> Box<Status> {
    Status::failure(406, Reason::NotAcceptable, message)
}

/// The refusal to show one object, of this Go type, as the metadata of many.
pub(crate) fn no_list(go_type: &str) -> Box<Status> {
    cannot_convert(format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list ({go_type})"
    ))
}

/// One alternative's parameters, where they ask for what can be served.
fn accepted(params: &[(&str, &str)], media: Media, flavour: Flavour) -> Option<Output> {
    let (mut kind, mut group, mut version, mut converts, mut pretty) = ("", "", "", false, false);
    for (name, value) in params {
        match *name {
            "as" => (kind, converts) = (value, true),
            "g" => (group, converts) = (value, true),
            "v" => (version, converts) = (value, true),
            "stream" if !(value.is_empty() || (media.streams() && *value == "watch")) => return None,
            "sv" if !value.is_empty() && *value != "v1" => return None,
            "pretty" => pretty = *value == "1",
            _ => {}
        }
    }
    let form = Form { media, pretty };
    if !converts {
        let spoken = flavour == Flavour::BuiltIn || media != Media::Protobuf;
        return spoken.then_some(Output { form, convert: None });
    }
    let version = match (group, version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1Beta1,
        _ => return None,
    };
    let to = match kind {
        "Table" if media != Media::Protobuf => ConvertTo::Table,
        "PartialObjectMetadata" => ConvertTo::PartialObjectMetadata,
        "PartialObjectMetadataList" => ConvertTo::PartialObjectMetadataList,
        _ => return None,
    };
    Some(Output { form, convert: Some(Convert { to, version }) })
}

/// The media type of a Content-Type header, where its parameters are well formed.
fn media_type(header: &str) -> Option<String> {
    let mut parts = header.split(';').map(|part| part.trim_matches([' ', '\t']));
    let mime = parts.next()?.to_ascii_lowercase();
    let well_formed = parts.all(|param| match param.split_once('=') {
        Some((name, value)) => !name.trim().is_empty() && !value.trim().is_empty(),
        None => param.is_empty(),
    });
    well_formed.then_some(mime)
}

fn without_parameters(mime: &str) -> &str {
    mime.split(';').next().unwrap_or_default().trim_matches(' ')
}

fn mimes(streaming: bool) -> Vec<&'static str> {
    if streaming {
        vec!["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
    } else {
        Media::ALL.into_iter().map(Media::mime).collect()
    }
}

fn not_acceptable(accepted: &[&str]) -> Box<Status> {
    let message = format!("only the following media types are accepted: {}", accepted.join(", "));
    Status::failure(406, Reason::NotAcceptable, message)
}

fn unsupported(accepted: &[&str]) -> Box<Status> {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    Status::failure(415, Reason::UnsupportedMediaType, message)
}

/// What upstream makes of an HTTP error that has no Status of its own: one with empty details.
pub(crate) fn generic(code: u16, reason: Reason, message: String) -> Box<Status> {
    let mut status = Status::failure(code, reason, message);
    status.details = Some(Box::new(Details::default()));
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Option<(Media, Option<Convert>)>;

    fn head(method: &Method, headers: &[(http::HeaderName, &str)]) -> Parts {
        let mut request = http::Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn reads_conversions() {
        use ConvertTo::{PartialObjectMetadata, PartialObjectMetadataList, Table};
        let v1 = |to| Some(Convert { to, version: MetaVersion::V1 });
        let both = [Flavour::BuiltIn, Flavour::Custom];
        let cases: &[(&str, &[Flavour], Found)] = &[
            ("", &both, Some((Media::Json, None))),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                &both,
                Some((Media::Json, v1(Table))),
            ),
            ("application/yaml;as=Table;v=v1;g=meta.k8s.io", &both, Some((Media::Yaml, v1(Table)))),
            ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", &both, None),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                &both,
                Some((Media::Protobuf, v1(PartialObjectMetadata))),
            ),
            (
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                &both,
                Some((Media::Json, v1(PartialObjectMetadataList))),
            ),
            ("application/json;as=Table;v=v9;g=meta.k8s.io", &both, None),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
                &both,
                Some((Media::Json, None)),
            ),
            ("application/json;as=Chart;v=v1;g=meta.k8s.io", &both, None),
            ("application/vnd.kubernetes.protobuf", &[Flavour::BuiltIn], Some((Media::Protobuf, None))),
            ("application/vnd.kubernetes.protobuf", &[Flavour::Custom], None),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                &[Flavour::Custom],
                Some((Media::Json, None)),
            ),
        ];
        for (accept, flavours, expected) in cases {
            for flavour in *flavours {
                let head = head(&Method::GET, &[(http::header::ACCEPT, accept)]);
                let found = output(&head, *flavour).ok().map(|output| (output.form.media, output.convert));
                assert_eq!(found, *expected, "{accept} {flavour:?}");
            }
        }
    }

    #[test]
    fn reads_content_types() {
        let cases = [
            ("", Some(Media::Json)),
            ("application/json; charset=utf-8", Some(Media::Json)),
            ("Application/JSON", Some(Media::Json)),
            ("application/yaml", Some(Media::Yaml)),
            ("application/vnd.kubernetes.protobuf", Some(Media::Protobuf)),
            ("application/json; charset", None),
            ("application/merge-patch+json", None),
            ("text/plain", None),
            ("nonsense", None),
        ];
        for (header, expected) in cases {
            let headers = [(CONTENT_TYPE, header)];
            let headers = if header.is_empty() { &[][..] } else { &headers[..] };
            assert_eq!(input(&head(&Method::POST, headers)).ok(), expected, "{header}");
        }
    }

    #[test]
    fn checks_routes_as_go_restful_does() {
        let json = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        let not_acceptable = format!("406: Not Acceptable\n\nAvailable representations: {json}");
        let cases = [
            (Method::GET, "", "", None),
            (Method::GET, "*/*", "", None),
            (Method::GET, "application/*", "", Some(not_acceptable.as_str())),
            (Method::GET, "text/html", "", Some(&not_acceptable)),
            (Method::GET, "text/html, application/json;as=Table", "", None),
            (Method::PATCH, "", "application/merge-patch+json; charset=utf-8", None),
            (Method::PATCH, "", "application/json", Some("415: Unsupported Media Type")),
            (Method::PATCH, "", "", Some("415: Unsupported Media Type")),
            (Method::POST, "", "text/plain", None),
        ];
        for (method, accept, content, expected) in cases {
            let mut headers = Vec::new();
            if !accept.is_empty() {
                headers.push((http::header::ACCEPT, accept));
            }
            if !content.is_empty() {
                headers.push((CONTENT_TYPE, content));
            }
            let refusal = check_route(&head(&method, &headers), false).err().map(|status| status.message);
            assert_eq!(refusal.as_deref(), expected, "{method} {accept} {content}");
        }
    }
}
