//! IP addresses and CIDRs in fields (upstream: `util/validation/ip.go`).
//!
//! Fields older than the strict rules take any spelling of an address and answer with a warning; newer ones ask for
//! the canonical one.
//! Absence: zones, which no field takes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field::{ErrorList, Path, quoted};

/// The address that a text is, leading zeros allowed.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let digits = parts.next().filter(|digits| is_number(digits))?.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then_some(IpAddr::V4(Ipv4Addr::from(octets)))
}

/// The address and the prefix length that a text is, leading zeros allowed.
pub fn parse_cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, prefix) = text.split_once('/')?;
    let address = parse_ip(address)?;
    let prefix = is_number(prefix).then(|| prefix.parse().ok())??;
    (prefix <= bits(address)).then_some((address, prefix))
}

/// Whether an address is within a network.
pub fn contains((network, prefix): (IpAddr, u32), address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, prefix) == masked(address, prefix)
}

/// The faults of an address in an older field.
pub fn validate_legacy_ip(path: &Path, value: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let Some(address) = parse_ip(value) else {
        let words = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(path.clone(), quoted(value), words);
        return errors;
    };
    if value.parse::<IpAddr>().is_err() {
        errors.invalid(path.clone(), quoted(value), "must not have leading 0s");
    }
    if is_mapped(address) {
        errors.invalid(path.clone(), quoted(value), "must not be an IPv4-mapped IPv6 address");
    }
    errors
}

/// The faults of an address.
pub fn validate_ip(path: &Path, value: &str) -> ErrorList {
    let mut errors = validate_legacy_ip(path, value);
    canonical(path, value, parse_ip(value).map(show), &mut errors);
    errors
}

/// The faults of a CIDR in an older field.
pub fn validate_legacy_cidr(path: &Path, value: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let Some((address, prefix)) = parse_cidr(value) else {
        let words = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        errors.invalid(path.clone(), quoted(value), words);
        return errors;
    };
    let words = if !is_strict_cidr(value) {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(address) {
        "must not have an IPv4-mapped IPv6 address"
    } else if masked(address, prefix) != address {
        "must not have bits set beyond the prefix length"
    } else {
        return errors;
    };
    errors.invalid(path.clone(), quoted(value), words);
    errors
}

/// The faults of a CIDR.
pub fn validate_cidr(path: &Path, value: &str) -> ErrorList {
    let mut errors = validate_legacy_cidr(path, value);
    canonical(path, value, parse_cidr(value).map(network), &mut errors);
    errors
}

/// The faults of an interface's address: a whole one and the length of its network's prefix.
pub fn validate_interface_address(path: &Path, value: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let Some((address, prefix)) = parse_cidr(value) else {
        let words = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        errors.invalid(path.clone(), quoted(value), words);
        return errors;
    };
    let prefix = if is_mapped(address) { prefix.saturating_sub(96) } else { prefix };
    canonical(path, value, Some(format!("{}/{prefix}", show(address))), &mut errors);
    errors
}

/// What to say of an address in an older field that is fine but for its spelling.
pub fn warn_of_ip(path: &Path, value: &str) -> Option<String> {
    let address = parse_ip(value)?;
    let value = quoted(value);
    if is_mapped(address) || value.trim_matches('"').parse::<IpAddr>().is_err() {
        let better = quoted(&show(address));
        return Some(format!("{path}: non-standard IP address {value} is invalid: use {better}"));
    }
    let better = quoted(&show(address));
    (address.is_ipv6() && better != value)
        .then(|| format!("{path}: IPv6 address {value} should be in RFC 5952 canonical format ({better})"))
}

/// What to say of a CIDR in an older field that is fine but for its spelling.
pub fn warn_of_cidr(path: &Path, value: &str) -> Vec<String> {
    let Some((address, prefix)) = parse_cidr(value) else { return Vec::new() };
    let mut warnings = Vec::new();
    let (shown, better) = (quoted(value), quoted(&network((address, prefix))));
    if masked(address, prefix) != address {
        let single = quoted(&format!("{}/{}", show(address), bits(address)));
        warnings.push(format!(
            "{path}: CIDR value {shown} is ambiguous in this context (should be {better} or {single}?)"
        ));
    }
    if is_mapped(address) || !is_strict_cidr(value) {
        warnings.push(format!("{path}: non-standard CIDR value {shown} is invalid: use {better}"));
    }
    let canonical = format!("{address}/{prefix}");
    if warnings.is_empty() && address.is_ipv6() && canonical != value {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {shown} should be in RFC 5952 canonical format ({})",
            quoted(&canonical)
        ));
    }
    warnings
}

fn canonical(path: &Path, value: &str, canonical: Option<String>, errors: &mut ErrorList) {
    if let Some(canonical) = canonical
        && errors.is_empty()
        && canonical != value
    {
        let words = format!("must be in canonical form ({})", quoted(&canonical));
        errors.invalid(path.clone(), quoted(value), &words);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_strict_cidr(value: &str) -> bool {
    value.split_once('/').is_some_and(|(address, prefix)| {
        address.parse::<IpAddr>().is_ok() && (prefix == "0" || !prefix.starts_with('0'))
    })
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(four) => {
            let mask = u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or_default();
            IpAddr::V4(Ipv4Addr::from_bits(four.to_bits() & mask))
        }
        IpAddr::V6(six) => {
            let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or_default();
            IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & mask))
        }
    }
}

/// As Go shows an address: one that maps IPv4 as the IPv4 address.
fn show(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

fn network((address, prefix): (IpAddr, u32)) -> String {
    format!("{}/{prefix}", show(masked(address, prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults() {
        type Check = fn(&Path, &str) -> ErrorList;
        let no_ip = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        let no_cidr = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        let table: &[(Check, &str, &str)] = &[
            (validate_legacy_ip, "1.2.3.4", ""),
            (validate_legacy_ip, "FE80::0abc", ""),
            (validate_legacy_ip, "1.2.3", no_ip),
            (validate_legacy_ip, "1.2.3.256", no_ip),
            (validate_legacy_ip, "fe80::1%eth0", no_ip),
            (validate_legacy_ip, "", no_ip),
            (validate_legacy_ip, "1.2.3.04", "must not have leading 0s"),
            (validate_legacy_ip, "::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
            (validate_ip, "fe80::abc", ""),
            (validate_ip, "FE80::abc", "must be in canonical form (\"fe80::abc\")"),
            (validate_legacy_cidr, "10.0.0.0/8", ""),
            (validate_legacy_cidr, "FE80::/64", ""),
            (validate_legacy_cidr, "0.0.0.0/0", ""),
            (validate_legacy_cidr, "10.0.0.0", no_cidr),
            (validate_legacy_cidr, "10.0.0.0/33", no_cidr),
            (validate_legacy_cidr, "10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
            (validate_legacy_cidr, "10.0.0.1/8", "must not have bits set beyond the prefix length"),
            (validate_legacy_cidr, "::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
            (validate_cidr, "FE80::/64", "must be in canonical form (\"fe80::/64\")"),
            (validate_interface_address, "10.0.0.1/8", ""),
            (validate_interface_address, "10.0.0.01/8", "must be in canonical form (\"10.0.0.1/8\")"),
        ];
        for (check, value, expected) in table {
            let errors = check(&Path::new("a"), value);
            let expected = if expected.is_empty() {
                "[]".into()
            } else {
                format!("a: Invalid value: {value:?}: {expected}")
            };
            assert_eq!(errors.aggregate(), expected, "{value}");
        }
    }

    #[test]
    fn warnings() {
        let path = Path::new("a");
        let ips = [
            ("1.2.3.4", None),
            ("1.2.3.04", Some("a: non-standard IP address \"1.2.3.04\" is invalid: use \"1.2.3.4\"")),
            (
                "::ffff:1.2.3.4",
                Some("a: non-standard IP address \"::ffff:1.2.3.4\" is invalid: use \"1.2.3.4\""),
            ),
            (
                "FE80::1",
                Some("a: IPv6 address \"FE80::1\" should be in RFC 5952 canonical format (\"fe80::1\")"),
            ),
        ];
        for (value, expected) in ips {
            assert_eq!(warn_of_ip(&path, value).as_deref(), expected, "{value}");
        }
        let cidrs = [
            ("10.0.0.0/8", None),
            (
                "10.0.0.1/8",
                Some(
                    "a: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)",
                ),
            ),
            (
                "10.00.0.0/8",
                Some("a: non-standard CIDR value \"10.00.0.0/8\" is invalid: use \"10.0.0.0/8\""),
            ),
            (
                "FE80::/64",
                Some(
                    "a: IPv6 CIDR value \"FE80::/64\" should be in RFC 5952 canonical format (\"fe80::/64\")",
                ),
            ),
        ];
        for (value, expected) in cidrs {
            assert_eq!(warn_of_cidr(&path, value).first().map(String::as_str), expected, "{value}");
        }
    }
}
