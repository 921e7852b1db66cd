//! Varints, tags and lengths.

use super::Error;

/// How a field's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    /// Integers and booleans.
    Varint(u64),
    /// Doubles.
    Fixed64(u64),
    /// Strings, bytes and messages.
    Bytes(&'a [u8]),
    /// Floats, which no Kubernetes type has.
    Fixed32,
    /// A group, which none has either.
    Group,
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const START_GROUP: u64 = 3;
const END_GROUP: u64 = 4;
const FIXED32: u64 = 5;

impl Wire<'_> {
    /// The number of the wire type, for errors.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Varint(_) => VARINT,
            Self::Fixed64(_) => FIXED64,
            Self::Bytes(_) => BYTES,
            Self::Fixed32 => FIXED32,
            Self::Group => START_GROUP,
        }
    }
}

/// The fields of a message, one after the other.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// The message, for errors.
    name: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], name: &'a str) -> Self {
        Self { bytes, name }
    }

    /// The next field's number and value; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, Error> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let (number, wire) = ((key >> 3) as u32 as i32, key & 7);
        if wire == END_GROUP {
            return Err(Error(format!("proto: {}: wiretype end group for non-group", self.name)));
        }
        if number <= 0 {
            return Err(Error(format!("proto: {}: illegal tag {number} (wire type {wire})", self.name)));
        }
        let value = match wire {
            VARINT => Wire::Varint(self.varint()?),
            FIXED64 => {
                let taken: [u8; 8] = self.take(8)?.try_into().map_err(|_| unexpected_end())?;
                Wire::Fixed64(u64::from_le_bytes(taken))
            }
            BYTES => {
                let length = self.varint()?;
                if length > i64::MAX as u64 {
                    return Err(Error::new("proto: negative length found during unmarshaling"));
                }
                Wire::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            START_GROUP => {
                self.skip_group()?;
                Wire::Group
            }
            FIXED32 => {
                self.take(4)?;
                Wire::Fixed32
            }
            other => return Err(Error(format!("proto: illegal wireType {other}"))),
        };
        Ok(Some((number as u32, value)))
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or_else(unexpected_end)?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::new("proto: integer overflow"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        if length > self.bytes.len() {
            return Err(unexpected_end());
        }
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(taken)
    }

    /// Skips to the end of the group that has begun.
    fn skip_group(&mut self) -> Result<(), Error> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.varint()? & 7 {
                VARINT => {
                    self.varint()?;
                }
                FIXED64 => {
                    self.take(8)?;
                }
                BYTES => {
                    let length = self.varint()?;
                    self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
                }
                START_GROUP => depth += 1,
                END_GROUP => depth -= 1,
                FIXED32 => {
                    self.take(4)?;
                }
                other => return Err(Error(format!("proto: illegal wireType {other}"))),
            }
        }
        Ok(())
    }
}

fn unexpected_end() -> Error {
    Error::new("unexpected EOF")
}

/// Appends an integer field.
pub(super) fn put_varint(number: u32, value: u64, out: &mut Vec<u8>) {
    pair(u64::from(number) << 3, value, out);
}

/// Appends a double field.
pub(super) fn put_fixed64(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | FIXED64, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of bytes.
pub(super) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_length(number, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Appends what comes before so many bytes.
pub(super) fn put_length(number: u32, length: usize, out: &mut Vec<u8>) {
    pair(u64::from(number) << 3 | BYTES, length as u64, out);
}

/// How long a field of so many bytes is, of a number below 16.
pub(super) fn length_of_bytes(length: usize) -> usize {
    1 + varint_len(length as u64) + length
}

/// Two varints, short ones at once.
fn pair(first: u64, second: u64, out: &mut Vec<u8>) {
    if first | second < 0x80 {
        out.extend_from_slice(&[first as u8, second as u8]);
    } else {
        varint(first, out);
        varint(second, out);
    }
}

/// Appends a message field whose content `write` appends.
pub(super) fn put_message<E>(
    number: u32,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    varint(u64::from(number) << 3 | BYTES, out);
    let length_at = out.len();
    // Most messages are short: a byte for the length, moved apart where it takes more.
    out.push(0);
    write(out)?;
    let length = out.len() - length_at - 1;
    let more = varint_len(length as u64) - 1;
    if more > 0 {
        out.resize(out.len() + more, 0);
        out.copy_within(length_at + 1..length_at + 1 + length, length_at + 1 + more);
    }
    let mut rest = length as u64;
    for byte in &mut out[length_at..=length_at + more] {
        *byte = (rest & 0x7f) as u8 | 0x80;
        rest >>= 7;
    }
    out[length_at + more] &= 0x7f;
    Ok(())
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
