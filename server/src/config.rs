//! What the flags mean together: files read, certificates made, the data directory ours.
//!
//! Everything that an operator can get wrong is found here, before anything is served, and said
//! in one line that names the flag or the file.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apiwright_audit::Audit;
use apiwright_auth::service_account::{PublicKey, SigningKey};
use apiwright_auth::{
    Authentication, Authority, BootstrapTokens, JwtAuthenticators, RequestHeader, ServiceAccounts,
    TokenAuthenticator, TokenFile, WebhookTokens,
};
use apiwright_controllers::select;
use apiwright_filters::Cors;
use apiwright_json::Value;
use apiwright_meta::url::Url;
use apiwright_registry::catalogue::{Catalogue, Version};
use apiwright_remote::Identity;
use apiwright_storage::Storage;
use apiwright_storage_embedded::Lock;
use apiwright_transport::{Certificates, KeyPair, Tls};

use crate::access::{self, Authorizers, Issuers};
use crate::acts::Lives;
use crate::audit;
use crate::controllers::certificates::SigningAuthority;
use crate::flags::Flags;
use crate::flags::values::Switch;
use crate::generated::CONTROLLERS;
use crate::issuer;
use crate::pki::{self, Pki};
use crate::storage;

/// Everything that the server needs to know, checked.
pub struct Config {
    /// What was said, for what needs no more checking.
    pub flags: Flags,
    /// The certificates that the server made.
    pub pki: Pki,
    /// Where to listen.
    pub address: SocketAddr,
    /// Tells who asks, tokens aside that need more than flags and files.
    authentication: Authentication,
    /// Issue tokens besides this server.
    pub issuers: Issuers,
    /// Knows tokens that nobody else knows.
    token_webhook: Option<Arc<WebhookTokens>>,
    /// Decide about requests.
    pub authorizers: Authorizers,
    /// Signs service accounts' tokens, and verifies them besides the keys below.
    signing_key: SigningKey,
    /// Verify service accounts' tokens.
    account_keys: Vec<PublicKey>,
    /// Signs client certificates.
    pub client_authority: Arc<Authority>,
    /// What the server shows.
    pub certificates: ServingCertificates,
    /// What the handshake is done with.
    pub tls: Arc<Tls>,
    /// What aggregated API servers are shown.
    pub proxy_client: Arc<Identity>,
    /// Web pages that may call.
    pub cors: Option<Cors>,
    /// What is noted of requests.
    pub audit: Option<Arc<Audit>>,
    /// Nobody else uses the data directory while this is held.
    pub lock: Arc<Lock>,
}

/// Who tells who asks.
pub struct Told {
    /// All of them.
    pub authentication: Arc<Authentication>,
    /// Issues service accounts' tokens.
    pub accounts: Arc<ServiceAccounts>,
    /// Know the tokens of other issuers.
    pub issuers: Option<Arc<JwtAuthenticators>>,
}

/// Whether a group version is served.
pub type Serves = Box<dyn Fn(&Version) -> bool>;

/// The files that the server shows certificates from.
#[derive(Clone, Debug)]
pub struct ServingCertificates {
    /// For everybody.
    pub default: KeyPair,
    /// For those who ask for some name.
    pub by_name: Vec<KeyPair>,
}

impl Config {
    /// Checks flags, reads what they name, makes what is missing.
    ///
    /// # Errors
    /// One line about the first thing that is wrong.
    pub fn prepare(flags: Flags) -> Result<Self, String> {
        storage::choose(&flags)?;
        let lock = claim(&flags.data_dir)?;
        let cert_dir = flags.cert_dir.clone().unwrap_or_else(|| flags.data_dir.join("pki"));
        let (names, addresses) = own_names(&flags);
        let pki = Pki::ensure(&cert_dir, &names, &addresses)?;
        let certificates = serving_certificates(&flags, &pki);
        let authorities: Vec<&Path> =
            flags.client_ca_file.iter().map(PathBuf::as_path).chain([pki.authority.as_path()]).collect();
        let client_authority = Arc::new(Authority::load(&authorities)?);
        let authorizers = Authorizers::choose(&flags)?;
        let (issuers, mut anonymous) = Issuers::choose(&flags)?;
        // Nobody does anything without saying who they are.
        anonymous.enabled &= !authorizers.allow_all();
        let authentication = Authentication { anonymous, ..authentication(&flags, &client_authority)? };
        let token_webhook = access::token_webhook(&flags, audiences(&flags))?;
        let (signing_key, account_keys) = account_keys(&flags, &pki)?;
        let tls = Tls::new(flags.tls.rules()?, certificates.load()?, &asked_for(&authentication))
            .map_err(|error| format!("cannot use the serving certificate: {error}"))?;
        let proxy_client = Arc::new(proxy_client(&flags, &pki)?);
        select::check(&flags.controllers, CONTROLLERS).map_err(|why| format!("--controllers: {why}"))?;
        let audit = audit::open(&flags)?;
        let cors = match flags.cors_allowed_origins.as_slice() {
            [] => None,
            origins => Some(Cors::new(origins).map_err(|why| format!("--cors-allowed-origins: {why}"))?),
        };
        Ok(Self {
            address: SocketAddr::new(flags.bind_address, flags.secure_port),
            authentication,
            issuers,
            token_webhook,
            authorizers,
            signing_key,
            account_keys,
            client_authority,
            certificates,
            tls: Arc::new(tls),
            proxy_client,
            cors,
            audit,
            pki,
            flags,
            lock: Arc::new(lock),
        })
    }

    /// Who tells who asks, and who issues service accounts' tokens, once there is a store to look them up in.
    ///
    /// # Errors
    /// When an issuer of tokens cannot be used.
    pub fn authentication(&self, storage: &Arc<dyn Storage>) -> Result<Told, String> {
        let accounts = Arc::new(ServiceAccounts::new(
            self.flags.service_account_issuer.clone(),
            audiences(&self.flags),
            self.signing_key.clone(),
            self.account_keys.clone(),
            Arc::clone(storage),
        ));
        let mut authentication = self.authentication.clone();
        // Who is near is asked first, who is far last.
        let tokens = &mut authentication.tokens;
        tokens.push(Arc::clone(&accounts) as _);
        if self.flags.enable_bootstrap_token_auth {
            tokens.push(Arc::new(BootstrapTokens::new(Arc::clone(storage), audiences(&self.flags))));
        }
        let issuers = self.issuers.start(audiences(&self.flags))?;
        tokens.extend(issuers.iter().map(|issuers| Arc::clone(issuers) as _));
        tokens.extend(self.token_webhook.iter().map(|webhook| Arc::clone(webhook) as _));
        Ok(Told { authentication: Arc::new(authentication), accounts, issuers })
    }

    /// How long service accounts' tokens live.
    ///
    /// # Errors
    /// When the limit is out of bounds.
    pub fn lives(&self) -> Result<Lives, String> {
        const SECONDS_MIN: u64 = 60 * 60;
        const SECONDS_MAX: u64 = 1 << 32;
        let max =
            self.flags.service_account_max_token_expiration.map(|max| max.as_secs()).filter(|&max| max > 0);
        if max.is_some_and(|max| !(SECONDS_MIN..=SECONDS_MAX).contains(&max)) {
            return Err(
                "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".into()
            );
        }
        Ok(Lives {
            seconds_max: max.and_then(|max| max.try_into().ok()),
            extends: self.flags.service_account_extend_token_expiration,
        })
    }

    /// Where others find the keys of service accounts' tokens.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn keys_uri(&self, bound: SocketAddr) -> Result<String, String> {
        let Some(uri) = &self.flags.service_account_jwks_uri else {
            return Ok(format!("https://{}{}", self.advertised(bound), issuer::KEYS));
        };
        let url =
            Url::parse(uri).map_err(|why| format!("service-account-jwks-uri must be a valid URL: {why}"))?;
        if url.scheme != "https" {
            return Err(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"));
        }
        Ok(uri.clone())
    }

    /// Which group versions are served: `--runtime-config`.
    ///
    /// # Errors
    /// When it names what there is not.
    pub fn serves(&self, catalogue: &Catalogue) -> Result<Serves, String> {
        let switches = self.flags.runtime_config.clone();
        for switch in &switches {
            check_switch(switch, catalogue)?;
        }
        Ok(Box::new(move |version| is_served(&switches, &version.group, &version.name, version.served)))
    }

    /// The address that others are told: the advertised one, or the one listened on.
    pub fn advertised(&self, bound: SocketAddr) -> SocketAddr {
        let ip = self.flags.advertise_address.unwrap_or_else(|| local(bound.ip()));
        SocketAddr::new(ip, bound.port())
    }

    /// The address that workloads are told for this server: as kube-apiserver, that of the interface to other
    /// machines where it listens on all or on the loopback only. `None` where there is none.
    pub fn reachable(&self, bound: IpAddr) -> Option<IpAddr> {
        let ip = match self.flags.advertise_address {
            Some(ip) => Some(ip),
            None if bound.is_unspecified() || bound.is_loopback() => outward(bound),
            None => Some(bound),
        };
        ip.filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
    }

    /// Where the administrator's kubeconfig is.
    pub fn kubeconfig(&self) -> PathBuf {
        self.flags.data_dir.join("kubeconfig")
    }

    /// The certificates that a client must trust to trust the server.
    pub fn server_authority(&self) -> PathBuf {
        self.flags.tls_cert_file.clone().unwrap_or_else(|| self.pki.authority.clone())
    }

    /// Reads the authorities' files again.
    ///
    /// # Errors
    /// When one cannot be used; it stays as it was.
    pub fn reload_authorities(&self) -> Result<(), String> {
        authorities(&self.authentication).try_for_each(|authority| authority.reload().map(|_| ()))
    }

    /// The authorities whose certificates clients are asked for: users' and front proxies'.
    pub fn asked_for(&self) -> Vec<Vec<u8>> {
        asked_for(&self.authentication)
    }

    /// What aggregated API servers are told of whom to believe, for the ConfigMap
    /// `extension-apiserver-authentication`.
    pub fn authentication_info(&self) -> Vec<(&'static str, String)> {
        let mut info = vec![("client-ca-file", self.client_authority.pem())];
        let flags = &self.flags;
        let list = |items: &[String]| {
            let items: Vec<Value> = items.iter().map(|item| item.as_str().into()).collect();
            apiwright_json::to_string(&Value::Array(items))
        };
        let (authority, names, uid) =
            match (&flags.requestheader_client_ca_file, &flags.proxy_client_cert_file) {
                (Some(file), _) => {
                    (file, flags.requestheader_allowed_names.clone(), flags.requestheader_uid_headers.clone())
                }
                (None, None) => (
                    &self.pki.proxy_authority,
                    vec![pki::PROXY_CLIENT.to_owned()],
                    vec!["X-Remote-Uid".to_owned()],
                ),
                // Nobody has said who signs the operator's certificate.
                (None, Some(_)) => return info,
            };
        match fs::read_to_string(authority) {
            Ok(pem) => info.push(("requestheader-client-ca-file", pem)),
            Err(error) => {
                tracing::warn!(file = %authority.display(), %error, "cannot tell who signs front proxies");
                return info;
            }
        }
        info.push(("requestheader-allowed-names", list(&names)));
        info.push(("requestheader-extra-headers-prefix", list(&flags.requestheader_extra_headers_prefix)));
        info.push(("requestheader-group-headers", list(&flags.requestheader_group_headers)));
        if !uid.is_empty() {
            info.push(("requestheader-uid-headers", list(&uid)));
        }
        info.push(("requestheader-username-headers", list(&flags.requestheader_username_headers)));
        info
    }

    /// Who signs this server's certificate, as PEM.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn server_bundle(&self) -> Result<String, String> {
        let path = self.server_authority();
        fs::read_to_string(&path).map_err(|why| format!("cannot read {}: {why}", path.display()))
    }

    /// Who signs the certificates that are requested by way of the API.
    ///
    /// # Errors
    /// Where the files cannot be used.
    pub fn signing_authority(&self) -> Result<SigningAuthority, String> {
        let certificate = &self.pki.authority;
        SigningAuthority::load(certificate, &certificate.with_extension("key"))
    }

    /// The names that the server's own certificate has.
    pub fn own_names(&self) -> (Vec<String>, Vec<IpAddr>) {
        own_names(&self.flags)
    }
}

impl ServingCertificates {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be used.
    pub fn load(&self) -> Result<Certificates, String> {
        Certificates::load(&self.default, &self.by_name).map_err(|error| error.to_string())
    }

    /// All of the files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let pairs = std::iter::once(&self.default).chain(&self.by_name);
        pairs.flat_map(|pair| [pair.certificate.as_path(), pair.key.as_path()])
    }
}

/// The loopback address for one that stands for all.
pub fn local(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    }
}

/// The address of the interface by which this machine reaches others. Nothing is sent: connecting a datagram
/// socket only chooses a route.
fn outward(bound: IpAddr) -> Option<IpAddr> {
    let families = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    families.iter().filter(|(local, _)| bound.is_ipv6() || local.starts_with('0')).find_map(|(local, far)| {
        let socket = std::net::UdpSocket::bind(local).ok()?;
        socket.connect(far).ok()?;
        Some(socket.local_addr().ok()?.ip())
    })
}

/// Makes the data directory and keeps others out of it.
fn claim(dir: &Path) -> Result<Lock, String> {
    pki::create_dir(dir)?;
    // It lies in working directories, and nothing in it belongs in anybody's repository.
    let ignore = dir.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n")
            .map_err(|error| format!("cannot use the data directory: {}: {error}", ignore.display()))?;
    }
    Lock::take(dir).map_err(|why| why.to_string())
}

/// By what names clients may call this server.
fn own_names(flags: &Flags) -> (Vec<String>, Vec<IpAddr>) {
    let mut names: Vec<String> = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Ok(name) = fs::read_to_string("/proc/sys/kernel/hostname") {
        let name = name.trim().to_ascii_lowercase();
        let is_dns = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if is_dns && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut addresses = vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from(std::net::Ipv6Addr::LOCALHOST)];
    let services = flags.service_cluster_ip_range.iter().map(|range| range.at(1));
    let own =
        std::iter::once(flags.bind_address).chain(flags.advertise_address).filter(|ip| !ip.is_unspecified());
    for address in services.chain(own) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    (names, addresses)
}

/// The certificate for calls to aggregated API servers is checked now, not at the first call.
/// What aggregated API servers are shown: the operator's certificate, or one of our own.
fn proxy_client(flags: &Flags, pki: &Pki) -> Result<Identity, String> {
    match (&flags.proxy_client_cert_file, &flags.proxy_client_key_file) {
        (Some(certificate), Some(key)) => {
            Identity::load(certificate, key).map_err(|why| format!("--proxy-client-cert-file: {why}"))
        }
        _ => Identity::load(&pki.proxy_client.certificate, &pki.proxy_client.key),
    }
}

fn serving_certificates(flags: &Flags, pki: &Pki) -> ServingCertificates {
    let default = match (&flags.tls_cert_file, &flags.tls_private_key_file) {
        (Some(certificate), Some(key)) => {
            KeyPair { certificate: certificate.clone(), key: key.clone(), names: Vec::new() }
        }
        _ => pki.serving.clone(),
    };
    ServingCertificates {
        default,
        by_name: flags.tls_sni_cert_key.iter().map(|pair| pair.0.clone()).collect(),
    }
}

/// Whom tokens are for.
fn audiences(flags: &Flags) -> Vec<String> {
    if flags.api_audiences.is_empty() {
        flags.service_account_issuer.clone()
    } else {
        flags.api_audiences.clone()
    }
}

fn account_keys(flags: &Flags, pki: &Pki) -> Result<(SigningKey, Vec<PublicKey>), String> {
    let signing = SigningKey::load(
        flags.service_account_signing_key_file.as_ref().unwrap_or(&pki.service_account_key),
    )?;
    let mut keys = Vec::new();
    for file in &flags.service_account_key_file {
        keys.extend(PublicKey::load_all(file)?);
    }
    Ok((signing, keys))
}

fn authorities(authentication: &Authentication) -> impl Iterator<Item = &Arc<Authority>> {
    let proxies = authentication.request_header.iter().map(|proxy| &proxy.authority);
    authentication.client_authority.iter().chain(proxies)
}

/// A client that sees its authority among none of these shows no certificate.
fn asked_for(authentication: &Authentication) -> Vec<Vec<u8>> {
    authorities(authentication).flat_map(|authority| authority.certificates()).collect()
}

fn authentication(flags: &Flags, client_authority: &Arc<Authority>) -> Result<Authentication, String> {
    let request_header = match &flags.requestheader_client_ca_file {
        None => None,
        Some(file) => Some(RequestHeader {
            authority: Arc::new(Authority::load(&[file])?),
            allowed_names: flags.requestheader_allowed_names.clone(),
            username_headers: flags.requestheader_username_headers.clone(),
            uid_headers: flags.requestheader_uid_headers.clone(),
            group_headers: flags.requestheader_group_headers.clone(),
            extra_header_prefixes: flags.requestheader_extra_headers_prefix.clone(),
        }),
    };
    let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    if let Some(file) = &flags.token_auth_file {
        tokens.push(Arc::new(TokenFile::load(file, audiences(flags))?));
    }
    Ok(Authentication {
        request_header,
        client_authority: Some(Arc::clone(client_authority)),
        tokens,
        audiences: audiences(flags),
        ..Authentication::default()
    })
}

fn check_switch(switch: &Switch, catalogue: &Catalogue) -> Result<(), String> {
    let complain = |why: String| Err(format!("--runtime-config={}: {why}", switch.name));
    match switch.name.split('/').collect::<Vec<_>>().as_slice() {
        ["v1"] | ["api", "v1" | "all" | "ga" | "beta" | "alpha"] => Ok(()),
        [_, _, _] => complain("single resources cannot be switched yet".into()),
        [group, version] => match catalogue.groups.iter().find(|known| *known.name == **group) {
            None => complain(format!("unknown api group {group}")),
            Some(_) if catalogue.version(group, version).is_none() => {
                complain(format!("{group} has no version {version}"))
            }
            Some(_) => Ok(()),
        },
        _ => complain("it is no group/version".into()),
    }
}

/// The more a switch names, the more it counts.
fn is_served(switches: &[Switch], group: &str, version: &str, default: bool) -> bool {
    let last = |wanted: &dyn Fn(&str) -> bool| {
        switches.iter().rev().find(|switch| wanted(&switch.name)).map(|switch| switch.on)
    };
    let maturity = match version {
        _ if version.contains("alpha") => "api/alpha",
        _ if version.contains("beta") => "api/beta",
        _ => "api/ga",
    };
    let itself = |name: &str| {
        if group.is_empty() {
            name == version || name.strip_prefix("api/") == Some(version)
        } else {
            name.split_once('/') == Some((group, version))
        }
    };
    last(&itself)
        .or_else(|| last(&|name| name == maturity))
        .or_else(|| last(&|name| name == "api/all"))
        .unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::values::switch;

    #[test]
    fn the_more_a_switch_names_the_more_it_counts() {
        for (text, group, version, default, expected) in [
            ("", "apps", "v1", true, true),
            ("api/all=false", "apps", "v1", true, false),
            ("api/all=false,v1=true", "", "v1", true, true),
            ("api/all=false,api/v1=true", "", "v1", true, true),
            ("api/all=false,apps/v1=true", "apps", "v1", true, true),
            ("apps/v1=true,api/all=false", "apps", "v1", true, true),
            ("api/beta=true", "coordination.k8s.io", "v1beta1", false, true),
            ("api/beta=true", "coordination.k8s.io", "v1alpha2", false, false),
            ("api/all=true", "coordination.k8s.io", "v1alpha2", false, true),
            ("api/all=true,api/alpha=false", "coordination.k8s.io", "v1alpha2", false, false),
            ("apps/v1=false,apps/v1=true", "apps", "v1", true, true),
        ] {
            let switches: Vec<Switch> =
                text.split(',').filter(|part| !part.is_empty()).map(|part| switch(part).unwrap()).collect();
            assert_eq!(is_served(&switches, group, version, default), expected, "{text} {group}/{version}");
        }
    }

    #[test]
    fn a_data_directory_is_one_servers() {
        let dir = tempfile::tempdir().unwrap();
        let first = claim(dir.path()).unwrap();
        let why = claim(dir.path()).unwrap_err();
        let pid = std::process::id();
        let path = dir.path().display();
        assert_eq!(
            why,
            format!(
                "another apiwright (pid {pid}) uses the data directory {path}; stop it or choose another directory"
            )
        );
        drop(first);
        assert!(claim(dir.path()).is_ok());
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(claim(&file).unwrap_err().contains(&file.display().to_string()));
    }
}
