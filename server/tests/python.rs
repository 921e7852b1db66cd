//! The `kubernetes` package of Python against a server; the conversation is in `client.py`.

mod support;

use std::process::Command;

use support::{Apiwright, kubectl, python};

#[test]
fn a_python_client_does_its_work() {
    if kubectl().is_none() {
        return;
    }
    let Some(python) = python() else { return };
    let server = Apiwright::start(&[]);
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py"))
        .arg(server.kubeconfig())
        .output()
        .expect("python runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out.lines().last(), Some("all is well"), "{out}{err}");
}
