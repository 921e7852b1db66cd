//! What is agreed on with clients before they ask anything.

use apiwright_transport::{Limits, Rules};
use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

/// The flags of the handshake and of HTTP/2.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Serving")]
pub struct TlsFlags {
    /// The oldest TLS that is spoken: `VersionTLS12` or `VersionTLS13`.
    #[arg(long, value_name = "VERSION", default_value = "VersionTLS12")]
    pub tls_min_version: String,
    /// The suites of TLS 1.2 that are spoken [default: all that are safe]; those of TLS 1.3 cannot be chosen.
    #[arg(long, value_name = "SUITES", value_delimiter = ',')]
    pub tls_cipher_suites: Vec<String>,
    /// Whether only HTTP/1.1 is spoken.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub disable_http2_serving: bool,
    /// How many requests may be under way on a connection of HTTP/2; 0 for 250.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub http2_max_streams_per_connection: u32,
}

impl TlsFlags {
    /// What the handshake may agree on.
    ///
    /// # Errors
    /// One line about what is not spoken.
    pub fn rules(&self) -> Result<Rules, String> {
        let mut rules = Rules::default()
            .from_version(&self.tls_min_version)
            .map_err(|why| format!("--tls-min-version: {why}"))?
            .with_suites(&self.tls_cipher_suites)
            .map_err(|why| format!("--tls-cipher-suites: {why}"))?;
        rules.http2 = !self.disable_http2_serving;
        Ok(rules)
    }

    /// What one connection may ask for.
    pub fn limits(&self) -> Limits {
        let usual = Limits::default();
        match self.http2_max_streams_per_connection {
            0 => usual,
            streams_max => Limits { streams_max, ..usual },
        }
    }
}
