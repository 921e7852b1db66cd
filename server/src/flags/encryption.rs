//! How what is stored is sealed.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

/// The flags of encryption at rest.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Storage")]
pub struct EncryptionFlags {
    /// Which resources are encrypted in the store, and how: an EncryptionConfiguration of apiserver.config.k8s.io/v1.
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
    /// Whether that file is read again when it changes.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub encryption_provider_config_automatic_reload: bool,
}
