//! The user that a client certificate names: CN is the name, each O a group.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use apiwright_chain::Peer;
use apiwright_chain::User;
use apiwright_chain::peer::Verified;
use ring::digest;
use x509_parser::der_parser::oid::Oid;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authentication::authenticated;
use crate::authority::Authority;

/// The attribute of a subject that holds the user's uid.
const UID_OID: [u64; 8] = [1, 3, 6, 1, 4, 1, 57683, 2];

/// Whose certificate the connection's client showed. Checked once per connection and bundle.
///
/// # Errors
/// When nobody trusted has signed it, or it is not valid now.
pub fn authenticate(authority: &Authority, peer: &Peer) -> Result<Option<Arc<User>>, String> {
    let Some(own) = peer.certificates.first() else { return Ok(None) };
    let generation = authority.generation();
    if let Some(verified) = peer.verified()
        && verified.generation == generation
        && verified.not_after > now()
    {
        return Ok(Some(verified.user));
    }
    let (_, certificate) = X509Certificate::from_der(own).map_err(|error| format!("x509: {error}"))?;
    authority.verify(&peer.certificates).map_err(|why| {
        format!(
            "verifying certificate SN={}, CN={} failed: {why}",
            certificate.serial,
            common_name(&certificate)
        )
    })?;
    let Some(user) = user_of(&certificate, own) else { return Ok(None) };
    let user = Arc::new(authenticated(user));
    let not_after = certificate.validity().not_after.timestamp();
    peer.remember(Verified { generation, not_after, user: Arc::clone(&user) });
    Ok(Some(user))
}

/// The common name of a certificate's subject, the last of several.
pub fn common_name(certificate: &X509Certificate<'_>) -> String {
    certificate
        .subject()
        .iter_common_name()
        .last()
        .and_then(|name| name.as_str().ok())
        .unwrap_or_default()
        .into()
}

fn user_of(certificate: &X509Certificate<'_>, der: &[u8]) -> Option<User> {
    let name = common_name(certificate);
    if name.is_empty() {
        return None;
    }
    let subject = certificate.subject();
    let groups =
        subject.iter_organization().filter_map(|group| group.as_str().ok().map(str::to_owned)).collect();
    let uid_oid = Oid::from(&UID_OID).ok()?;
    let uid = subject.iter_by_oid(&uid_oid).next().and_then(|uid| uid.as_str().ok()).unwrap_or_default();
    let mut fingerprint = String::from("X509SHA256=");
    for byte in digest::digest(&digest::SHA256, der).as_ref() {
        let _ = write!(fingerprint, "{byte:02x}");
    }
    let credential = ("authentication.kubernetes.io/credential-id".into(), vec![fingerprint]);
    Some(User { name, uid: uid.into(), groups, extra: vec![credential] })
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Signer, days};

    #[test]
    fn certificates_name_users() {
        let ours = Signer::new("ours");
        let authority = ours.authority();
        let others = Signer::new("others");
        let client = |signer: &Signer, name: &str, group: &str, from: i64, to: i64| {
            vec![signer.sign(name, group, true, days(from), days(to))]
        };
        for (certificates, expected) in [
            (vec![], Ok(None)),
            (
                client(&ours, "alice", "devs", -1, 1),
                Ok(Some(("alice", vec!["devs", "system:authenticated"]))),
            ),
            (
                client(&ours, "root", "system:masters", -1, 1),
                Ok(Some(("root", vec!["system:masters", "system:authenticated"]))),
            ),
            (client(&ours, "", "devs", -1, 1), Ok(None)),
            (client(&others, "alice", "devs", -1, 1), Err("UnknownIssuer")),
            (client(&ours, "alice", "devs", -2, -1), Err("expired")),
            (client(&ours, "alice", "devs", 1, 2), Err("not valid yet")),
            (vec![ours.sign("server", "", false, days(-1), days(1))], Err("extended key usage")),
            (vec![bytes::Bytes::from_static(b"x")], Err("x509")),
        ] {
            let mut peer = Peer::new(([127, 0, 0, 1], 1).into());
            peer.certificates = certificates;
            // The second time the answer is remembered, if it was yes.
            for _ in 0..2 {
                let found = authenticate(&authority, &peer);
                match (&found, &expected) {
                    (Ok(found), Ok(expected)) => {
                        let found = found.as_ref().map(|user| {
                            (user.name.as_str(), user.groups.iter().map(String::as_str).collect::<Vec<_>>())
                        });
                        assert_eq!(found, *expected);
                    }
                    (Err(found), Err(expected)) => assert!(found.contains(expected), "{found} {expected}"),
                    _ => panic!("{found:?} {expected:?}"),
                }
            }
        }
    }

    #[test]
    fn a_new_bundle_ends_what_was_remembered() {
        let (old, new) = (Signer::new("old"), Signer::new("new"));
        let authority = old.authority();
        let mut peer = Peer::new(([127, 0, 0, 1], 1).into());
        peer.certificates = vec![old.sign("alice", "devs", true, days(-1), days(1))];
        let user = authenticate(&authority, &peer).unwrap().unwrap();
        assert!(user.extra[0].1[0].starts_with("X509SHA256="));
        assert!(!authority.reload().unwrap());
        std::fs::write(old.path(), new.pem()).unwrap();
        assert!(authority.reload().unwrap());
        assert!(authenticate(&authority, &peer).is_err());
    }
}
