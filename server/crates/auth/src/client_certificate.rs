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
