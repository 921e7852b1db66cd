//! The administrator's kubeconfig: everything that kubectl needs, in one file.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::pki::{self, Private};

/// Who the administrator's certificate says the administrator is, and the names of everything in the file.
const NAME: &str = "apiwright";

/// Writes the file, unless it says the same already. Only its owner may read it: it holds a key.
///
/// # Errors
/// When one of the files cannot be read, or this one not be written.
pub fn write(
    path: &Path,
    server: &str,
    authority: &Path,
    certificate: &Path,
    key: &Path,
) -> Result<(), String> {
    let text = render(server, &encoded(authority)?, &encoded(certificate)?, &encoded(key)?);
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    pki::write(path, text.as_bytes(), Private::Yes)
}

fn encoded(path: &Path) -> Result<String, String> {
    let content = std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(BASE64_STANDARD.encode(content))
}

fn render(server: &str, authority: &str, certificate: &str, key: &str) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: {NAME}\n\
        \x20 cluster:\n\
        \x20   server: {server}\n\
        \x20   certificate-authority-data: {authority}\n\
         users:\n\
         - name: {NAME}\n\
        \x20 user:\n\
        \x20   client-certificate-data: {certificate}\n\
        \x20   client-key-data: {key}\n\
         contexts:\n\
         - name: {NAME}\n\
        \x20 context:\n\
        \x20   cluster: {NAME}\n\
        \x20   user: {NAME}\n\
         current-context: {NAME}\n"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_the_owners_only_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ca", "crt", "key"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let path = dir.path().join("admin.kubeconfig");
        let write = || {
            let file = |name| dir.path().join(name);
            super::write(&path, "https://127.0.0.1:6443", &file("ca"), &file("crt"), &file("key")).unwrap();
            std::fs::metadata(&path).unwrap()
        };
        let first = write();
        assert_eq!(first.modified().unwrap(), write().modified().unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("    client-key-data: a2V5\n")
                && text.contains("    server: https://127.0.0.1:6443\n")
        );
        let read = apiwright_webhook::Access::read(&path).unwrap();
        assert_eq!((read.server.as_str(), read.authority), ("https://127.0.0.1:6443", Some(b"ca".to_vec())));
        assert_eq!(read.identity, Some((b"crt".to_vec(), b"key".to_vec())));
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&first.permissions()) & 0o777, 0o600);
    }
}
