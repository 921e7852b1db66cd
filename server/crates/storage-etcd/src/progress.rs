//! Whether the cluster can be asked how far a watch has come.
//!
//! Before 3.4.25 and 3.5.8, etcd's answer may overtake changes that it claims to cover; there, only
//! the progress counts that etcd tells by itself.

use etcd_client::Client;

use crate::options::Options;
use crate::{connect_options, within};

/// Whether all members are known to answer correctly.
pub(crate) async fn is_safe_to_request(options: &Options) -> bool {
    let ask = |endpoint: String| async move {
        let status = within(options.connect_timeout, async {
            let mut client = Client::connect([endpoint], Some(connect_options(options))).await?;
            client.status().await
        });
        status.await.is_ok_and(|status| is_fixed(status.version()))
    };
    futures::future::join_all(options.endpoints.iter().cloned().map(ask)).await.into_iter().all(|safe| safe)
}

fn is_fixed(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    match (next(), next(), next()) {
        (3, 4, patch) => patch >= 25,
        (3, 5, patch) => patch >= 8,
        (major, minor, _) => (major, minor) > (3, 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (version, want) in [
            ("3.3.27", false),
            ("3.4.23", false),
            ("3.4.25", true),
            ("3.5.7", false),
            ("3.5.8", true),
            ("3.6.0-rc.1", true),
            ("4.0.0", true),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(is_fixed(version), want, "{version}");
        }
    }
}
