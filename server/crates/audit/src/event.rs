//! One event: what is known of a request at a stage of it, as audit.k8s.io/v1 has it.

use std::net::IpAddr;

use apiwright_chain::trail::Notes;
use apiwright_chain::{Request, RequestInfo, Trail, User};
use apiwright_json::go::quoted;
use apiwright_json::{Object, Value, encode};
use apiwright_meta::time::Time;
use apiwright_meta::{Status, time};
use http::header::USER_AGENT;

use crate::policy::Orders;

/// The longest user agent that is told whole.
const USER_AGENT_MAX: usize = 1024;

/// What each event begins with.
pub(crate) const TYPE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","#;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Stage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

impl Stage {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    /// As events spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }

    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What is the same in all events of a request.
pub struct Event<'a> {
    /// What the policy orders.
    pub orders: Orders,
    /// What has been noted on the way.
    pub trail: &'a Trail,
    /// What the address says.
    pub head: &'a Head,
}

/// What a request says before anything is done about it.
pub struct Head {
    audit_id: String,
    uri: String,
    info: RequestInfo,
    user: std::sync::Arc<User>,
    sources: Vec<String>,
    user_agent: String,
    received: Time,
}

/// How a request ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The HTTP code.
    pub code: u16,
    /// The Status that was answered, if it was one.
    pub status: Option<Box<Status>>,
}

impl Head {
    /// Of a request whose user is known, before impersonation.
    pub fn of(request: &Request) -> Self {
        let agent = request.header(USER_AGENT).unwrap_or_default();
        let mut user_agent: String = agent.chars().take(USER_AGENT_MAX).collect();
        if user_agent.len() < agent.len() {
            user_agent.push_str("...TRUNCATED");
        }
        Self {
            audit_id: request.audit_id.clone(),
            uri: request.head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
            info: request.info.clone(),
            user: std::sync::Arc::clone(&request.user),
            sources: sources(request),
            user_agent,
            received: Time::now(),
        }
    }
}

impl Event<'_> {
    /// The event as JSON, with the objects or, where it would be too long, without. Members come in the order in
    /// which kube-apiserver prints them.
    pub(crate) fn to_json(&self, stage: Stage, ended: Option<&Ended>, objects: Objects) -> Vec<u8> {
        let head = self.head;
        let notes = self.trail.notes();
        let level = match self.trail.depth {
            apiwright_chain::trail::Depth::Metadata => "Metadata",
            apiwright_chain::trail::Depth::Request => "Request",
            apiwright_chain::trail::Depth::RequestResponse => "RequestResponse",
        };
        let mut out = Members(Vec::with_capacity(1024));
        out.0.extend_from_slice(TYPE.as_bytes());
        // The type ends with a comma.
        out.0.pop();
        out.text("level", level);
        out.text("auditID", &head.audit_id);
        out.text("stage", stage.as_str());
        out.text("requestURI", &head.uri);
        out.text("verb", &head.info.verb);
        out.value("user", &user(&head.user));
        if let Some((impersonated, constraint)) = &notes.impersonated {
            out.value("impersonatedUser", &user(impersonated));
            if let Some(verb) = constraint {
                let metadata = object([("impersonationConstraint", Value::from(verb.as_str()))]);
                out.value("authenticationMetadata", &metadata);
            }
        }
        if !head.sources.is_empty() {
            let sources = head.sources.iter().map(|source| Value::from(source.as_str()));
            out.value("sourceIPs", &Value::Array(sources.collect()));
        }
        if !head.user_agent.is_empty() {
            out.text("userAgent", &head.user_agent);
        }
        if head.info.is_resource {
            out.value("objectRef", &reference(&head.info, &notes));
        }
        if let Some(ended) = ended {
            out.value("responseStatus", &status(ended));
        }
        for (name, object) in [("requestObject", &notes.request), ("responseObject", &notes.response)] {
            if let Some(json) = object.as_ref().filter(|_| objects == Objects::Told) {
                let trimmed =
                    if self.orders.omit_managed_fields { without_managed_fields(json) } else { None };
                out.raw(name, trimmed.as_deref().unwrap_or(json));
            }
        }
        let now = if stage == Stage::RequestReceived { head.received } else { time::Time::now() };
        out.text("requestReceivedTimestamp", &head.received.to_rfc3339_micro());
        out.text("stageTimestamp", &now.to_rfc3339_micro());
        if !notes.annotations.is_empty() || objects == Objects::LeftOut {
            let annotations =
                notes.annotations.iter().map(|(key, value)| (key.as_str(), Value::from(value.as_str())));
            let mut annotations = object(annotations);
            if objects == Objects::LeftOut
                && let Some(members) = annotations.as_object_mut()
            {
                members.insert("audit.k8s.io/truncated", "true");
                members.sort();
            }
            out.value("annotations", &annotations);
        }
        out.0.push(b'}');
        out.0
    }
}

impl Event<'_> {
    /// Whether the policy orders the objects to be told.
    pub(crate) fn tells_objects(&self) -> bool {
        self.trail.depth >= apiwright_chain::trail::Depth::Request
    }

    /// The most important of the event, for people.
    pub(crate) fn to_line(&self, stage: Stage, ended: Option<&Ended>) -> String {
        let (head, notes) = (self.head, self.trail.notes());
        let list = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",");
        let or =
            |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
        let groups = if head.user.name.is_empty() { String::new() } else { list(&head.user.groups) };
        let (acts_as, as_groups) = match &notes.impersonated {
            None => ("<self>".to_owned(), "<lookup>".to_owned()),
            Some((user, _)) => (user.name.clone(), or(&list(&user.groups), "<lookup>")),
        };
        let namespace =
            if head.info.namespace.is_empty() { &notes.object.namespace } else { &head.info.namespace };
        let namespace = if head.info.is_resource { namespace.as_str() } else { "" };
        let response = ended.map_or_else(|| "<deferred>".to_owned(), |ended| ended.code.to_string());
        let members = [
            ("id", head.audit_id.clone()),
            ("stage", stage.as_str().to_owned()),
            ("ip", or(head.sources.first().map_or("", String::as_str), "<unknown>")),
            ("method", head.info.verb.clone()),
            ("user", or(&head.user.name, "<none>")),
            ("groups", or(&groups, "<none>")),
            ("as", acts_as),
            ("asgroups", as_groups),
            ("user-agent", head.user_agent.clone()),
            ("namespace", or(namespace, "<none>")),
            ("uri", head.uri.clone()),
        ];
        let mut line = format!("{} AUDIT:", head.received.to_rfc3339_nano());
        for (name, text) in members {
            line.push_str(&format!(" {name}={}", quoted(&text)));
        }
        line + &format!(" response=\"{response}\"")
    }
}

/// Whether the objects in a request and its answer are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    /// As far as the policy orders it.
    Told,
    /// Not even then: the event would be too long.
    LeftOut,
}

/// The members of a JSON object that is being written.
struct Members(Vec<u8>);

impl Members {
    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        encode::string_to_bytes(name, &mut self.0);
        self.0.push(b':');
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        encode::string_to_bytes(text, &mut self.0);
    }

    fn value(&mut self, name: &str, value: &Value) {
        self.name(name);
        encode::to_bytes(value, &mut self.0);
    }

    /// JSON as it came, on one line.
    fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        let json = json.trim_ascii();
        if json.contains(&b'\n') {
            match apiwright_json::decode(json) {
                Ok((value, _)) => encode::to_bytes(&value, &mut self.0),
                Err(_) => self.0.extend_from_slice(b"null"),
            }
        } else {
            self.0.extend_from_slice(json);
        }
    }
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut object = Object::default();
    for (name, value) in members {
        object.insert(name, value);
    }
    Value::Object(object)
}

fn user(user: &User) -> Value {
    let mut info = Object::default();
    if !user.name.is_empty() {
        info.insert("username", user.name.as_str());
    }
    if !user.uid.is_empty() {
        info.insert("uid", user.uid.as_str());
    }
    let texts = |list: &[String]| Value::Array(list.iter().map(|text| text.as_str().into()).collect());
    if !user.groups.is_empty() {
        info.insert("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra: Vec<_> = user.extra.iter().collect();
        extra.sort();
        info.insert("extra", object(extra.iter().map(|(key, values)| (key.as_str(), texts(values)))));
    }
    Value::Object(info)
}

fn reference(info: &RequestInfo, notes: &Notes) -> Value {
    let or = |first: &str, second: &str| if first.is_empty() { second.to_owned() } else { first.to_owned() };
    let members = [
        ("resource", info.resource.clone()),
        ("namespace", or(&info.namespace, &notes.object.namespace)),
        ("name", or(&info.name, &notes.object.name)),
        ("uid", notes.object.uid.clone()),
        ("apiGroup", info.group.clone()),
        ("apiVersion", info.version.clone()),
        ("resourceVersion", notes.object.resource_version.clone()),
        ("subresource", info.subresource.clone()),
    ];
    let told = members.into_iter().filter(|(_, text)| !text.is_empty());
    object(told.map(|(name, text)| (name, Value::from(text.as_str()))))
}

/// A Status without its type; a success says no more than its code.
fn status(ended: &Ended) -> Value {
    let mut all = Object::default();
    all.insert("metadata", Value::Object(Object::default()));
    if let Some(status) = &ended.status {
        let whole = status.to_value();
        for name in ["status", "message", "reason", "details"] {
            if let Some(member) = whole.get(name) {
                all.insert(name, member.clone());
            }
        }
    }
    all.insert("code", Value::from(i64::from(ended.code)));
    Value::Object(all)
}

/// An object, or a list's objects, without managedFields; `None` where there are none.
fn without_managed_fields(json: &[u8]) -> Option<Vec<u8>> {
    let (mut value, _) = apiwright_json::decode(json).ok()?;
    strip(&mut value);
    if let Some(Value::Array(items)) = value.as_object_mut().and_then(|list| list.get_mut("items")) {
        items.iter_mut().for_each(strip);
    }
    let mut out = Vec::with_capacity(json.len());
    encode::to_bytes(&value, &mut out);
    Some(out)
}

fn strip(value: &mut Value) {
    if let Some(Value::Object(metadata)) = value.as_object_mut().and_then(|value| value.get_mut("metadata")) {
        metadata.remove("managedFields");
    }
}

/// Where it came from: what proxies say, then the connection. All but the last can be invented.
fn sources(request: &Request) -> Vec<String> {
    let header = |name: &str| request.head.headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded = header("x-forwarded-for").unwrap_or_default().split(',').map(str::trim);
    let mut sources: Vec<IpAddr> = forwarded.filter_map(|text| text.parse().ok()).collect();
    if let Some(real) = header("x-real-ip").and_then(|text| text.parse().ok())
        && !sources.contains(&real)
    {
        sources.push(real);
    }
    if let Some(remote) = request.remote.map(|remote| remote.ip().to_canonical())
        && sources.last() != Some(&remote)
    {
        sources.push(remote);
    }
    sources.iter().map(ToString::to_string).collect()
}
