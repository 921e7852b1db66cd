//! Addresses that nothing outside of a machine is reached by.

use std::net::IpAddr;

use apiwright_meta::address::parse_ip;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

/// The faults of an address that others are to reach; what is no address is not its business.
pub fn special_ip(address: &str, path: &Path, errors: &mut ErrorList) {
    let Some(ip) = parse_ip(address).map(|ip| ip.to_canonical()) else {
        errors.invalid(path.clone(), quoted(address), "must be a valid IP address");
        return;
    };
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (six.is_unicast_link_local(), six.segments()[0] & 0xff0f == 0xff02),
    };
    let mut refuse = |when: bool, why: &str| {
        if when {
            errors.invalid(path.clone(), quoted(address), why);
        }
    };
    refuse(ip.is_unspecified(), &format!("may not be unspecified ({address})"));
    refuse(ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    refuse(link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    refuse(link_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses() {
        let table = [
            ("192.0.2.1", "[]"),
            ("2001:db8::1", "[]"),
            ("0.0.0.0", "a: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)"),
            ("::1", "a: Invalid value: \"::1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"),
            (
                "169.254.9.9",
                "a: Invalid value: \"169.254.9.9\": may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            ),
            (
                "ff02::1",
                "a: Invalid value: \"ff02::1\": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            ),
            ("x", "a: Invalid value: \"x\": must be a valid IP address"),
        ];
        for (address, expected) in table {
            let mut errors = ErrorList::new();
            special_ip(address, &Path::new("a"), &mut errors);
            assert_eq!(errors.aggregate(), expected);
        }
    }
}
