//! How a webhook is called: one POST of JSON, and its answer or why there is none.
//!
//! Invariant: failures read as those of kube-apiserver's client do, whether the webhook cannot be
//! reached, refuses, or answers something else than JSON.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apiwright_json::{Value, yaml};
use apiwright_meta::status::Status;
use apiwright_meta::url::Url;
use apiwright_meta::{GroupResource, field};
use apiwright_remote::{Backend, Backends, Host, ServiceReference, Target, Trust, full};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, Uri};

/// The longest answer that is read.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const PORT: u16 = 443;

/// Makes clients that share connections.
#[derive(Clone)]
pub struct Clients(Arc<Backends>);

impl Clients {
    /// Over these backends.
    pub fn new(backends: Arc<Backends>) -> Self {
        Self(backends)
    }

    /// The client of a `clientConfig` in normal form.
    pub fn of(&self, config: &Value) -> Client {
        let bundle = BASE64_STANDARD.decode(config.text_at(&["caBundle"])).unwrap_or_default();
        Client {
            backends: Arc::clone(&self.0),
            place: Place::of(config),
            trust: Trust::of(&bundle, false),
            backend: OnceLock::new(),
        }
    }
}

/// Calls one webhook.
pub struct Client {
    backends: Arc<Backends>,
    /// Where it is, or why that cannot be told.
    place: Result<Place, String>,
    trust: Trust,
    backend: OnceLock<Arc<Backend>>,
}

/// Where a webhook is.
struct Place {
    target: Target,
    /// Up to the question mark.
    address: String,
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It could not even be tried.
    Client(String),
    /// It was, in vain.
    Call(String),
}

impl Client {
    /// Sends a review; gives the answer's JSON.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn post(&self, review: Vec<u8>, timeout: Duration) -> Result<Value, Failure> {
        let place = self.place.as_ref().map_err(|why| Failure::Client(why.clone()))?;
        let backend = self.backend(&place.target).map_err(Failure::Client)?;
        let address = format!("{}?timeout={}", place.address, shown(timeout));
        let uri: Uri =
            address.parse().map_err(|error: http::uri::InvalidUri| Failure::Client(error.to_string()))?;
        let mut request = Request::new(full(review));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
        headers.insert(USER_AGENT, HeaderValue::from_static("kube-apiserver-admission"));
        let answer = backend.exchange(request, timeout, ANSWER_BYTES_MAX).await;
        read(answer.map_err(|error| Failure::Call(error.of_request(&Method::POST, &uri)))?)
            .map_err(Failure::Call)
    }

    fn backend(&self, target: &Target) -> Result<Arc<Backend>, String> {
        if let Some(backend) = self.backend.get() {
            return Ok(Arc::clone(backend));
        }
        let backend = self.backends.get(target, &self.trust).map_err(|error| error.to_string())?;
        Ok(Arc::clone(self.backend.get_or_init(|| backend)))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.place.as_ref().map(|place| &place.address)).finish()
    }
}

impl Place {
    fn of(config: &Value) -> Result<Self, String> {
        if let Some(service) = config.get("service").filter(|service| !service.is_null()) {
            let port = service.get("port").and_then(Value::as_i64).and_then(|port| port.try_into().ok());
            let target = Target::Service(ServiceReference {
                namespace: service.text_at(&["namespace"]).into(),
                name: service.text_at(&["name"]).into(),
                port: port.unwrap_or(PORT),
            });
            let address = format!("https://{}{}", target.authority(), clean(service.text_at(&["path"])));
            return Ok(Self { target, address });
        }
        let url = Url::parse(config.text_at(&["url"])).map_err(|why| format!("Unparsable URL: {why}"))?;
        let address = format!("{}://{}{}", url.scheme, url.host, clean(&url.path));
        let uri: Uri = address.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
        let host = Host::of(&uri).ok_or("http: no Host in request URL")?;
        Ok(Self { target: Target::Host(host), address })
    }
}

/// A path as it is requested: from the root, without empty steps.
fn clean(path: &str) -> String {
    let steps = path.split('/').filter(|step| !matches!(*step, "" | "."));
    let cleaned = steps.fold(String::new(), |path, step| path + "/" + step);
    if cleaned.is_empty() { "/".to_owned() } else { cleaned }
}

/// How long a server has, which it is told in whole seconds, as Go shows durations: `1m0s`.
pub(crate) fn shown(timeout: Duration) -> String {
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// The JSON of an answer.
pub(crate) fn read(answer: Response<Bytes>) -> Result<Value, String> {
    let (head, body) = answer.into_parts();
    let code = head.status.as_u16();
    if !(200..=206).contains(&code) {
        return Err(refusal(code, &head.headers, &body));
    }
    if body.is_empty() {
        let kind = text(&head.headers);
        let kind = if kind.is_empty() { "application/json" } else { kind };
        return Err(format!("0-length response with status code: {code} and content type: {kind}"));
    }
    let undecodable = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    let value = if body.trim_ascii_start().starts_with(b"{") {
        apiwright_json::decode(&body).map_err(|error| undecodable(&error.message))?.0
    } else {
        yaml::decode(&body).map_err(|error| undecodable(&error.message))?.0
    };
    match &value {
        Value::Object(_) if value.text_at(&["kind"]) == "Status" => {
            let status = Status::from_fields(&value);
            if value.text_at(&["status"]) == "Success" { Ok(value) } else { Err(status.message) }
        }
        Value::Object(_) => Ok(value),
        other => Err(undecodable(&format!(
            "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
             Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            other.go_kind()
        ))),
    }
}

/// What an answer that is no success says: a Status, a text, or nothing that could be told.
fn refusal(code: u16, headers: &HeaderMap, body: &[u8]) -> String {
    let status = apiwright_json::decode(body).ok().and_then(|(value, _)| {
        let failed = value.text_at(&["status"]) == "Failure";
        Status::from_value(&value).filter(|_| failed)
    });
    if let Some(status) = status {
        return status.message;
    }
    let kind = text(headers);
    let is_text = kind.is_empty() || kind.starts_with("text/");
    let said = String::from_utf8_lossy(body);
    let said = if is_text { said.trim() } else { "unknown" };
    Status::generic(code, "POST", &GroupResource::default(), "", said, true).message
}

fn text(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A JSON value of the wrong type, in Go's words.
pub(crate) fn misfit(value: &Value, field: &str, ty: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {field} of type {ty}", value.go_kind())
}

/// A text as Go quotes it.
pub(crate) fn quoted(text: &str) -> String {
    field::quoted(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_none() {
        for (code, kind, body, want) in [
            (200, "application/json", "{\"a\":1}", "{\"a\":1}"),
            (200, "application/yaml", "a: 1", "{\"a\":1}"),
            (
                200,
                "application/json",
                "",
                "0-length response with status code: 200 and content type: application/json",
            ),
            (
                500,
                "text/plain",
                "oh no\n",
                "an error on the server (\"oh no\") has prevented the request from succeeding",
            ),
            (404, "text/plain", "404 page not found\n", "the server could not find the requested resource"),
            (503, "application/json", r#"{"kind":"Status","status":"Failure","message":"tired"}"#, "tired"),
            (200, "application/json", r#"{"kind":"Status","status":"Failure","message":"tired"}"#, "tired"),
            (
                200,
                "text/plain",
                "[1]",
                "couldn't get version/kind; json parse error: json: cannot unmarshal array",
            ),
        ] {
            let mut answer = Response::new(Bytes::from_static(body.as_bytes()));
            *answer.status_mut() = http::StatusCode::from_u16(code).unwrap();
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            let got = match read(answer) {
                Ok(value) => apiwright_json::to_string(&value),
                Err(why) => why,
            };
            assert!(got.starts_with(want), "{code} {body}: {got}");
        }
    }

    #[test]
    fn addresses() {
        let place = |json: &str| Place::of(&apiwright_json::decode(json.as_bytes()).unwrap().0);
        for (config, want) in [
            (r#"{"url":"https://hooks.example/admit/"}"#, Ok("https://hooks.example/admit")),
            (r#"{"url":"https://hooks.example:8443"}"#, Ok("https://hooks.example:8443/")),
            (r#"{"service":{"namespace":"a","name":"b"}}"#, Ok("https://b.a.svc:443/")),
            (
                r#"{"service":{"namespace":"a","name":"b","port":8443,"path":"x//y"}}"#,
                Ok("https://b.a.svc:8443/x/y"),
            ),
            (r#"{"url":"https://[::1"}"#, Err("Unparsable URL: parse \"https://[::1\": missing ']' in host")),
        ] {
            let got = place(config);
            assert_eq!(
                got.as_ref().map(|place| place.address.as_str()).map_err(String::as_str),
                want,
                "{config}"
            );
        }
        assert_eq!(
            [1, 30, 60, 3661].map(|seconds| shown(Duration::from_secs(seconds))),
            ["1s", "30s", "1m0s", "1h1m1s"]
        );
    }
}
