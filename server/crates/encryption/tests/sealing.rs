//! What lies in the engine, what comes back, and how keys are exchanged.
#![allow(missing_docs)]

use std::sync::Arc;

use apiwright_encryption::{Configuration, Encrypted, GroupResource, ResourceOf, Transformers};
use apiwright_storage::{At, Change, Entry, Error, Expect, Outcome, Storage};
use apiwright_storage_embedded::{Embedded, Options};
use bytes::Bytes;

const KEY_16: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";
const KEY_32: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// A configuration of rules, each a list of resources and one of providers.
fn text(rules: &[(&str, &str)]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|(resources, providers)| format!(r#"{{"resources":[{resources}],"providers":[{providers}]}}"#))
        .collect();
    format!(
        r#"{{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{}]}}"#,
        rules.join(",")
    )
}

fn with_keys(provider: &str, keys: &[(&str, &str)]) -> String {
    let keys: Vec<String> =
        keys.iter().map(|(name, secret)| format!(r#"{{"name":"{name}","secret":"{secret}"}}"#)).collect();
    format!(r#"{{"{provider}":{{"keys":[{}]}}}}"#, keys.join(","))
}

async fn transformers(rules: &[(&str, &str)]) -> Result<Transformers, String> {
    Configuration::read(text(rules).as_bytes())?.transformers().await
}

fn resource_of() -> ResourceOf {
    Arc::new(|key| {
        let mut parts = key.strip_prefix("/registry/")?.split('/');
        let first = parts.next()?;
        Some(match first {
            "deployments" => GroupResource::parse("deployments.apps"),
            _ if first.contains('.') => GroupResource::parse(&format!("{}.{first}", parts.next()?)),
            _ => GroupResource::parse(first),
        })
    })
}

async fn put(storage: &dyn Storage, key: &str, value: &str) -> Arc<Entry> {
    let (_, current) = storage.get(key, At::Latest).await.unwrap();
    let expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
    let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds: None };
    match storage.commit(key.into(), expect, change).await.unwrap() {
        Outcome::Done { entry, .. } => entry,
        Outcome::Mismatch { .. } => panic!("nobody else writes"),
    }
}

async fn get(storage: &dyn Storage, key: &str) -> Arc<Entry> {
    storage.get(key, At::Latest).await.unwrap().1.unwrap()
}

fn starts(entry: &Entry, prefix: &str) -> bool {
    entry.value.starts_with(prefix.as_bytes())
}

#[tokio::test]
async fn values_are_sealed_as_their_resource_says() {
    let cbc = with_keys("aescbc", &[("one", KEY_16)]);
    let gcm = with_keys("aesgcm", &[("two", KEY_32)]);
    let boxed = with_keys("secretbox", &[("three", KEY_32)]);
    let rules = [
        (r#""secrets""#, &*cbc),
        (r#""configmaps""#, &*gcm),
        (r#""events""#, r#"{"identity":{}}"#),
        (r#""*.apps""#, &*boxed),
        (r#""*.*""#, &*gcm),
    ];
    let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    let sealed =
        Encrypted::new(Arc::clone(&engine), transformers(&rules).await.unwrap(), resource_of(), "/other/");
    for (key, prefix) in [
        ("/registry/secrets/ns/a", "k8s:enc:aescbc:v1:one:"),
        ("/registry/configmaps/ns/a", "k8s:enc:aesgcm:v1:two:"),
        ("/registry/events/ns/a", "{"),
        ("/registry/deployments/ns/a", "k8s:enc:secretbox:v1:three:"),
        ("/registry/example.com/things/ns/a", "k8s:enc:aesgcm:v1:two:"),
        ("/other", "{"),
    ] {
        let value = format!("{{\"at\":\"{key}\"}}");
        let written = put(&sealed, key, &value).await;
        assert_eq!(written.value, value);
        let stored = get(&*engine, key).await;
        assert!(starts(&stored, prefix), "{key}: {:?}", stored.value);
        let read = get(&sealed, key).await;
        assert_eq!((&*read.value, sealed.is_stale(&read)), (value.as_bytes(), false));
    }
    // A value that is moved to another place, and one that nobody can open, hide nothing else.
    let stolen = get(&*engine, "/registry/configmaps/ns/a").await;
    let change = Change::Put { value: stolen.value.clone(), ttl_seconds: None };
    engine.commit("/registry/configmaps/ns/b".into(), Expect::Absent, change).await.unwrap();
    assert!(starts(&*get(&sealed, "/registry/configmaps/ns/b").await, "k8s:enc:"));
}

#[tokio::test]
async fn keys_are_exchanged_one_write_at_a_time() {
    let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    let plain = "/registry/secrets/ns/plain";
    put(&*engine, plain, "{\"n\":0}").await;
    let old = with_keys("aescbc", &[("old", KEY_16)]);
    let rule = [(r#""secrets""#, &*format!(r#"{old},{{"identity":{{}}}}"#))];
    let sealed =
        Encrypted::new(Arc::clone(&engine), transformers(&rule).await.unwrap(), resource_of(), "/registry/");
    let read = get(&sealed, plain).await;
    assert_eq!(
        (&*read.value, sealed.is_stale(&read)),
        (&b"{\"n\":0}"[..], true),
        "what was plain is to be sealed"
    );
    assert!(!sealed.is_stale(&*put(&sealed, plain, "{\"n\":0}").await));
    assert!(starts(&*get(&*engine, plain).await, "k8s:enc:aescbc:v1:old:"));

    for (providers, prefix) in [
        (with_keys("aescbc", &[("new", KEY_32), ("old", KEY_16)]), "k8s:enc:aescbc:v1:new:"),
        // The same name for another key: whichever opens it is right.
        (
            format!(
                "{},{}",
                with_keys("aescbc", &[("new", KEY_16)]),
                with_keys("aescbc", &[("new", KEY_32)])
            ),
            "k8s:enc:aescbc:v1:new:",
        ),
        (
            format!(
                "{},{}",
                with_keys("secretbox", &[("b", KEY_32)]),
                with_keys("aescbc", &[("new", KEY_16)])
            ),
            "k8s:enc:secretbox:v1:b:",
        ),
        (format!(r#"{{"identity":{{}}}},{}"#, with_keys("secretbox", &[("b", KEY_32)])), "{"),
    ] {
        sealed.replace(transformers(&[(r#""secrets""#, &*providers)]).await.unwrap()).await.unwrap();
        let read = get(&sealed, plain).await;
        assert_eq!((&*read.value, sealed.is_stale(&read)), (&b"{\"n\":0}"[..], true), "{providers}");
        let written = put(&sealed, plain, "{\"n\":0}").await;
        assert!(!sealed.is_stale(&written));
        assert!(starts(&*get(&*engine, plain).await, prefix), "{providers}");
        assert!(!sealed.is_stale(&*get(&sealed, plain).await), "{providers}");
    }
}

#[tokio::test]
async fn a_value_has_a_limit_that_counts_what_lies_there() {
    let rules = [(r#""*.*""#, &*with_keys("aesgcm", &[("a", KEY_32)]))];
    let engine = Arc::new(Embedded::memory(Options::default()));
    let sealed = Encrypted::new(engine, transformers(&rules).await.unwrap(), resource_of(), "/registry/");
    let value = Bytes::from(vec![b'x'; apiwright_storage::VALUE_BYTES_MAX]);
    let change = Change::Put { value, ttl_seconds: None };
    let why = sealed.commit("/registry/secrets/a/b".into(), Expect::Absent, change).await.unwrap_err();
    assert_eq!(why, Error::TooLarge);
}

#[tokio::test]
async fn faults_of_configurations() {
    let key = |secret: &str| with_keys("aescbc", &[("k", secret)]);
    let good = key(KEY_16);
    for (rules, expected) in [
        (vec![], "resources: Required value: at least one resources is required"),
        (
            vec![("", "")],
            "[resources[0].resources: Required value: at least one resources[0].resources is required, \
             resources[0].providers: Required value: at least one resources[0].providers is required]",
        ),
        (
            vec![(r#""Secrets""#, &*good)],
            "resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain capital letters",
        ),
        (
            vec![(r#""*""#, &*good)],
            "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API \
             group or *.* to encrypt all resources",
        ),
        (
            vec![(r#""secrets","*.""#, &*good)],
            "resources[0].resources: Invalid value: [\"secrets\",\"*.\"]: using overlapping resources such as \
             'secrets' and '*.' in the same resource list is not allowed as they will be masked",
        ),
        (
            vec![(r#""a.b","a.b""#, &*good)],
            "resources[0].resources: Invalid value: [\"a.b\",\"a.b\"]: the same resource cannot be specified multiple times",
        ),
        (
            vec![(r#""secrets""#, &*key("AAAA"))],
            "resources[0].providers[0].aescbc.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the \
             expected length, got 3, expected one of [16 24 32]",
        ),
        (
            vec![(r#""secrets""#, &*key("?"))],
            "resources[0].providers[0].aescbc.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded",
        ),
        (
            vec![(r#""secrets""#, r#"{"aescbc":{"keys":[{"name":"k"}]}}"#)],
            "resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key",
        ),
        (
            vec![(r#""secrets""#, r#"{"vault":{}}"#)],
            "resources[0].providers[0]: Invalid value: {}: provider does not contain any of the expected providers: \
             KMS, AESGCM, AESCBC, Secretbox, Identity",
        ),
        (
            vec![(r#""secrets""#, r#"{"kms":{"apiVersion":"v2","name":"k","endpoint":"tcp://x"}}"#)],
            "resources[0].providers[0].kms.endpoint: Invalid value: \"tcp://x\": unsupported scheme \"tcp\" for KMS \
             provider, only unix is supported",
        ),
        (
            vec![(r#""secrets""#, r#"{"kms":{"name":"k","endpoint":"unix:///x"}}"#)],
            "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.",
        ),
        (
            vec![(r#""*.*""#, &*good), (r#""secrets""#, &*good)],
            "resource \"secrets\" is masked by earlier rule \"*.*\"",
        ),
        (
            vec![(r#""*.apps""#, &*good), (r#""deployments.apps""#, &*good)],
            "resource \"deployments.apps\" is masked by earlier rule \"*.apps\"",
        ),
    ] {
        let why = transformers(&rules).await.err();
        assert_eq!(why.as_deref(), Some(expected), "{rules:?}");
    }
    for (text, why) in [
        ("", "the encryption provider configuration file is empty"),
        ("kind: Pod\napiVersion: v1\n", "no kind \"Pod\" is registered for version \"v1\""),
    ] {
        assert_eq!(Configuration::read(text.as_bytes()).err().as_deref(), Some(why));
    }
}
