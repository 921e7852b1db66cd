//! The addresses of a service range: which there are and in which order they are tried.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use apiwright_meta::address::parse_cidr;

use super::random;

/// A CIDR whose addresses services have. Its network address is nobody's, nor is the broadcast
/// address of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    six: bool,
    /// The network's address.
    network: u128,
    /// How many addresses services can have, behind the network's.
    count: u128,
}

impl Range {
    /// `None` where the text is no CIDR.
    pub(super) fn parse(cidr: &str) -> Option<Self> {
        let (address, prefix) = parse_cidr(cidr)?;
        let (bits, number) = match address {
            IpAddr::V4(four) => (32, u128::from(four.to_bits())),
            IpAddr::V6(six) => (128, six.to_bits()),
        };
        let size = 1_u128.checked_shl(bits - prefix).unwrap_or(u128::MAX);
        let reserved = if bits == 32 { 2 } else { 1 };
        Some(Self { six: bits == 128, network: number & !(size - 1), count: size.saturating_sub(reserved) })
    }

    /// Whether its addresses are of IPv6.
    pub(super) fn is_six(&self) -> bool {
        self.six
    }

    /// Whether a service can have this address.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let number = match address {
            IpAddr::V4(four) if !self.six => u128::from(four.to_bits()),
            IpAddr::V6(six) if self.six => six.to_bits(),
            IpAddr::V4(_) | IpAddr::V6(_) => return false,
        };
        number > self.network && number - self.network <= self.count
    }

    /// The network's address: what a dry run answers with.
    pub(super) fn network(&self) -> IpAddr {
        self.at(0)
    }

    /// Every address once: the upper ones from a random one on, then those at the start, which are
    /// left as long as possible to those who ask for them by number.
    pub(super) fn candidates(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let range = *self;
        let wished = self.static_band();
        let part = move |from: u128, count: u128| {
            let start = u128::from(random::below(u64::try_from(count).unwrap_or(u64::MAX)));
            (0..count).map(move |step| range.at(1 + from + (start + step) % count))
        };
        part(wished, self.count - wished).chain(part(0, wished))
    }

    fn static_band(&self) -> u128 {
        let size = self.count + if self.six { 1 } else { 2 };
        if size <= 16 { 0 } else { (size / 16).clamp(16, 256).min(self.count) }
    }

    fn at(&self, offset: u128) -> IpAddr {
        let number = self.network.wrapping_add(offset);
        if self.six {
            IpAddr::V6(Ipv6Addr::from_bits(number))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).unwrap_or(u32::MAX)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_addresses_there_are() {
        let table = [
            ("10.0.0.0/24", "10.0.0.0", false),
            ("10.0.0.0/24", "10.0.0.1", true),
            ("10.0.0.7/24", "10.0.0.254", true),
            ("10.0.0.0/24", "10.0.0.255", false),
            ("10.0.0.0/24", "10.0.1.1", false),
            ("10.0.0.0/24", "::1", false),
            ("2001:db8::/112", "2001:db8::", false),
            ("2001:db8::/112", "2001:db8::ffff", true),
            ("0.0.0.0/0", "255.255.255.254", true),
            ("::/0", "ffff::", true),
            ("10.0.0.1/32", "10.0.0.1", false),
        ];
        for (cidr, address, expected) in table {
            let range = Range::parse(cidr).unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), expected, "{cidr} {address}");
        }
        assert_eq!(Range::parse("10.0.0.0"), None);
    }

    #[test]
    fn candidates_are_all_addresses_the_low_ones_last() {
        for (cidr, count, band) in
            [("10.0.0.0/24", 254, 16), ("10.0.0.0/28", 14, 0), ("10.0.0.0/32", 0, 0), ("fd00::/120", 255, 16)]
        {
            let range = Range::parse(cidr).unwrap();
            let all: Vec<IpAddr> = range.candidates().collect();
            let different: std::collections::HashSet<&IpAddr> = all.iter().collect();
            assert_eq!((all.len(), different.len()), (count, count), "{cidr}");
            assert!(all.iter().all(|one| range.contains(*one)), "{cidr}");
            let low = |one: &IpAddr| (1..=band).any(|at| range.at(at) == *one);
            assert!(all[count - band as usize..].iter().all(low), "{cidr}");
        }
    }
}
