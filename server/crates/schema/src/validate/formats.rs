//! The formats of custom resources' schemas, with the leniencies of upstream's library
//! (`k8s.io/kube-openapi/pkg/validation/strfmt`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use apiwright_meta::time::{Duration, Time};

use super::pattern;

/// Whether a text is of a format; every text is of one that is not known.
pub(super) fn is(format: &str, text: &str) -> bool {
    match format {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
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
        "ssn" => pattern::matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text),
        "hexcolor" => pattern::matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text),
        "rgbcolor" => is_rgb_color(text),
        "byte" => is_base64(text),
        "date" => Time::parse(&format!("{text}T00:00:00Z")).is_ok() && text.len() == 10,
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        _ => true,
    }
}

/// A URI with a scheme, or a path from the root.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return false;
    }
    text.starts_with('/') || pattern::matches(r"^[a-zA-Z][a-zA-Z0-9+.-]*:", text)
}

/// A mailbox: text, an at sign and a domain.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"<>()[]\\,;:@\"".contains(c);
    !name.is_empty()
        && !domain.is_empty()
        && domain.chars().all(plain)
        && name.split('.').all(|part| !part.is_empty() && part.chars().all(plain))
}

/// A name of the Internet: labels of letters, digits and hyphens.
fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
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
    text.chars().filter(|c| !matches!(c, '-' | ' ')).collect()
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

/// 13 to 19 digits with Luhn's check digit.
fn is_credit_card(text: &str) -> bool {
    let digits = digits(text);
    let value = |(at, byte): (usize, u8)| {
        let digit = u32::from(byte - b'0');
        if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
    };
    (13..=19).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.bytes().rev().enumerate().map(value).sum::<u32>() % 10 == 0
}

fn is_rgb_color(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    })
}

fn is_base64(text: &str) -> bool {
    !text.is_empty() && crate::decode::is_base64(text)
}

/// RFC 3339; the library also takes a space between date and time, and no zone.
fn is_date_time(text: &str) -> bool {
    // The seconds' fraction may follow any character; a zone there must be.
    const TIME: &str = r"^([0-1][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    let lower = text.to_lowercase();
    lower.split_once('t').is_some_and(|(date, time)| is("date", date) && pattern::matches(TIME, time))
}

/// Go's durations, and numbers of longer units: `3 days`, `1w`.
fn is_duration(text: &str) -> bool {
    Duration::parse(text).is_ok()
        || pattern::matches(
            r"^(\d+(\.\d+)?\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+$",
            text,
        )
}

#[cfg(test)]
mod tests {
    use super::is;

    #[test]
    fn formats_tell_texts_apart() {
        for (format, good, bad) in [
            ("ipv4", &["10.0.0.1"][..], &["10.0.0.256", "::1", ""][..]),
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
            ("duration", &["1h30m", "3 days", "1w"], &["soon", ""]),
            ("byte", &["YQ=="], &["no base64!"]),
            ("email", &["a.b@example.com"], &["nope", "@example.com", "a@"]),
            ("uri", &["https://example.com/x?y=z", "/path"], &["not a uri", ""]),
            ("hostname", &["example.com", "a"], &["-a-", "a..b", ""]),
            ("isbn", &["978-3-16-148410-0", "0-306-40615-2"], &["978-3-16-148410-1"]),
            ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]),
            ("ssn", &["111-22-3333"], &["111-22-333"]),
            ("hexcolor", &["#fff", "00ff00"], &["#ff"]),
            ("rgbcolor", &["rgb(0, 1, 255)"], &["rgb(0,1,256)", "red"]),
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
