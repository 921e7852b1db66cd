//! The administrator's kubeconfig: everything that kubectl needs, in one file. Written by the server,
//! read by its tools.

use std::path::Path;

use apiwright_json::{Value, yaml};
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

/// How a server is reached, by the current context of a kubeconfig.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    /// Its URL.
    pub server: String,
    /// The name that its certificate has, where that is not the URL's.
    pub server_name: Option<String>,
    /// Who signed its certificate, PEM.
    pub authority: Vec<u8>,
    /// A certificate and its key, PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// A bearer token.
    pub token: Option<String>,
}

/// Reads a kubeconfig.
///
/// # Errors
/// When it cannot be read, lacks something, or wants what is not supported.
pub fn read(path: &Path) -> Result<Access, String> {
    let fail = |why: &dyn std::fmt::Display| format!("cannot use the kubeconfig {}: {why}", path.display());
    let text = std::fs::read(path).map_err(|error| fail(&error))?;
    let (config, _) = yaml::decode(&text).map_err(|why| fail(&why))?;
    access(&config, path.parent().unwrap_or(Path::new(""))).map_err(|why| fail(&why))
}

fn access(config: &Value, dir: &Path) -> Result<Access, String> {
    let context = entry(config, "contexts", config.text_at(&["current-context"]), "context")?;
    let cluster = entry(config, "clusters", context.text_at(&["cluster"]), "cluster")?;
    let user = entry(config, "users", context.text_at(&["user"]), "user")?;
    for (holder, wish) in [
        (cluster, "insecure-skip-tls-verify"),
        (cluster, "proxy-url"),
        (user, "exec"),
        (user, "auth-provider"),
        (user, "username"),
        (user, "as"),
    ] {
        if holder.get(wish).is_some_and(|value| value.as_bool() != Some(false)) {
            return Err(format!("{wish} is not supported"));
        }
    }
    let certificate = content(user, "client-certificate", dir)?;
    let key = content(user, "client-key", dir)?;
    let token = match user.text_at(&["tokenFile"]) {
        "" => user.text_at(&["token"]).to_owned(),
        file => String::from_utf8_lossy(&load(&dir.join(file))?).trim().to_owned(),
    };
    Ok(Access {
        server: cluster.text_at(&["server"]).to_owned(),
        server_name: Some(cluster.text_at(&["tls-server-name"]).to_owned()).filter(|name| !name.is_empty()),
        authority: content(cluster, "certificate-authority", dir)?
            .ok_or("its cluster has no certificate-authority")?,
        identity: certificate.zip(key),
        token: Some(token).filter(|token| !token.is_empty()),
    })
}

/// What a list of named things has under a name.
fn entry<'a>(config: &'a Value, list: &str, name: &str, what: &str) -> Result<&'a Value, String> {
    let all = config.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let found = all.iter().find(|one| one.text_at(&["name"]) == name).and_then(|one| one.get(what));
    found.ok_or_else(|| format!("it has no {what} {name:?}"))
}

/// A file that is named, or is there in base64.
fn content(holder: &Value, name: &str, dir: &Path) -> Result<Option<Vec<u8>>, String> {
    match (holder.text_at(&[&format!("{name}-data")]), holder.text_at(&[name])) {
        ("", "") => Ok(None),
        ("", file) => load(&dir.join(file)).map(Some),
        (data, _) => BASE64_STANDARD.decode(data).map(Some).map_err(|why| format!("{name}-data: {why}")),
    }
}

fn load(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn encoded(path: &Path) -> Result<String, String> {
    Ok(BASE64_STANDARD.encode(load(path)?))
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
        let read = super::read(&path).unwrap();
        assert_eq!((read.server.as_str(), read.authority.as_slice()), ("https://127.0.0.1:6443", &b"ca"[..]));
        assert_eq!(read.identity, Some((b"crt".to_vec(), b"key".to_vec())));
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&first.permissions()) & 0o777, 0o600);
    }

    #[test]
    fn kubeconfigs_of_others() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.crt"), "ca").unwrap();
        std::fs::write(dir.path().join("secret"), "abc\n").unwrap();
        let path = dir.path().join("config");
        let read = |cluster: &str, user: &str| {
            let text = format!(
                "current-context: b\n\
                 contexts: [{{name: a, context: {{}}}}, {{name: b, context: {{cluster: c, user: u}}}}]\n\
                 clusters: [{{name: c, cluster: {cluster}}}]\n\
                 users: [{{name: u, user: {user}}}]\n"
            );
            std::fs::write(&path, text).unwrap();
            let access = super::read(&path).map_err(|why| why.split_once(": ").unwrap().1.to_owned())?;
            Ok::<_, String>((access.token, access.server_name, access.identity.is_some()))
        };
        let sound = "{server: 'https://x', certificate-authority: ca.crt}";
        for (cluster, user, want) in [
            (sound, "{}", Ok((None, None, false))),
            (sound, "{token: abc}", Ok((Some("abc".into()), None, false))),
            (sound, "{token: x, tokenFile: secret}", Ok((Some("abc".into()), None, false))),
            (
                "{server: 'https://x', certificate-authority-data: Y2E=, tls-server-name: other}",
                "{client-certificate-data: Y2E=, client-key-data: Y2E=}",
                Ok((None, Some("other".into()), true)),
            ),
            ("{server: 'https://x'}", "{}", Err("its cluster has no certificate-authority")),
            (sound, "{exec: {command: x}}", Err("exec is not supported")),
            ("{insecure-skip-tls-verify: true}", "{}", Err("insecure-skip-tls-verify is not supported")),
        ] {
            assert_eq!(read(cluster, user), want.map_err(str::to_owned), "{cluster} {user}");
        }
    }
}
