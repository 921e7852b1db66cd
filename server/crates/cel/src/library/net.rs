//! IP addresses and their ranges.

use std::net::IpAddr;

use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "ip",
        price: Price::Text,
        native: ip,
        signatures: &["string_to_ip: (string) -> ip", "cidr_ip: cidr.() -> ip"],
    },
    Entry { name: "isIP", price: Price::Text, native: is_ip, signatures: &["is_ip: (string) -> bool"] },
    Entry {
        name: "ip.isCanonical",
        price: Price::TextTwice,
        native: is_canonical,
        signatures: &["ip_is_canonical: (string) -> bool"],
    },
    Entry { name: "family", price: Price::One, native: family, signatures: &["ip_family: ip.() -> int"] },
    Entry {
        name: "isUnspecified",
        price: Price::One,
        native: is_unspecified,
        signatures: &["ip_is_unspecified: ip.() -> bool"],
    },
    Entry {
        name: "isLoopback",
        price: Price::One,
        native: is_loopback,
        signatures: &["ip_is_loopback: ip.() -> bool"],
    },
    Entry {
        name: "isLinkLocalMulticast",
        price: Price::One,
        native: is_link_local_multicast,
        signatures: &["ip_is_link_local_multicast: ip.() -> bool"],
    },
    Entry {
        name: "isLinkLocalUnicast",
        price: Price::One,
        native: is_link_local_unicast,
        signatures: &["ip_is_link_local_unicast: ip.() -> bool"],
    },
    Entry {
        name: "isGlobalUnicast",
        price: Price::One,
        native: is_global_unicast,
        signatures: &["ip_is_global_unicast: ip.() -> bool"],
    },
    Entry {
        name: "cidr",
        price: Price::Text,
        native: cidr,
        signatures: &["string_to_cidr: (string) -> cidr"],
    },
    Entry { name: "isCIDR", price: Price::Text, native: is_cidr, signatures: &["is_cidr: (string) -> bool"] },
    Entry {
        name: "containsIP",
        price: Price::Address,
        native: contains_ip,
        signatures: &[
            "cidr_contains_ip_string: cidr.(string) -> bool",
            "cidr_contains_ip_ip: cidr.(ip) -> bool",
        ],
    },
    Entry {
        name: "containsCIDR",
        price: Price::Range,
        native: contains_cidr,
        signatures: &[
            "cidr_contains_cidr_string: cidr.(string) -> bool",
            "cidr_contains_cidr: cidr.(cidr) -> bool",
        ],
    },
    Entry {
        name: "prefixLength",
        price: Price::One,
        native: prefix_length,
        signatures: &["cidr_prefix_length: cidr.() -> int"],
    },
    Entry {
        name: "masked",
        price: Price::One,
        native: masked,
        signatures: &["cidr_masked: cidr.() -> cidr"],
    },
];

/// Parses an address as Go's `netip` does, with the words of Kubernetes' library.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let parse = |why: &str| format!("IP Address {text:?} parse error during conversion from string: {why}");
    if let Some((address, zone)) = text.split_once('%')
        && address.contains(':')
    {
        if zone.is_empty() {
            return Err(parse(&format!("ParseAddr({text:?}): zone must be a non-empty string")));
        }
        if address.parse::<IpAddr>().is_ok() {
            return Err(format!("IP address {text:?} with zone value is not allowed"));
        }
    }
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(parse(&format!("ParseAddr({text:?}): {}", address_fault(text)))),
    }
}

/// What Go finds wrong with an address.
fn address_fault(text: &str) -> String {
    let first = text.chars().find(|sign| matches!(sign, '.' | ':' | '%'));
    match first {
        Some('.') => {
            let parts: Vec<&str> = text.split('.').collect();
            for part in &parts {
                if let Some(sign) = part.chars().find(|sign| !sign.is_ascii_digit()) {
                    let at = text.find(sign).unwrap_or_default();
                    return format!("unexpected character (at {:?})", &text[at..]);
                }
                if part.len() > 1 && part.starts_with('0') {
                    return "IPv4 field has octet with leading zero".to_owned();
                }
                if part.parse::<u32>().is_ok_and(|number| number > 255) || part.len() > 3 {
                    return "IPv4 field has value >255".to_owned();
                }
            }
            if parts.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }.to_owned()
        }
        Some(':') => "unexpected character, want colon".to_owned(),
        Some(_) => "missing IPv6 address".to_owned(),
        None => "unable to parse IP".to_owned(),
    }
}

/// Parses a range as Go's `netip` does.
fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let fault = |why: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        )
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return Err(fault("no '/'")) };
    let parsed: IpAddr = match address.parse() {
        Ok(parsed) => parsed,
        Err(_) if address.contains('%') => return Err(fault("IPv6 zones cannot be present in a prefix")),
        Err(_) => return Err(fault(&format!("ParseAddr({address:?}): {}", address_fault(address)))),
    };
    if bits.len() > 1 && !(b'1'..=b'9').contains(&bits.as_bytes()[0]) {
        return Err(fault(&format!("bad bits after slash: {bits:?}")));
    }
    let Ok(bits) = bits.parse::<u32>() else {
        return Err(fault(&format!("bad bits after slash: {bits:?}")));
    };
    let most = if parsed.is_ipv4() { 32 } else { 128 };
    if bits > most {
        return Err(fault("prefix length out of range"));
    }
    match parsed {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        address => Ok((address, bits as u8)),
    }
}

fn cidr_fault(why: String) -> EvalError {
    EvalError::new(format!("network address parse error during conversion from string: {why}"))
}

fn ip<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    match args {
        [Val::String(text)] => parse_ip(text).map(Val::Ip).map_err(EvalError::new),
        [Val::Cidr(address, _)] => Ok(Val::Ip(*address)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn is_ip<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(parse_ip(text).is_ok()))
}

fn is_canonical<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let address = parse_ip(text).map_err(EvalError::new)?;
    Ok(Val::Bool(address.to_string() == **text))
}

fn of_ip<'a>(args: &[Val<'a>], ask: fn(&IpAddr) -> bool) -> Result<Val<'a>, EvalError> {
    let [Val::Ip(address)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(ask(address)))
}

fn family<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Ip(address)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Int(if address.is_ipv4() { 4 } else { 6 }))
}

fn is_unspecified<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of_ip(args, IpAddr::is_unspecified)
}

fn is_loopback<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of_ip(args, IpAddr::is_loopback)
}

fn is_link_local_multicast<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of_ip(args, |address| match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    })
}

fn link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_link_local_unicast<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of_ip(args, link_local_unicast)
}

fn is_global_unicast<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    of_ip(args, |address| {
        let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
        !broadcast
            && !address.is_unspecified()
            && !address.is_loopback()
            && !address.is_multicast()
            && !link_local_unicast(address)
    })
}

fn cidr<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    parse_cidr(text).map(|(address, bits)| Val::Cidr(address, bits)).map_err(cidr_fault)
}

fn is_cidr<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Bool(parse_cidr(text).is_ok()))
}

/// The bits of an address, from the top.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Whether an address begins like a range.
fn within(address: IpAddr, range: IpAddr, bits: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or_default();
    address.is_ipv4() == range.is_ipv4() && number(address) & mask == number(range) & mask
}

fn contains_ip<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Cidr(range, bits), other] = args else { return Err(EvalError::NO_OVERLOAD) };
    let address = match other {
        Val::Ip(address) => *address,
        Val::String(text) => parse_ip(text).map_err(EvalError::new)?,
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    Ok(Val::Bool(within(address, *range, *bits)))
}

fn contains_cidr<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Cidr(range, bits), other] = args else { return Err(EvalError::NO_OVERLOAD) };
    let (inner, inner_bits) = match other {
        Val::Cidr(address, bits) => (*address, *bits),
        Val::String(text) => parse_cidr(text).map_err(cidr_fault)?,
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    Ok(Val::Bool(*bits <= inner_bits && within(inner, *range, *bits)))
}

fn prefix_length<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Cidr(_, bits)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(Val::Int((*bits).into()))
}

fn masked<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Cidr(address, bits)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let mask = u128::MAX.checked_shl(128 - u32::from(*bits)).unwrap_or_default();
    let kept = number(*address) & mask;
    let address = match address {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::from_bits((kept >> 96) as u32)),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::from_bits(kept)),
    };
    Ok(Val::Cidr(address, *bits))
}
