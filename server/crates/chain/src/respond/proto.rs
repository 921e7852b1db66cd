//! A Status in protobuf. Errors must be tellable wherever answers are, also by links that know
//! no schema; so this one message is written by hand.

use apiwright_meta::Status;
use apiwright_meta::status::Details;

/// The message in its envelope: the four magic bytes and `runtime.Unknown`.
pub(super) fn status(status: &Status) -> Vec<u8> {
    let mut type_meta = Vec::new();
    text(&mut type_meta, 1, "v1");
    text(&mut type_meta, 2, "Status");

    let mut out = b"k8s\0".to_vec();
    message(&mut out, 1, &type_meta);
    message(&mut out, 2, &body(status));
    text(&mut out, 3, "");
    text(&mut out, 4, "");
    out
}

fn body(status: &Status) -> Vec<u8> {
    let mut list_meta = Vec::new();
    for tag in 1..=3 {
        text(&mut list_meta, tag, "");
    }
    let mut out = Vec::with_capacity(128);
    message(&mut out, 1, &list_meta);
    text(&mut out, 2, super::outcome(status));
    text(&mut out, 3, &status.message);
    text(&mut out, 4, status.reason.as_ref().map_or("", |reason| reason.as_str()));
    if let Some(of) = &status.details {
        message(&mut out, 5, &details(of));
    }
    number(&mut out, 6, u64::from(status.code));
    out
}

fn details(details: &Details) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, 1, &details.name);
    text(&mut out, 2, &details.group);
    text(&mut out, 3, &details.kind);
    for cause in &details.causes {
        let mut one = Vec::new();
        text(&mut one, 1, &cause.reason);
        text(&mut one, 2, &cause.message);
        text(&mut one, 3, &cause.field);
        message(&mut out, 4, &one);
    }
    number(&mut out, 5, u64::from(details.retry_after_seconds));
    text(&mut out, 6, &details.uid);
    out
}

fn text(out: &mut Vec<u8>, tag: u8, text: &str) {
    message(out, tag, text.as_bytes());
}

fn message(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn number(out: &mut Vec<u8>, tag: u8, number: u64) {
    out.push(tag << 3);
    varint(out, number);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use apiwright_meta::{GroupResource, Status};

    #[test]
    fn is_what_kube_apiserver_sends() {
        let secrets = GroupResource { group: "".into(), resource: "configmaps".into() };
        let bytes = super::status(&Status::not_found(&secrets, "none"));
        let expected = [
            b"k8s\0\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure".as_slice(),
            b"\x1a\x1bconfigmaps \"none\" not found\"\x08NotFound*\x18\n\x04none\x12\x00\x1a\nconfigmaps(\x002\x00",
            b"0\x94\x03\x1a\x00\"\x00",
        ]
        .concat();
        assert_eq!(bytes, expected);
    }
}
