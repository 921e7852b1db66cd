//! Sources that are disks.

use apiwright_json::Value;
use apiwright_meta::Path;
use apiwright_meta::field::{go_value, quoted};

use super::{Faults, Of, in_byte, needed, refuse};
use crate::hooks::shared::cells;

const MANAGED: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
const PORTAL_AND_NAME_MAX: usize = 64;
const TOO_LONG: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
    iscsi.initiatorName is specified.";
const FORMAT: &str = "must be valid format";
const START: &str = "must be valid format starting with iqn, eui, or naa";

/// A disk with partitions, which upstream says under another name.
pub(super) fn partitioned(source: &Value, name: &str, own: &Path, shown: &Path, out: &mut Faults<'_>) {
    out.drop_below(own);
    needed(source, name, shown, out);
    let partition = source.get("partition").and_then(Value::as_i64).unwrap_or_default();
    in_byte(partition, shown.child("partition"), 1, out);
}

pub(super) fn azure_disk(source: &Value, own: &Path, out: &mut Faults<'_>) {
    for member in ["diskName", "diskURI", "cachingMode", "kind"] {
        out.declared(&own.child(member));
    }
    let (kind, uri) = (source.text_at(&["kind"]), source.text_at(&["diskURI"]));
    let (start, known) = match kind {
        "" => return,
        "Managed" => ("/subscriptions/", MANAGED),
        _ => ("https://", BLOB),
    };
    if !uri.starts_with(start) {
        out.not_supported(own.child("diskURI"), quoted(uri), &[known]);
    }
}

pub(super) fn fibre_channel(source: &Value, own: &Path, out: &mut Faults<'_>) {
    let path = own.child("targetWWNs");
    let [names, ids] = ["targetWWNs", "wwids"].map(|list| !cells::items(source, &[list]).is_empty());
    match (names, ids) {
        (false, false) => {
            out.required(path.clone(), "must specify either targetWWNs or wwids, but not both");
        }
        (true, true) => {
            let shown = go_value(source.get("targetWWNs").unwrap_or(&Value::Null));
            out.invalid(path.clone(), shown, "targetWWNs and wwids can not be specified simultaneously");
        }
        _ => {}
    }
    if names {
        match source.get("lun").and_then(Value::as_i64) {
            None => out.required(own.child("lun"), "lun is required if targetWWNs is specified"),
            Some(lun) => in_byte(lun, own.child("lun"), 0, out),
        }
    }
}

/// `path` is that of the volume.
pub(super) fn iscsi(source: &Value, of: Of<'_>, path: &Path, out: &mut Faults<'_>) {
    let own = path.child("iscsi");
    let initiator = source.get("initiatorName").and_then(Value::as_str);
    let portal = source.text_at(&["targetPortal"]);
    let is_long = initiator.is_some() && of.name().len() + 1 + portal.len() > PORTAL_AND_NAME_MAX;
    out.declared(&own.child("targetPortal"));
    if is_long && !of.is_pod() {
        refuse(own.child("targetportal"), portal, TOO_LONG, out);
    }
    out.declared(&own.child("iqn"));
    let start = if of.is_pod() { START } else { FORMAT };
    let name = source.text_at(&["iqn"]);
    if !name.is_empty() {
        initiator_name(name, start, &own.child("iqn"), out);
    }
    in_byte(source.get("lun").and_then(Value::as_i64).unwrap_or_default(), own.child("lun"), 0, out);
    let flag = |member: &str| source.get(member).and_then(Value::as_bool).unwrap_or_default();
    let secret = source.get("secretRef");
    if (flag("chapAuthDiscovery") || flag("chapAuthSession")) && secret.is_none() {
        out.required(own.child("secretRef"), "");
    }
    if !of.is_pod()
        && let Some(secret) = secret
    {
        needed(secret, "name", &own.child("secretRef"), out);
    }
    if let Some(name) = initiator {
        initiator_name(name, start, &own.child("initiatorname"), out);
    }
    if is_long && of.is_pod() {
        refuse(path.child("name"), of.name(), TOO_LONG, out);
    }
}

/// A name as iSCSI has them: `iqn.2001-04.com.example:storage`, `eui.` and `naa.` with signs of that number.
fn initiator_name(name: &str, start: &str, path: &Path, out: &mut Faults<'_>) {
    let is_plain = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    // Upstream's expressions take any sign for the dot after `eui` and `naa`.
    let after = |count: usize| name.get(count..).unwrap_or_default();
    let why = match name.get(..3) {
        Some("iqn") if is_iqn(name) => return,
        Some("eui") if name.len() > 4 && is_plain(after(4), 16) => return,
        Some("naa") if name.len() > 4 && is_plain(after(4), 32) => return,
        Some("iqn" | "eui" | "naa") => FORMAT,
        _ => start,
    };
    refuse(path.clone(), name, why, out);
}

/// Whether an `iqn.yyyy-mm.domain[:rest]` is at the end of a text.
fn is_iqn(text: &str) -> bool {
    text.match_indices("iqn.").any(|(at, _)| {
        let rest = &text.as_bytes()[at + 4..];
        let is_date = rest.len() > 8
            && rest[..8].iter().enumerate().all(|(at, byte)| match at {
                4 => *byte == b'-',
                7 => *byte == b'.',
                _ => byte.is_ascii_digit(),
            });
        if !is_date {
            return false;
        }
        let rest = &text[at + 12..];
        let (domain, suffix) = match rest.split_once(':') {
            None => (rest, None),
            Some((domain, suffix)) => (domain, Some(suffix)),
        };
        !domain.is_empty()
            && domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
            && suffix.is_none_or(|suffix| {
                !suffix.is_empty()
                    && !suffix.contains([',', ';', '*', '&', '$', '|'])
                    && !suffix.contains(char::is_whitespace)
            })
    })
}
