//! A running server, asked in protobuf by a client that has its messages from a protobuf library.

use apiwright::generated::catalogue;
use apiwright_registry::Scope;
use apiwright_registry::resource::Verb;
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MapKey, Value};
use tempfile::TempDir;

use crate::descriptors;
use crate::support::process::{Client, Server};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAGIC: &[u8] = b"k8s\0";

/// Who speaks protobuf only.
struct Speaker {
    client: Client,
    pool: DescriptorPool,
}

impl Speaker {
    fn new(client: &Client) -> Self {
        let headers =
            [("authorization", "Bearer admintoken"), ("content-type", PROTOBUF), ("accept", PROTOBUF)];
        Self { client: client.with(&headers), pool: descriptors::pool() }
    }

    fn message(&self, definition: &str) -> DynamicMessage {
        DynamicMessage::new(
            self.pool.get_message_by_name(&descriptors::message_name(definition)).expect(definition),
        )
    }

    /// A body around a message.
    fn sealed(&self, api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
        let mut unknown = self.message("Unknown");
        let mut meta = self.message("TypeMeta");
        meta.set_field_by_number(1, Value::String(api_version.into()));
        meta.set_field_by_number(2, Value::String(kind.into()));
        unknown.set_field_by_number(1, Value::Message(meta));
        unknown.set_field_by_number(2, Value::Bytes(Bytes::copy_from_slice(message)));
        [MAGIC, &unknown.encode_to_vec()].concat()
    }

    /// The kind of a body, and its message of a type.
    fn opened(&self, definition: &str, body: &[u8]) -> (String, DynamicMessage) {
        let unknown = body.strip_prefix(MAGIC).expect("what starts every body");
        let mut envelope = self.message("Unknown");
        envelope.merge(unknown).expect("an envelope");
        let meta = envelope.get_field_by_number(1).expect("a type");
        let kind = text(meta.as_message().expect("a message"), &[2]);
        let mut message = self.message(definition);
        message
            .merge(&**envelope.get_field_by_number(2).expect("raw").as_bytes().expect("bytes"))
            .expect(definition);
        (kind, message)
    }

    async fn call(&self, method: Method, path: &str, body: &[u8]) -> (u16, Bytes) {
        let answer = self.client.send(method, path, body).await.expect("an answer");
        assert_eq!(answer.headers()["content-type"], PROTOBUF, "{path}");
        let code = answer.status().as_u16();
        (code, answer.into_body().collect().await.expect("a body").to_bytes())
    }
}

/// The text at the end of these field numbers.
fn text(message: &DynamicMessage, path: &[u32]) -> String {
    let (last, before) = path.split_last().expect("a path");
    let at = before.iter().fold(message.clone(), |at, number| {
        at.get_field_by_number(*number).expect("a field").as_message().expect("a message").clone()
    });
    at.get_field_by_number(*last).expect("a field").as_str().expect("a text").to_owned()
}

fn config_map(speaker: &Speaker, name: &str) -> Vec<u8> {
    let mut meta = speaker.message("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    meta.set_field_by_number(1, Value::String(name.into()));
    let mut map = speaker.message("io.k8s.api.core.v1.ConfigMap");
    map.set_field_by_number(1, Value::Message(meta));
    map.set_field_by_number(2, Value::Map([(MapKey::String("a".into()), Value::String("b".into()))].into()));
    speaker.sealed("v1", "ConfigMap", &map.encode_to_vec())
}

#[tokio::test]
async fn bodies_lists_events_options_and_errors_are_messages() {
    const MAP: &str = "io.k8s.api.core.v1.ConfigMap";
    const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--storage", "memory"]);
    let speaker = Speaker::new(&server.client().await);

    let (code, body) = speaker.call(Method::POST, MAPS, &config_map(&speaker, "one")).await;
    assert_eq!(code, 201);
    let (kind, map) = speaker.opened(MAP, &body);
    assert_eq!((kind.as_str(), text(&map, &[1, 1]).as_str()), ("ConfigMap", "one"));
    let data = map.get_field_by_number(2).expect("data").into_owned();
    assert_eq!(data.as_map().expect("a map")[&MapKey::String("a".into())], Value::String("b".into()));
    let uid = text(&map, &[1, 5]);

    let (code, body) = speaker.call(Method::GET, MAPS, b"").await;
    let (kind, list) = speaker.opened("io.k8s.api.core.v1.ConfigMapList", &body);
    let items = list.get_field_by_number(2).expect("items").into_owned();
    let names: Vec<String> = items
        .as_list()
        .expect("a list")
        .iter()
        .map(|item| text(item.as_message().expect("one"), &[1, 1]))
        .collect();
    assert_eq!((code, kind.as_str()), (200, "ConfigMapList"));
    assert!(names.contains(&"one".to_owned()), "{names:?}");

    // Options of another object are those of nobody here, and the refusal is a message as well.
    let mut conditions = speaker.message("io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions");
    conditions.set_field_by_number(1, Value::String("another".into()));
    let mut options = speaker.message("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    options.set_field_by_number(2, Value::Message(conditions.clone()));
    let sealed = speaker.sealed("v1", "DeleteOptions", &options.encode_to_vec());
    let (code, body) = speaker.call(Method::DELETE, &format!("{MAPS}/one"), &sealed).await;
    let (kind, status) = speaker.opened(STATUS, &body);
    assert_eq!((code, kind.as_str(), text(&status, &[4]).as_str()), (409, "Status", "Conflict"));

    let path = format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Done&timeoutSeconds=30");
    let mut watch = speaker.client.send(Method::GET, &path, "").await.expect("an answer").into_body();
    conditions.set_field_by_number(1, Value::String(uid));
    options.set_field_by_number(2, Value::Message(conditions));
    let sealed = speaker.sealed("v1", "DeleteOptions", &options.encode_to_vec());
    let (code, _) = speaker.call(Method::DELETE, &format!("{MAPS}/one"), &sealed).await;
    assert_eq!(code, 200);
    let (mut frames, mut events) = (Vec::new(), Vec::new());
    while events.len() < 2 {
        let data = watch.frame().await.expect("an event").expect("a frame").into_data().expect("data");
        frames.extend_from_slice(&data);
        while frames.len() >= 4 {
            let length = u32::from_be_bytes([frames[0], frames[1], frames[2], frames[3]]) as usize;
            if frames.len() < 4 + length {
                break;
            }
            let frame: Vec<u8> = frames.drain(..4 + length).skip(4).collect();
            let mut event = speaker.message("WatchEvent");
            event.merge(&*frame).expect("an event");
            let object = event.get_field_by_number(2).expect("an object").as_message().expect("raw").clone();
            let (_, map) =
                speaker.opened(MAP, object.get_field_by_number(1).expect("raw").as_bytes().expect("bytes"));
            events.push((text(&event, &[1]), text(&map, &[1, 1])));
        }
    }
    let expected = [("ADDED", "one"), ("DELETED", "one")];
    assert_eq!(events, expected.map(|(event, name)| (event.to_owned(), name.to_owned())));
}

#[tokio::test]
async fn malformed_bodies_of_every_resource_are_bad_requests() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(home.path(), &["--storage", "memory"]);
    let speaker = Speaker::new(&server.client().await);
    let mut asked = 0;
    for resource in catalogue().served().flat_map(|version| version.resources.iter()) {
        if !resource.allows(Verb::Create) {
            continue;
        }
        let root =
            if resource.group.is_empty() { "/api".into() } else { format!("/apis/{}", &*resource.group) };
        let namespace = if resource.scope == Scope::Namespaced { "/namespaces/default" } else { "" };
        let path = format!("{root}/{}{namespace}/{}", &*resource.version, &*resource.plural);
        let version = format!(
            "{}{}{}",
            &*resource.group,
            if resource.group.is_empty() { "" } else { "/" },
            &*resource.version
        );
        // A length that goes past the end; a tag without a wire type; metadata that is a number; no body at all.
        let messages: [&[u8]; 3] = [&[0x0a, 0x7f, 1], &[0x0f], &[0x08, 0x01]];
        let bodies = messages.map(|message| speaker.sealed(&version, &resource.kind, message));
        for body in bodies.iter().map(Vec::as_slice).chain([&b"k8s"[..], b"k8s\0\x0a\xff"]) {
            let (code, answer) = speaker.call(Method::POST, &path, body).await;
            let (kind, status) = speaker.opened("io.k8s.apimachinery.pkg.apis.meta.v1.Status", &answer);
            assert_eq!((code, kind.as_str()), (400, "Status"), "{path}: {}", text(&status, &[3]));
            asked += 1;
        }
    }
    assert!(asked > 200, "{asked} requests");
}
