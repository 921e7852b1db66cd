//! Projected volumes: files from several sources, each in a place of its own.

use std::collections::HashSet;

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::labels::{SelectorLeniency, validate_label_selector};
use apiwright_schema::go::internal;

use super::number;
use super::volumes::{downward_file, key_to_path, mode};
use crate::generated::catalogue;
use crate::hooks::shared::cells;
use crate::hooks::shared::faults::Faults;
use crate::hooks::shared::signer::{signer_name, trust_bundle_name};
use crate::hooks::shared::volume_source;

/// The faults of a projected volume.
pub(super) fn faults(volume: &Value, path: &Path, out: &mut Faults<'_>) {
    mode(volume, "defaultMode", path, out);
    let mut taken = HashSet::new();
    let mut take = |file: &str, shown: &str, out: &mut Faults<'_>| {
        if !file.is_empty() && !taken.insert(file.to_owned()) {
            out.invalid(path.clone(), quoted(shown), "conflicting duplicate paths");
        }
    };
    for (at, source) in cells::items(volume, &["sources"]).iter().enumerate() {
        let own = path.child("sources").index(at);
        let mut kinds = 0;
        for kind in [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ] {
            let Some(value) = source.get(kind) else { continue };
            kinds += 1;
            let own = own.child(kind);
            match kind {
                "secret" | "configMap" => {
                    let name = value.text_at(&["name"]);
                    if name.is_empty() {
                        out.required(own.child("name"), "");
                    }
                    for (at, item) in cells::items(value, &["items"]).iter().enumerate() {
                        key_to_path(item, &own.child("items").index(at), out);
                        take(item.text_at(&["path"]), name, out);
                    }
                }
                "downwardAPI" => {
                    for file in cells::items(value, &["items"]) {
                        downward_file(file, &own, out);
                        let file = file.text_at(&["path"]);
                        take(file, file, out);
                    }
                }
                "serviceAccountToken" => token(value, &own, path, out),
                "clusterTrustBundle" => {
                    trust_bundle(value, &own, out);
                    let file = value.text_at(&["path"]);
                    take(file, file, out);
                }
                _ => {}
            }
        }
        if kinds > 1 {
            out.forbidden(own, "may not specify more than 1 volume type per source");
        }
    }
}

fn token(token: &Value, path: &Path, volume: &Path, out: &mut Faults<'_>) {
    let seconds = number(token, "expirationSeconds").unwrap_or_default();
    if seconds < 600 {
        let why = "may not specify a duration less than 10 minutes";
        out.invalid(path.child("expirationSeconds"), seconds, why);
    }
    if seconds > 1 << 32 {
        let why = "may not specify a duration larger than 2^32 seconds";
        out.invalid(path.child("expirationSeconds"), seconds, why);
    }
    match token.text_at(&["path"]) {
        "" => {
            out.drop_below(&path.child("path"));
            out.required(volume.child("path"), "");
        }
        file => volume_source::local(file, &volume.child("path"), out),
    }
}

fn trust_bundle(bundle: &Value, path: &Path, out: &mut Faults<'_>) {
    let text = |member: &str| bundle.get(member).and_then(Value::as_str);
    let selector = bundle.get("labelSelector");
    match (text("name"), text("signerName")) {
        (Some(_), Some(_)) => {
            let why = "only one of name and signerName may be used";
            out.invalid(path.clone(), dump(bundle), why);
        }
        (Some(name), None) => {
            let own = path.child("name");
            if name.is_empty() {
                out.required(own.clone(), "must be a valid object name");
            }
            for why in trust_bundle_name(name) {
                out.invalid(own.clone(), quoted(name), &format!("not a valid clustertrustbundlename: {why}"));
            }
            if let Some(selector) = selector {
                let why = "labelSelector must be unset if name is specified";
                out.invalid(path.child("labelSelector"), go_value(selector), why);
            }
        }
        (None, Some(signer)) => {
            let own = path.child("signerName");
            if signer.is_empty() {
                out.required(own.clone(), "must be a valid signer name");
            }
            signer_name(signer, &own, out);
            out.append(validate_label_selector(
                selector,
                SelectorLeniency::default(),
                &path.child("labelSelector"),
            ));
        }
        (None, None) => out.required(path.clone(), "either name or signerName must be specified"),
    }
    let file = bundle.text_at(&["path"]);
    if file.is_empty() {
        out.required(path.child("path"), "");
    }
    volume_source::local(file, &path.child("path"), out);
}

/// As Go's encoder prints upstream's internal type.
fn dump(bundle: &Value) -> String {
    let ty = catalogue().definition("io.k8s.api.core.v1.VolumeProjection");
    let field = ty.and_then(|ty| ty.field("clusterTrustBundle"));
    field.map_or_else(|| go_value(bundle), |field| internal(&field.node, bundle))
}
