//! The certificates and keys that the server makes for itself, so that it starts with nothing.
//!
//! Everything is made once, kept in a directory, used again, and made anew when it expires soon
//! or no longer fits. Invariant: keys are readable by their owner only, and a file is either the
//! old one or the new one, never half of it.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use apiwright_transport::KeyPair;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::{GeneralName, X509Certificate};

/// The name in our certificate for aggregated API servers.
pub const PROXY_CLIENT: &str = "aggregator";
/// How long an authority lives.
const AUTHORITY_DAYS: i64 = 3650;
/// How long a certificate lives.
const CERTIFICATE_DAYS: i64 = 365;
/// How long before its end a certificate is made anew.
const RENEWAL_DAYS: i64 = 30;

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Pki {
    /// Signs the serving certificate and the administrator's.
    pub authority: PathBuf,
    /// The server's own.
    pub serving: KeyPair,
    /// The administrator's: in the group that may do everything.
    pub admin: KeyPair,
    /// Signs the certificate below.
    pub proxy_authority: PathBuf,
    /// Ours, for aggregated API servers.
    pub proxy_client: KeyPair,
    /// Signs service accounts' tokens.
    pub service_account_key: PathBuf,
}

impl Pki {
    /// Makes what is missing in a directory, expires soon, or does not fit the server's names.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn ensure(dir: &Path, names: &[String], addresses: &[IpAddr]) -> Result<Self, String> {
        create_dir(dir)?;
        let pair = |name: &str| KeyPair {
            certificate: dir.join(format!("{name}.crt")),
            key: dir.join(format!("{name}.key")),
            names: Vec::new(),
        };
        let authority = Authority::ensure(&pair("ca"), "apiwright-ca")?;
        let serving = pair("apiserver");
        authority.ensure_certificate(
            &serving,
            &Subject {
                name: "kube-apiserver",
                group: None,
                names,
                addresses,
                usage: ExtendedKeyUsagePurpose::ServerAuth,
            },
        )?;
        let admin = pair("admin");
        authority.ensure_certificate(&admin, &Subject::client("kubernetes-admin", Some("system:masters")))?;
        let proxy_authority = Authority::ensure(&pair("front-proxy-ca"), "apiwright-front-proxy-ca")?;
        let proxy_client = pair("front-proxy-client");
        proxy_authority.ensure_certificate(&proxy_client, &Subject::client(PROXY_CLIENT, None))?;
        let service_account_key = dir.join("sa.key");
        ensure_key(&service_account_key)?;
        Ok(Self {
            authority: authority.certificate,
            serving,
            admin,
            proxy_authority: proxy_authority.certificate,
            proxy_client,
            service_account_key,
        })
    }
}

/// Whether a file is for its owner only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// It is.
    Yes,
    /// Anybody may read it.
    No,
}

/// Replaces a file as one step.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, content: &[u8], private: Private) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(
        &mut options,
        if private == Private::Yes { 0o600 } else { 0o644 },
    );
    let mut file = options.open(&new).map_err(fail)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(fail)?;
    fs::rename(&new, path).map_err(fail)
}

/// Makes a directory for its owner only, and those above it.
///
/// # Errors
/// When it cannot be made.
pub fn create_dir(dir: &Path) -> Result<(), String> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| format!("cannot make the directory {}: {error}", dir.display()))
}

/// Whom a certificate is for, and for what.
struct Subject<'a> {
    name: &'a str,
    group: Option<&'a str>,
    names: &'a [String],
    addresses: &'a [IpAddr],
    usage: ExtendedKeyUsagePurpose,
}

impl<'a> Subject<'a> {
    fn client(name: &'a str, group: Option<&'a str>) -> Self {
        Self { name, group, names: &[], addresses: &[], usage: ExtendedKeyUsagePurpose::ClientAuth }
    }
}

struct Authority {
    certificate: PathBuf,
    issuer: Issuer<'static, rcgen::KeyPair>,
    /// Whether it was made just now: what it signed before is worth nothing.
    is_new: bool,
}

impl Authority {
    fn ensure(pair: &KeyPair, name: &str) -> Result<Self, String> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        (params.not_before, params.not_after) = validity(AUTHORITY_DAYS);
        if is_fresh(pair, &[], &[])? {
            let key = load_key(&pair.key)?;
            return Ok(Self {
                certificate: pair.certificate.clone(),
                issuer: Issuer::new(params, key),
                is_new: false,
            });
        }
        let key = rcgen::KeyPair::generate().map_err(|error| format!("cannot make a key: {error}"))?;
        let certificate =
            params.self_signed(&key).map_err(|error| format!("cannot make a certificate: {error}"))?;
        write(&pair.key, key.serialize_pem().as_bytes(), Private::Yes)?;
        write(&pair.certificate, certificate.pem().as_bytes(), Private::No)?;
        Ok(Self { certificate: pair.certificate.clone(), issuer: Issuer::new(params, key), is_new: true })
    }

    fn ensure_certificate(&self, pair: &KeyPair, subject: &Subject<'_>) -> Result<(), String> {
        if !self.is_new && is_fresh(pair, subject.names, subject.addresses)? {
            return Ok(());
        }
        let fail = |error: rcgen::Error| {
            format!("cannot make the certificate {}: {error}", pair.certificate.display())
        };
        let mut params = CertificateParams::new(subject.names).map_err(fail)?;
        params.subject_alt_names.extend(subject.addresses.iter().map(|&address| SanType::IpAddress(address)));
        params.distinguished_name = distinguished_name(subject.name, subject.group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![subject.usage.clone()];
        params.use_authority_key_identifier_extension = true;
        (params.not_before, params.not_after) = validity(CERTIFICATE_DAYS);
        let key = rcgen::KeyPair::generate().map_err(fail)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(fail)?;
        write(&pair.key, key.serialize_pem().as_bytes(), Private::Yes)?;
        write(&pair.certificate, certificate.pem().as_bytes(), Private::No)
    }
}

fn distinguished_name(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject.push(DnType::CommonName, name);
    subject
}

/// From a little before now, since other machines' clocks may be behind.
fn validity(days: i64) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now - Duration::minutes(5), now + Duration::days(days))
}

/// Whether both files are there, last a while, and the certificate has these names.
fn is_fresh(pair: &KeyPair, names: &[String], addresses: &[IpAddr]) -> Result<bool, String> {
    let (Some(pem), Some(_)) = (read(&pair.certificate)?, read(&pair.key)?) else { return Ok(false) };
    let Ok((_, pem)) = parse_x509_pem(&pem) else {
        return Err(format!("cannot use {}: it holds no PEM certificate", pair.certificate.display()));
    };
    let Ok(certificate) = pem.parse_x509() else {
        return Err(format!("cannot use {}: it holds no certificate", pair.certificate.display()));
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let lasts = certificate.validity().not_after.timestamp() > now + RENEWAL_DAYS * 86_400;
    Ok(lasts && has_names(&certificate, names, addresses))
}

fn has_names(certificate: &X509Certificate<'_>, names: &[String], addresses: &[IpAddr]) -> bool {
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let its: &[GeneralName<'_>] =
        alternatives.as_ref().map_or(&[], |extension| &extension.value.general_names);
    let octets = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    names.iter().all(|name| its.iter().any(|its| matches!(its, GeneralName::DNSName(its) if its == name)))
        && addresses.iter().map(octets).all(|address| {
            its.iter().any(|its| matches!(its, GeneralName::IPAddress(its) if *its == address.as_slice()))
        })
}

fn ensure_key(path: &Path) -> Result<(), String> {
    if read(path)?.is_some() {
        return Ok(());
    }
    let key = rcgen::KeyPair::generate().map_err(|error| format!("cannot make a key: {error}"))?;
    write(path, key.serialize_pem().as_bytes(), Private::Yes)
}

fn load_key(path: &Path) -> Result<rcgen::KeyPair, String> {
    let pem = read(path)?.unwrap_or_default();
    rcgen::KeyPair::from_pem(&String::from_utf8_lossy(&pem))
        .map_err(|_| format!("cannot use {}: it holds no PEM private key", path.display()))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ensure(dir: &Path, names: &[&str]) -> Result<Pki, String> {
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        Pki::ensure(dir, &names, &[IpAddr::from([127, 0, 0, 1])])
    }

    #[test]
    fn is_made_once_and_again_for_other_names() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("pki");
        let read = |pki: &Pki| {
            [&pki.authority, &pki.serving.certificate, &pki.admin.key, &pki.service_account_key]
                .map(|path| fs::read(path).unwrap())
        };
        let first = read(&ensure(&dir, &["localhost"]).unwrap());
        assert_eq!(first, read(&ensure(&dir, &["localhost"]).unwrap()));
        let other = read(&ensure(&dir, &["localhost", "box.example"]).unwrap());
        assert_eq!((&first[0], &first[2], &first[3]), (&other[0], &other[2], &other[3]));
        assert_ne!(first[1], other[1]);
        #[cfg(unix)]
        for name in ["ca.key", "apiserver.key", "admin.key", "sa.key", "front-proxy-client.key"] {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&fs::metadata(dir.join(name)).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_new_authority_signs_everything_anew() {
        let dir = tempfile::tempdir().unwrap();
        let first = fs::read(ensure(dir.path(), &[]).unwrap().admin.certificate).unwrap();
        fs::remove_file(dir.path().join("ca.key")).unwrap();
        assert_ne!(first, fs::read(ensure(dir.path(), &[]).unwrap().admin.certificate).unwrap());
    }

    #[test]
    fn the_server_can_use_it() {
        let dir = tempfile::tempdir().unwrap();
        let pki = ensure(dir.path(), &["localhost"]).unwrap();
        assert!(apiwright_transport::Certificates::load(&pki.serving, &[]).is_ok());
        let authority = apiwright_auth::Authority::load(&[&pki.authority]).unwrap();
        let der = |path: &Path| parse_x509_pem(&fs::read(path).unwrap()).unwrap().1.contents;
        assert_eq!(authority.verify(&[der(&pki.admin.certificate).into()]), Ok(()));
        assert!(authority.verify(&[der(&pki.serving.certificate).into()]).is_err());
        assert!(authority.verify(&[der(&pki.proxy_client.certificate).into()]).is_err());
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ca.crt"), "x").unwrap();
        fs::write(dir.path().join("ca.key"), "x").unwrap();
        let path = dir.path().join("ca.crt");
        assert_eq!(
            ensure(dir.path(), &[]).unwrap_err(),
            format!("cannot use {}: it holds no PEM certificate", path.display())
        );
    }
}
