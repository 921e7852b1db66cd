//! Secrets lie encrypted on disk, in snapshots too, and keys are exchanged while the server runs.

mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use http::Method;
use support::process::Server;
use tempfile::TempDir;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// What may be read nowhere on disk: what is in the secret, in base64.
const HIDDEN: &str = "dGhlIG1vb24gaXMgbWFkZSBvZiBjaGVlc2U=";

fn configure(home: &Path, keys: &[(&str, &str)]) {
    let keys: Vec<String> =
        keys.iter().map(|(name, secret)| format!("{{name: {name}, secret: {secret}}}")).collect();
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
         providers:\n  - aescbc: {{keys: [{}]}}\n  - identity: {{}}\n",
        keys.join(", ")
    );
    std::fs::write(home.join("encryption.yaml"), text).expect("a file");
}

/// Whether any file of the store has these bytes.
fn is_on_disk(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).expect("a folder").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return is_on_disk(&path, text);
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

async fn call(server: &Server, method: Method, path: &str, body: &str) -> (u16, String) {
    server.client().await.call(method, path, body).await.expect("an answer")
}

#[tokio::test]
async fn secrets_are_encrypted_at_rest() {
    let dir = TempDir::new().expect("a folder");
    let home = dir.path();
    let store = home.join(".apiwright/store");
    let secret = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{HIDDEN}"}}}}"#);

    // Plain to begin with.
    let server = Server::start(home, &[]);
    assert_eq!(call(&server, Method::POST, SECRETS, &secret).await.0, 201);
    server.kill();
    assert!(is_on_disk(&store, HIDDEN));

    configure(home, &[("old", "MDEyMzQ1Njc4OWFiY2RlZg==")]);
    let flags =
        &["--encryption-provider-config=encryption.yaml", "--encryption-provider-config-automatic-reload"];
    let server = Server::start(home, flags);
    assert_eq!(server.text("/readyz/kms-providers").await, (200, "ok".into()));
    let path = format!("{SECRETS}/a");
    let (code, object) = server.text(&path).await;
    assert!(code == 200 && object.contains(HIDDEN), "{object}");
    // A write that changes nothing encrypts what was plain.
    let (code, written) = call(&server, Method::PUT, &path, &object).await;
    assert!(code == 200 && written != object, "{written}");
    let again = call(&server, Method::PUT, &path, &written).await;
    assert_eq!(again, (200, written), "it is encrypted already");

    configure(home, &[("new", "YWJjZGVmMDEyMzQ1Njc4OQ=="), ("old", "MDEyMzQ1Njc4OWFiY2RlZg==")]);
    let reloads = "apiserver_encryption_config_controller_automatic_reloads_total{status=\"success\"} 1";
    let deadline = Instant::now() + Duration::from_secs(40);
    while !server.text("/metrics").await.1.contains(reloads) {
        assert!(Instant::now() < deadline, "the changed file is not taken");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (_, object) = server.text(&path).await;
    assert_eq!(call(&server, Method::PUT, &path, &object).await.0, 200);
    let saved = Command::new(env!("CARGO_BIN_EXE_apiwright"))
        .current_dir(home)
        .args(["snapshot", "save", "saved/all"])
        .status();
    assert!(saved.is_err() || !saved.unwrap().success(), "there is no such folder");
    std::fs::create_dir(home.join("saved")).expect("a folder");
    let saved = Command::new(env!("CARGO_BIN_EXE_apiwright"))
        .current_dir(home)
        .args(["snapshot", "save", "saved/all"])
        .status();
    assert!(saved.expect("it runs").success());
    assert!(!is_on_disk(&home.join("saved"), HIDDEN), "a snapshot tells secrets");
    assert!(is_on_disk(&home.join("saved"), "k8s:enc:aescbc:v1:new:"));
    server.kill();

    // The old key is not needed any more, and no key at all is told.
    configure(home, &[("new", "YWJjZGVmMDEyMzQ1Njc4OQ==")]);
    let server = Server::start(home, flags);
    assert!(server.text(&path).await.1.contains(HIDDEN));
    server.kill();
    configure(home, &[("other", "MDEyMzQ1Njc4OWFiY2RlZg==")]);
    let server = Server::start(home, flags);
    let (code, text) = server.text(&path).await;
    assert!(code == 500 && text.contains("cannot be read"), "{code} {text}");
    assert_eq!(server.text("/api/v1/namespaces/default").await.0, 200);
    server.kill();

    std::fs::write(home.join("encryption.yaml"), "kind: Pod\napiVersion: v1\n").expect("a file");
    let refused = Command::new(env!("CARGO_BIN_EXE_apiwright"))
        .current_dir(home)
        .args(["--secure-port=0", "--encryption-provider-config=encryption.yaml"])
        .output()
        .expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&refused.stderr),
        "apiwright: --encryption-provider-config=encryption.yaml: no kind \"Pod\" is registered for version \"v1\"\n"
    );
}
