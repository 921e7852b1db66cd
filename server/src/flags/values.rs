//! The values of flags: types that hold only what is well-formed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use apiwright_transport::KeyPair;

/// A duration as Go writes it.
///
/// # Errors
/// Go's words.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = apiwright_meta::time::Duration::parse(text)?;
    if duration.nanos() < 0 { Err("it cannot be negative".into()) } else { Ok(duration.to_std()) }
}

/// Something switched on or off by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The name.
    pub name: String,
    /// On or off.
    pub on: bool,
}

/// `name`, `name=true` or `name=false`.
///
/// # Errors
/// When the value is no boolean of Go's.
pub fn switch(text: &str) -> Result<Switch, String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let on = match value.trim() {
        "" | "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
        "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
        other => return Err(format!("{other:?} is neither true nor false")),
    };
    Ok(Switch { name: name.trim().into(), on })
}

/// Feature gates of upstream's that are settled here, and how.
const GATES: [(&str, bool); 19] = [
    ("AllAlpha", false),
    ("AllBeta", false),
    ("APIServerIdentity", false),
    ("APIServerTracing", false),
    ("AnonymousAuthConfigurableEndpoints", true),
    ("AuthorizeNodeWithSelectors", true),
    ("AuthorizeWithSelectors", true),
    ("ConstrainedImpersonation", true),
    ("KubeletServiceAccountTokenForCredentialProviders", true),
    ("PodCertificateRequest", false),
    ("ServiceAccountNodeAudienceRestriction", true),
    ("StructuredAuthenticationConfiguration", true),
    ("StructuredAuthorizationConfiguration", true),
    ("AggregatedDiscoveryRemoveBetaType", true),
    ("CBORServingAndStorage", false),
    ("ServerSideFieldValidation", true),
    ("UnauthenticatedHTTP2DOSMitigation", true),
    ("WatchList", true),
    ("StorageVersionAPI", false),
];

/// A feature gate that says what is so; others are refused.
///
/// # Errors
/// When it says otherwise, or is unknown.
pub fn feature_gate(text: &str) -> Result<Switch, String> {
    if !text.contains('=') {
        return Err(format!("missing bool value for {text}"));
    }
    let switch = switch(text)?;
    match GATES.iter().find(|(name, _)| *name == switch.name) {
        Some((_, on)) if *on == switch.on => Ok(switch),
        Some((name, on)) => Err(format!("{name} is always {on} here")),
        None => Err(format!("{} cannot be switched here", switch.name)),
    }
}

/// Who decides about requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Yes to everything.
    AlwaysAllow,
    /// No to everything.
    AlwaysDeny,
    /// What nodes may.
    Node,
    /// Roles and bindings.
    Rbac,
    /// A server outside.
    Webhook,
}

/// A mode's name.
///
/// # Errors
/// When there is no such mode, or not yet.
pub fn mode(text: &str) -> Result<AuthorizationMode, String> {
    match text {
        "AlwaysAllow" => Ok(AuthorizationMode::AlwaysAllow),
        "AlwaysDeny" => Ok(AuthorizationMode::AlwaysDeny),
        "Node" => Ok(AuthorizationMode::Node),
        "RBAC" => Ok(AuthorizationMode::Rbac),
        "Webhook" => Ok(AuthorizationMode::Webhook),
        "ABAC" => {
            Err(format!("{text} is not supported yet; AlwaysAllow, AlwaysDeny, Node, RBAC and Webhook are"))
        }
        _ => {
            Err("there is no such mode; AlwaysAllow, AlwaysDeny, Node, RBAC and Webhook are supported".into())
        }
    }
}

/// A certificate and its key, for some names or those in the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniPair(pub KeyPair);

/// `cert,key` or `cert,key:name,name`.
///
/// # Errors
/// When it is something else.
pub fn sni(text: &str) -> Result<SniPair, String> {
    let (files, names) = text.split_once(':').unwrap_or((text, ""));
    let Some((certificate, key)) = files
        .split_once(',')
        .filter(|(certificate, key)| !certificate.is_empty() && !key.is_empty() && !key.contains(','))
    else {
        return Err("it is no pair of files, like tls.crt,tls.key".into());
    };
    let names = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Ok(SniPair(KeyPair { certificate: PathBuf::from(certificate), key: PathBuf::from(key), names }))
}

/// A range of addresses; the bits behind the prefix are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The first address.
    pub network: IpAddr,
    /// How many bits all addresses share.
    pub prefix: u8,
}

impl Cidr {
    /// `10.0.0.0/24`; bits behind the prefix are dropped, as Go does.
    ///
    /// # Errors
    /// When it is something else, or too small for a service.
    pub fn parse(text: &str) -> Result<Self, String> {
        let malformed = || "it is no CIDR, like 10.0.0.0/24".to_owned();
        let (address, prefix) = text.trim().split_once('/').ok_or_else(malformed)?;
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let prefix: u8 = prefix.parse().map_err(|_| malformed())?;
        let (bits, network) = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or(0);
                (32, IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask)))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix.into())).unwrap_or(0);
                (128, IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask)))
            }
        };
        if prefix > bits {
            return Err(malformed());
        }
        if bits - prefix < 3 {
            return Err("it must have at least 8 addresses".into());
        }
        Ok(Self { network, prefix })
    }

    /// The address at an offset from the first.
    pub fn at(&self, offset: u32) -> IpAddr {
        match self.network {
            IpAddr::V4(first) => IpAddr::V4(Ipv4Addr::from_bits(first.to_bits().wrapping_add(offset))),
            IpAddr::V6(first) => IpAddr::V6(Ipv6Addr::from_bits(first.to_bits().wrapping_add(offset.into()))),
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

/// A range of ports, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl PortRange {
    /// `30000-32767`, `30000+2767` or a single port.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let malformed = || "it is no range of ports, like 30000-32767".to_owned();
        let port = |text: &str| text.trim().parse::<u16>().map_err(|_| malformed());
        let (first, last) = if let Some((first, last)) = text.split_once('-') {
            (port(first)?, port(last)?)
        } else if let Some((first, more)) = text.split_once('+') {
            let first = port(first)?;
            (first, first.checked_add(port(more)?).ok_or_else(malformed)?)
        } else {
            (port(text)?, port(text)?)
        };
        if first > last { Err(malformed()) } else { Ok(Self { first, last }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cidrs() {
        for (text, expected, first, tenth) in [
            ("10.0.0.0/24", "10.0.0.0/24", "10.0.0.1", "10.0.0.10"),
            ("10.1.2.3/16", "10.1.0.0/16", "10.1.0.1", "10.1.0.10"),
            ("fd00::5/108", "fd00::/108", "fd00::1", "fd00::a"),
            ("0.0.0.0/0", "0.0.0.0/0", "0.0.0.1", "0.0.0.10"),
        ] {
            let cidr = Cidr::parse(text).unwrap();
            assert_eq!(
                (cidr.to_string(), cidr.at(1).to_string(), cidr.at(10).to_string()),
                (expected.into(), first.into(), tenth.into())
            );
        }
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/30", "x/24", "10.0.0.0/-1"] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ports() {
        for (text, expected) in [
            ("30000-32767", Some((30000, 32767))),
            ("30000+10", Some((30000, 30010))),
            ("80", Some((80, 80))),
            ("80-79", None),
            ("65535+1", None),
            ("x", None),
        ] {
            assert_eq!(
                PortRange::parse(text).ok().map(|range| (range.first, range.last)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn switches_and_pairs() {
        assert_eq!(switch("api/all=false"), Ok(Switch { name: "api/all".into(), on: false }));
        assert_eq!(switch("apps/v1"), Ok(Switch { name: "apps/v1".into(), on: true }));
        assert!(switch("apps/v1=maybe").is_err());
        assert_eq!(feature_gate("Nonsense=true"), Err("Nonsense cannot be switched here".into()));
        assert_eq!(feature_gate("WatchList=false"), Err("WatchList is always true here".into()));
        let SniPair(pair) = sni("a.crt,a.key:x.example,*.y.example").unwrap();
        assert_eq!(pair.names, ["x.example", "*.y.example"]);
        assert!(sni("a.crt").is_err() && sni("a.crt,a.key,b").is_err());
    }
}
