//! The examples of the specs: what is said to be valid is taken, what is said to be wrong is refused in
//! those words, and of whatever comes near an example, nothing is too much. Each resource is a test, which
//! codegen writes; all ask one server of everything that the specs have, in this process, over TLS.

#![allow(unreachable_pub)] // a test

#[path = "../protobuf/maker.rs"]
mod maker;
mod mutate;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use apiwright::config::Config;
use apiwright::flags::{Flags, Outcome};
use apiwright::generated::catalogue;
use apiwright::run;
use apiwright_json::{Object, Value, decode, to_string};
use apiwright_registry::Verb;
use http::Method;

use maker::Maker;
use support::api::{Answer, Api};
use support::free_port;
use support::process::Client;

include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The examples of a resource.
struct Example {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    namespaced: bool,
    /// Whether it is kept, not only answered.
    stored: bool,
    minimal: &'static str,
    rejected: &'static [Rejected],
}

/// What the server refuses.
struct Rejected {
    write: Write,
    /// How the object differs from the minimal one.
    change: &'static str,
    /// The message, without the `Kind.group "name" is invalid: ` before it.
    message: &'static str,
}

enum Write {
    Create,
    Update,
}

/// The kinds that need more than themselves: a pod to bind.
const UNCOVERED: &[(&str, &str, &str)] = &[("", "v1", "bindings")];

#[test]
fn whatever_can_be_created_has_an_example() {
    for version in catalogue().groups.iter().flat_map(|group| &*group.versions) {
        for resource in version.resources.iter().filter(|one| one.verbs.contains(&Verb::Create)) {
            let name = (&*version.group, &*version.name, &*resource.plural);
            let is_covered = COVERED.contains(&name) || UNCOVERED.contains(&name);
            assert!(is_covered, "{name:?} has no `examples: {{minimal: …}}` in its spec");
        }
    }
}

/// Tries everything, and tells of everything that came out otherwise.
fn check(example: &Example) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let faults = runtime.block_on(async {
        let mut trial = Trial { api: api().await, example, faults: Vec::new() };
        trial.minimal().await;
        for rejected in example.rejected {
            trial.rejected(rejected).await;
        }
        trial.mutated().await;
        if example.stored {
            trial.removed().await;
        }
        trial.faults
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

struct Trial<'a> {
    api: Api,
    example: &'a Example,
    faults: Vec<String>,
}

impl Trial<'_> {
    /// The minimal object is taken; what came of it is valid, too, and shown in tables.
    async fn minimal(&mut self) {
        if self.example.namespaced {
            let namespace = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, self.namespace());
            self.api.post("/api/v1/namespaces", &namespace).await.ok();
        }
        let created = self.api.post(&self.path(), self.example.minimal).await;
        if created.code != 201 {
            return self.faults.push(format!("the minimal example is refused: {}", created.text()));
        }
        if !self.example.stored {
            return;
        }
        let verbs = &self.resource().verbs;
        if verbs.contains(&Verb::Update) {
            self.written_back().await;
        }
        let table = self.api.table(&self.named()).await;
        let (columns, cells) = (count(&table, &["columnDefinitions"]), cells(&table));
        if columns == 0 || cells < columns {
            self.faults.push(format!("{cells} cells in {columns} columns: {}", to_string(&table)));
        }
    }

    /// What was read can be written, which changes nothing.
    async fn written_back(&mut self) {
        for _ in 0..10 {
            let read = self.api.get(&self.named()).await.text();
            let put = self.api.call(Method::PUT, &self.named(), &read).await;
            match put.code {
                200 if put.text() == read => return,
                // A definition's conditions come by themselves.
                409 => {}
                _ => return self.faults.push(format!("{read}\nwritten: {}", put.text())),
            }
        }
        self.faults.push("it changes all the time".into());
    }

    /// What is wrong is refused in these words.
    async fn rejected(&mut self, rejected: &Rejected) {
        let answer = match rejected.write {
            Write::Create => {
                let mut object = object(self.example.minimal);
                merge(&mut object, &object_of(rejected.change));
                self.api.post(&self.path(), &to_string(&object)).await
            }
            Write::Update => self.api.patch(&self.named(), rejected.change).await,
        };
        let message = message(&answer);
        if message != rejected.message {
            let (change, wanted) = (rejected.change, rejected.message);
            self.faults.push(format!("{change}:\n  said   {}: {message}\n  wanted {wanted}", answer.code));
        }
    }

    /// Whatever is sent, something sensible is answered. `EXAMPLES_MUTATED` has more of it sent.
    async fn mutated(&mut self) {
        let rounds =
            std::env::var("EXAMPLES_MUTATED").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
        let (resource, minimal) = (self.resource(), object(self.example.minimal));
        let seed =
            self.path().bytes().fold(14_695_981_039, |seed, byte| seed * 31 % 1_000_003 + u64::from(byte));
        let mut maker = Maker { seed, numbered: false };
        let client = self.api.0.with(&[
            ("authorization", "Bearer admintoken"),
            ("content-type", "application/json"),
            ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io, application/json"),
        ]);
        let api = Api(client);
        for _ in 0..rounds {
            let body = to_string(&mutate::mutate(&mut maker, &minimal, &resource.schema));
            let created = api.post(&format!("{}?dryRun=All", self.path()), &body).await;
            let mut answers = vec![created];
            if resource.verbs.contains(&Verb::Update) {
                let path = format!("{}?dryRun=All", self.named());
                answers.push(api.call(Method::PUT, &path, &body).await);
            }
            for answer in answers.into_iter().filter(|answer| answer.text().contains("panic")) {
                self.faults.push(format!("{body}\n  gives {}", answer.text()));
            }
        }
    }

    async fn removed(&mut self) {
        if self.resource().verbs.contains(&Verb::Delete) {
            let gone = self.api.delete(&format!("{}?gracePeriodSeconds=0", self.named())).await;
            if !(200..300).contains(&gone.code) {
                self.faults.push(format!("it cannot be deleted: {}", gone.text()));
            }
        }
    }

    fn resource(&self) -> &'static apiwright_registry::Resource {
        let Example { group, version, plural, .. } = self.example;
        let versions = catalogue().groups.iter().flat_map(|group| &*group.versions);
        let mut versions = versions.filter(|one| *one.group == **group && *one.name == **version);
        let resource = versions.find_map(|one| one.resources.iter().find(|one| *one.plural == **plural));
        resource.expect("a resource of the specs")
    }

    fn namespace(&self) -> String {
        let Example { group, version, plural, .. } = self.example;
        format!("{plural}-{version}-{}", group.split('.').next().unwrap_or_default())
            .trim_end_matches('-')
            .into()
    }

    fn path(&self) -> String {
        let Example { group, version, plural, .. } = self.example;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if self.example.namespaced {
            format!("{root}/namespaces/{}/{plural}", self.namespace())
        } else {
            format!("{root}/{plural}")
        }
    }

    fn named(&self) -> String {
        let minimal = object(self.example.minimal);
        format!("{}/{}", self.path(), minimal.text_at(&["metadata", "name"]))
    }
}

/// A connection to the one server.
async fn api() -> Api {
    static PORT: OnceLock<u16> = OnceLock::new();
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("examples-{}", std::process::id()));
    let port = *PORT.get_or_init(|| start(&home));
    Api(Client::connect(&home.join("pki/ca.crt"), port).await)
}

/// Starts a server in threads of this process and waits until it serves.
fn start(home: &Path) -> u16 {
    let port = free_port();
    std::fs::create_dir_all(home).expect("a folder");
    let tokens = home.join("tokens.csv");
    std::fs::write(&tokens, "admintoken,admin,admin-uid,system:masters\n").expect("a file");
    let arguments = [
        "--storage=memory".to_owned(),
        format!("--data-dir={}", home.display()),
        format!("--secure-port={port}"),
        format!("--token-auth-file={}", tokens.display()),
        "--runtime-config=api/all=true".to_owned(),
        "--controllers=-*".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ];
    let flags = match Flags::read(arguments).expect("flags") {
        Outcome::Start(flags) => *flags,
        _ => panic!("these flags start a server"),
    };
    let config = Config::prepare(flags).expect("a configuration");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_stack_size(apiwright_json::STACK_BYTES)
            .build()
            .expect("a runtime");
        runtime.block_on(run::run(config)).expect("a server");
    });
    // The last thing that it does before it serves everything.
    let deadline = Instant::now() + Duration::from_mins(1);
    while !home.join("kubeconfig").exists() {
        assert!(Instant::now() < deadline, "the server does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    port
}

/// What the answer says is wrong, without whose fault it is.
fn message(answer: &Answer) -> String {
    let object = answer.object();
    let message = object.text_at(&["message"]);
    match message.split_once(" is invalid: ") {
        Some((_, faults)) if answer.code == 422 => faults.into(),
        _ => message.into(),
    }
}

fn count(of: &Value, path: &[&str]) -> usize {
    of.at(path).and_then(Value::as_array).map_or(0, Vec::len)
}

fn cells(table: &Value) -> usize {
    let row = table.at(&["rows"]).and_then(Value::as_array).and_then(|rows| rows.first());
    row.map_or(0, |row| count(row, &["cells"]))
}

fn object(text: &str) -> Value {
    decode(text.as_bytes()).expect("codegen writes JSON").0
}

fn object_of(text: &str) -> Object {
    object(text).as_object().cloned().expect("codegen checked that")
}

/// RFC 7386.
fn merge(value: &mut Value, patch: &Object) {
    if value.as_object().is_none() {
        *value = Object::new().into();
    }
    let Some(object) = value.as_object_mut() else { return };
    for (key, change) in patch.iter() {
        match change {
            Value::Null => drop(object.remove(key)),
            Value::Object(change) => merge(object.entry(key, || Object::new().into()), change),
            other => drop(object.insert(&**key, other.clone())),
        }
    }
}
