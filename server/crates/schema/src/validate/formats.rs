//! The formats of custom resources' schemas, with the leniencies of upstream's library
//! (`k8s.io/kube-openapi/pkg/validation/strfmt`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use apiwright_meta::time::{Duration, Time};
use apiwright_meta::url::Url;

use super::pattern;

/// Whether a text is of a format; every text is of one that is not known.
pub(super) fn is(format: &str, text: &str) -> bool {
    match format {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && address(text).is_some(),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => {
            pattern::matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text)
        }
        "uuid3" => {
            pattern::matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text)
        }
        "uuid4" => pattern::matches(
            "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
            text,
        ),
        "uuid5" => pattern::matches(
            "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
            text,
        ),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && pattern::matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text),
        "hexcolor" => pattern::matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text),
        "rgbcolor" => is_rgb_color(text),
        "byte" => is_base64(text),
        "date" => Time::parse(&format!("{text}T00:00:00Z")).is_ok() && text.len() == 10,
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        _ => true,
    }
}

/// A URI with a scheme, or a path from the root, that Go can read.
fn is_uri(text: &str) -> bool {
    let begins = text == "*" || text.starts_with('/') || pattern::matches(r"^[a-zA-Z][a-zA-Z0-9+.-]*:", text);
    begins && Url::parse(text).is_ok()
}

/// A mailbox, with or without a name before its address in angle brackets.
fn is_email(text: &str) -> bool {
    const ATOM: &str = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10FFFF}-]+";
    const QUOTED: &str = r#""(?:[^"\\\x00-\x1f\x7f]|\\.)*""#;
    let address = format!(r"(?:{ATOM}(?:\.{ATOM})*|{QUOTED})@(?:{ATOM}(?:\.{ATOM})*|\[[0-9A-Fa-f:.]+\])");
    let named = format!(r"(?:(?:{ATOM}|{QUOTED}|\.)[ \t]*)*<{address}>");
    pattern::matches(&format!(r"^[ \t]*(?:{address}|{named})[ \t]*$"), text)
}

/// A name of the Internet, of symbols and letters of any script, too. A name without dots has one hyphen at
/// most, behind its first character.
fn is_hostname(text: &str) -> bool {
    let letter = |sign: char| sign.is_ascii_alphabetic() || (!sign.is_ascii() && sign.is_alphabetic());
    let sign = |sign: char| {
        sign.is_ascii_alphanumeric()
            || letter(sign)
            || pattern::matches(r"^\p{S}$", sign.encode_utf8(&mut [0; 4]))
    };
    if text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    let Some((names, top)) = text.rsplit_once('.') else {
        let mut rest = text.chars();
        let first = rest.next();
        let rest = rest.as_str();
        return first.is_some_and(sign) && rest.strip_prefix('-').unwrap_or(rest).chars().all(sign);
    };
    let name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('-')
            && !name.ends_with('-')
            && name.chars().all(|one| one == '-' || sign(one))
    };
    names.split('.').all(name) && top.chars().count() >= 2 && top.chars().all(letter)
}

/// An address; of version 4 with leading zeros, too.
fn address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut parts = [0; 4];
    let mut given = text.split('.');
    for part in &mut parts {
        let text = given.next().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        *part = text.parse().ok()?;
    }
    given.next().is_none().then(|| Ipv4Addr::from(parts).into())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Some(address) = self::address(address) else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

/// 6, 8 or 20 bytes in hexadecimal, in pairs or in fours.
fn is_mac(text: &str) -> bool {
    ["([0-9a-fA-F]{2}:)", "([0-9a-fA-F]{2}-)"].iter().any(|pair| {
        [5, 7, 19].iter().any(|count| pattern::matches(&format!("^{pair}{{{count}}}[0-9a-fA-F]{{2}}$"), text))
    }) || [2, 3, 9]
        .iter()
        .any(|count| pattern::matches(&format!(r"^([0-9a-fA-F]{{4}}\.){{{count}}}[0-9a-fA-F]{{4}}$"), text))
}

/// The digits of a text without hyphens and spaces.
fn digits(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '-' | ' ' | '\t' | '\n' | '\x0c' | '\r')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits(text);
    let value = |(at, byte): (usize, u8)| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'X' if at == 9 => Some(10),
        _ => None,
    };
    let values: Option<Vec<u32>> = digits.bytes().enumerate().map(value).collect();
    values.is_some_and(|values| {
        values.len() == 10
            && values.iter().zip(1..).map(|(value, place)| value * place).sum::<u32>() % 11 == 0
    })
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits(text);
    digits.len() == 13
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.bytes().enumerate().map(|(at, byte)| u32::from(byte - b'0') * [1, 3][at % 2]).sum::<u32>()
            % 10
            == 0
}

/// A number that a card may have, with Luhn's check digit; what is no digit does not count.
fn is_credit_card(text: &str) -> bool {
    const NUMBERS: &str = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let value = |(at, byte): (usize, u8)| {
        let digit = u32::from(byte - b'0');
        if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
    };
    pattern::matches(NUMBERS, &digits) && digits.bytes().rev().enumerate().map(value).sum::<u32>() % 10 == 0
}

fn is_rgb_color(text: &str) -> bool {
    const PART: &str = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    pattern::matches(&format!(r"^rgb\({PART},{PART},{PART}\)$"), text)
}

fn is_base64(text: &str) -> bool {
    const SIGN: &str = "[A-Za-z0-9+/]";
    pattern::matches(&format!("^(?:{SIGN}{{4}})*(?:{SIGN}{{2}}==|{SIGN}{{3}}=|{SIGN}{{4}})$"), text)
}

/// RFC 3339; the library also takes a space between date and time, and no zone.
fn is_date_time(text: &str) -> bool {
    // The seconds' fraction may follow any character; a zone there must be.
    const TIME: &str = r"^([0-1][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    parts.next().is_some_and(|date| is("date", date))
        && parts.next().is_some_and(|time| pattern::matches(TIME, time))
}

/// Go's durations, and what has numbers of longer units somewhere: `3 days`, `1w`.
fn is_duration(text: &str) -> bool {
    const UNITS: &[&str] = &["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    const LONG: &[&str] = &["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    if Duration::parse(text).is_ok() {
        return true;
    }
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find(|sign: char| sign.is_ascii_digit()) {
        rest = &rest[at..];
        let end = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
        let number = &rest[..end];
        rest = rest[end..].trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
        let end = rest.find(|sign: char| !(sign.is_ascii_alphabetic() || sign == 'µ')).unwrap_or(rest.len());
        let unit = rest[..end].to_lowercase();
        rest = &rest[end..];
        if unit.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        found |= UNITS.contains(&&*unit) || LONG.iter().any(|long| unit.starts_with(long));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn formats_tell_texts_apart() {
        for (format, good, bad) in [
            (
                "ipv4",
                &["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"][..],
                &["10.0.0.256", "::1", "", "1.2.3"][..],
            ),
            ("ipv6", &["::1", "fe80::1"], &["10.0.0.1", "x"]),
            ("cidr", &["10.0.0.0/8", "fd00::/64"], &["10.0.0.0/99", "10.0.0.0", "10.0.0.0/+8"]),
            ("mac", &["00:00:5e:00:53:01", "0000.5e00.5301"], &["00:00"]),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000"], &["123e4567"]),
            ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]),
            ("date", &["2024-02-29"], &["29.2.2024", "2023-02-29"]),
            (
                "date-time",
                &["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.5+01:00"],
                &["2024-02-29", "soon", "2024-02-29T12:00:00", "2024-02-29 12:00:00Z"],
            ),
            ("duration", &["1h30m", "3 days", "1w", "about 2 hours"], &["soon", "", "3 fortnights"]),
            ("byte", &["YQ=="], &["no base64!"]),
            (
                "email",
                &["a.b@example.com", "Ann <a@b>", "\"a b\"@c"],
                &["nope", "@example.com", "a@", "a@b..c", "a.@b"],
            ),
            (
                "uri",
                &["https://example.com/x?y=z", "/path", "mailto:a"],
                &["not a uri", "", "http://a b/", "/%zz"],
            ),
            (
                "hostname",
                &["example.com", "a", "bücher.de"],
                &["-a-", "a..b", "", "example.c", "example.com."],
            ),
            ("isbn", &["978-3-16-148410-0", "0-306-40615-2"], &["978-3-16-148410-1"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]),
            ("ssn", &["111-22-3333"], &["111-22-333", "111223333"]),
            ("hexcolor", &["#fff", "00ff00"], &["#ff"]),
            ("rgbcolor", &["rgb(0, 1, 255)"], &["rgb(0,1,256)", "red", "rgb(00,1,2)"]),
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]),
            ("nonesuch", &["", "anything"], &[]),
        ] {
            for text in good {
                assert!(is(format, text), "{format} {text}");
            }
            for text in bad {
                assert!(!is(format, text), "{format} {text}");
            }
        }
    }
}
