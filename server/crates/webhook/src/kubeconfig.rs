//! Kubeconfigs, as far as they say how a server is reached.

use std::path::Path;

use apiwright_json::{Value, yaml};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// What is not done for anybody.
const UNSUPPORTED: [(&str, &str); 5] = [
    ("cluster", "proxy-url"),
    ("user", "exec"),
    ("user", "auth-provider"),
    ("user", "as"),
    ("user", "as-groups"),
];

/// How a server is reached, by the current context of a kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Its URL.
    pub server: String,
    /// The name that its certificate has, where that is not the URL's.
    pub server_name: Option<String>,
    /// Who signed its certificate, PEM; whom the system trusts, where it does not say.
    pub authority: Option<Vec<u8>>,
    /// Whether anybody may have.
    pub is_insecure: bool,
    /// A certificate and its key, PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// A bearer token.
    pub token: Option<String>,
    /// A name and a password.
    pub password: Option<(String, String)>,
}

impl Access {
    /// Reads a kubeconfig.
    ///
    /// # Errors
    /// When it cannot be read, lacks something, or wants what is not supported.
    pub fn read(path: &Path) -> Result<Self, String> {
        let fail =
            |why: &dyn std::fmt::Display| format!("cannot use the kubeconfig {}: {why}", path.display());
        let text = std::fs::read(path).map_err(|error| fail(&error))?;
        let (config, _) = yaml::decode(&text).map_err(|why| fail(&why))?;
        Self::of(&config, path.parent().unwrap_or(Path::new(""))).map_err(|why| fail(&why))
    }

    fn of(config: &Value, dir: &Path) -> Result<Self, String> {
        let context = entry(config, "contexts", config.text_at(&["current-context"]), "context")?;
        let cluster = entry(config, "clusters", context.text_at(&["cluster"]), "cluster")?;
        let none = Value::Null;
        let user = match context.text_at(&["user"]) {
            "" => &none,
            name => entry(config, "users", name, "user")?,
        };
        for (whose, wish) in UNSUPPORTED {
            let holder = if whose == "cluster" { cluster } else { user };
            if holder.get(wish).is_some_and(|value| !value.is_null()) {
                return Err(format!("{wish} is not supported"));
            }
        }
        let certificate = content(user, "client-certificate", dir)?;
        let key = content(user, "client-key", dir)?;
        if certificate.is_some() != key.is_some() {
            return Err("client-certificate and client-key go together".into());
        }
        let token = match user.text_at(&["tokenFile"]) {
            "" => user.text_at(&["token"]).to_owned(),
            file => String::from_utf8_lossy(&load(&dir.join(file))?).trim().to_owned(),
        };
        let text = |holder: &Value, member: &str| Some(holder.text_at(&[member]).to_owned());
        let filled = |text: &String| !text.is_empty();
        Ok(Self {
            server: cluster.text_at(&["server"]).to_owned(),
            server_name: text(cluster, "tls-server-name").filter(filled),
            authority: content(cluster, "certificate-authority", dir)?,
            is_insecure: cluster.get("insecure-skip-tls-verify").and_then(Value::as_bool).unwrap_or(false),
            identity: certificate.zip(key),
            token: Some(token).filter(filled),
            password: text(user, "username").filter(filled).zip(text(user, "password")),
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    type Found = (Option<String>, Option<String>, bool);

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
            let access = Access::read(&path).map_err(|why| why.split_once(": ").unwrap().1.to_owned())?;
            Ok::<Found, String>((access.token, access.server_name, access.identity.is_some()))
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
            (sound, "{client-key-data: Y2E=}", Err("client-certificate and client-key go together")),
            (sound, "{exec: {command: x}}", Err("exec is not supported")),
            ("{server: 'https://x', proxy-url: 'http://p'}", "{}", Err("proxy-url is not supported")),
        ] {
            assert_eq!(read(cluster, user), want.map_err(str::to_owned), "{cluster} {user}");
        }
    }

    #[test]
    fn a_context_must_be_chosen() {
        let config = apiwright_json::yaml::decode(b"clusters: [{name: c, cluster: {}}]").unwrap().0;
        assert_eq!(Access::of(&config, Path::new("")), Err("it has no context \"\"".into()));
    }
}
