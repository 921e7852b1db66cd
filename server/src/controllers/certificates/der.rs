//! As much of DER as a certificate takes: what is copied from a request stays as it was written.

/// A tag, the length, the contents.
pub(super) fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(length + 6);
    out.push(tag);
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
        out.push(0x80 | (bytes.len() - first) as u8);
        out.extend_from_slice(&bytes[first..]);
    }
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, parts)
}

/// A positive number, its bytes most significant first.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len().saturating_sub(1));
    let bytes = &bytes[first..];
    let sign: &[u8] = if bytes.first().is_none_or(|byte| byte & 0x80 != 0) { &[0] } else { &[] };
    tlv(0x02, &[sign, bytes])
}

/// Whole bytes.
pub(super) fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(0x03, &[&[0], bytes])
}

/// Flags, the first one in the highest bit; trailing zeroes are not written.
pub(super) fn flags(set: u16) -> Vec<u8> {
    let bytes = set.to_be_bytes();
    let used = if bytes[1] != 0 { 2 } else { 1 };
    let unused = bytes[used - 1].trailing_zeros().min(7) as u8;
    tlv(0x03, &[&[unused], &bytes[..used]])
}

/// `YYMMDDHHMMSSZ`, or with four digits of the year from 2050 on.
pub(super) fn time(rfc3339: &str) -> Vec<u8> {
    let digits: String = rfc3339.chars().filter(char::is_ascii_digit).take(14).collect();
    match digits.get(..4) {
        Some(year) if ("1950".."2050").contains(&year) => tlv(0x17, &[&digits.as_bytes()[2..], b"Z"]),
        _ => tlv(0x18, &[digits.as_bytes(), b"Z"]),
    }
}

/// An extension by its object identifier.
pub(super) fn extension(identifier: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let identifier = tlv(0x06, &[identifier]);
    let critical: &[u8] = if critical { &[0x01, 0x01, 0xff] } else { &[] };
    sequence(&[&identifier, critical, &tlv(0x04, &[value])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written() {
        assert_eq!(tlv(0x04, &[&[7; 3]]), [4, 3, 7, 7, 7]);
        assert_eq!(tlv(0x04, &[&[7; 200]])[..3], [4, 0x81, 200]);
        assert_eq!(tlv(0x04, &[&[7; 300]])[..4], [4, 0x82, 1, 44]);
        assert_eq!(integer(&[0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[0, 0]), [2, 1, 0]);
        assert_eq!(flags(0xa000), [3, 2, 5, 0xa0]);
        assert_eq!(flags(0x0080), [3, 3, 7, 0, 0x80]);
        assert_eq!(time("2026-11-29T20:00:01Z"), b"\x17\x0d261129200001Z");
        assert_eq!(time("2051-01-02T03:04:05Z"), b"\x18\x0f20510102030405Z");
    }
}
