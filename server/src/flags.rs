//! The command line: kube-apiserver's names and syntax, and a few of our own.
//!
//! Turns arguments into [`Flags`], whose values are well-formed; what they mean together is the
//! configuration's business. Invariant: no flag is ignored. One that kube-apiserver has and we do
//! not is refused by name, one that nobody has with the nearest that somebody has.

pub mod audit;
pub mod encryption;
mod oidc;
mod refused;
pub mod tls;
pub mod values;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Parser, ValueEnum};

use crate::{explain, snapshot};
pub use oidc::Oidc;
use values::{Cidr, PortRange, Switch};

/// What `--help` says above the flags.
const ABOUT: &str = "A Kubernetes-compatible API server in one binary.

Without any flag it makes its certificates, its store and an administrator's kubeconfig in ./.apiwright,
and serves on https://127.0.0.1:6443. Flags have kube-apiserver's names and syntax.

Two commands have a --help of their own:
  apiwright snapshot save|status|restore     keeps all that is stored in one file
  apiwright explain controllers|controller   tells what controllers decide";

/// Everything that can be said on the command line.
#[derive(Clone, Debug, Parser)]
#[command(name = "apiwright", version, about = ABOUT, max_term_width = 120, disable_help_subcommand = true)]
pub struct Flags {
    /// Where everything is kept that the server makes itself.
    ///
    /// In the working directory, so that two projects have two clusters and none is hidden in a home directory.
    #[arg(long, value_name = "DIR", default_value = ".apiwright", help_heading = "Storage")]
    pub data_dir: PathBuf,
    /// The store: `embedded` (a file in the data directory), `memory` (gone at exit), or `etcd`.
    #[arg(long, value_enum, value_name = "ENGINE", help_heading = "Storage")]
    pub storage: Option<StorageEngine>,
    /// How long events are kept.
    #[arg(long, value_name = "DURATION", default_value = "1h0m0s", value_parser = values::duration, help_heading = "Storage")]
    pub event_ttl: Duration,
    /// The members of an etcd cluster, comma-separated URLs; implies --storage=etcd.
    #[arg(long, value_name = "URLS", value_delimiter = ',', help_heading = "Storage")]
    pub etcd_servers: Vec<String>,
    /// What all keys in etcd begin with.
    #[arg(long, value_name = "PREFIX", help_heading = "Storage")]
    pub etcd_prefix: Option<String>,
    /// Signs the etcd members' certificates.
    #[arg(long, value_name = "FILE", help_heading = "Storage")]
    pub etcd_cafile: Option<PathBuf>,
    /// Our certificate for etcd.
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile", help_heading = "Storage")]
    pub etcd_certfile: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "etcd_certfile", help_heading = "Storage")]
    pub etcd_keyfile: Option<PathBuf>,
    /// How often etcd is told to forget what is older than one interval, 5m unless said otherwise; 0 for never.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Storage")]
    pub etcd_compaction_interval: Option<Duration>,
    /// How long etcd may take to answer a health check, 2s unless said otherwise.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Storage")]
    pub etcd_healthcheck_timeout: Option<Duration>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub encryption: encryption::EncryptionFlags,

    /// The address to listen on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", help_heading = "Serving")]
    pub bind_address: IpAddr,
    /// The port to listen on; 0 takes any free one.
    #[arg(long, value_name = "PORT", default_value_t = 6443, help_heading = "Serving")]
    pub secure_port: u16,
    /// The address that others reach this server at; the bind address unless that is all of them.
    #[arg(long, value_name = "IP", help_heading = "Serving")]
    pub advertise_address: Option<IpAddr>,
    /// Which servers the endpoints of the service kubernetes name: those that renew a lease, or as many as say so.
    #[arg(long, value_enum, value_name = "TYPE", default_value = "lease", help_heading = "Serving")]
    pub endpoint_reconciler_type: EndpointReconciler,
    /// How many servers there are, for --endpoint-reconciler-type=master-count.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Serving")]
    pub apiserver_count: usize,
    /// Where certificates and keys are kept that the server makes itself [default: <data-dir>/pki].
    #[arg(long, value_name = "DIR", help_heading = "Serving")]
    pub cert_dir: Option<PathBuf>,
    /// The serving certificate, with any intermediate ones; made if absent.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file", help_heading = "Serving")]
    pub tls_cert_file: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file", help_heading = "Serving")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Another certificate and key, for some names: `cert,key` or `cert,key:name,*.name`. May be repeated.
    #[arg(long, value_name = "PAIR", value_parser = values::sni, action = ArgAction::Append, help_heading = "Serving")]
    pub tls_sni_cert_key: Vec<values::SniPair>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tls: tls::TlsFlags,
    /// Web pages that may call: regular expressions for their origins. May be repeated.
    #[arg(long, value_name = "REGEX", value_delimiter = ',', help_heading = "Serving")]
    pub cors_allowed_origins: Vec<String>,
    /// Whether the server's seats are shared fairly, by FlowSchemas and PriorityLevelConfigurations.
    #[arg(long, value_name = "BOOL", default_value = "true", help_heading = "Serving", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub enable_priority_and_fairness: bool,
    /// How many reads may be under way at once; 0 for any number. With fairness the sum of this and
    /// the next is the number of seats.
    #[arg(long, value_name = "N", default_value_t = 400, help_heading = "Serving")]
    pub max_requests_inflight: usize,
    /// How many writes may be under way at once; 0 for any number.
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Serving")]
    pub max_mutating_requests_inflight: usize,
    /// How long a request may take that does not say, watches aside.
    #[arg(long, value_name = "DURATION", default_value = "1m0s", value_parser = values::duration, help_heading = "Serving")]
    pub request_timeout: Duration,
    /// How many seconds a watch lasts at least that does not say; at most twice as many.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, help_heading = "Serving")]
    pub min_request_timeout: u64,
    /// How long to go on serving after a signal, not ready any more, before draining.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = values::duration, help_heading = "Serving")]
    pub shutdown_delay_duration: Duration,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub audit: audit::AuditFlags,

    /// Whether requests without credentials are system:anonymous's [default: true].
    #[arg(long, value_name = "BOOL", help_heading = "Authentication", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub anonymous_auth: Option<bool>,
    /// Signs client certificates, besides the authority in the data directory.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub client_ca_file: Option<PathBuf>,
    /// Tokens: lines of `token,user,uid,"group1,group2"`.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub token_auth_file: Option<PathBuf>,
    /// Issuers of other tokens, and who may be anonymous: an `AuthenticationConfiguration`, whose changes are taken.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub authentication_config: Option<PathBuf>,
    /// Whether Secrets of the type bootstrap.kubernetes.io/token in kube-system are tokens.
    #[arg(long, value_name = "BOOL", default_value = "false", help_heading = "Authentication", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub enable_bootstrap_token_auth: bool,
    /// One issuer of other tokens, by flags.
    #[command(flatten)]
    pub oidc: Oidc,
    /// The server that is asked whose other tokens are: a kubeconfig.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub authentication_token_webhook_config_file: Option<PathBuf>,
    /// The version of `TokenReview` that it is sent [default: v1beta1].
    #[arg(long, value_name = "VERSION", help_heading = "Authentication")]
    pub authentication_token_webhook_version: Option<String>,
    /// How long its answers are remembered.
    #[arg(long, value_name = "DURATION", default_value = "2m0s", value_parser = values::duration, help_heading = "Authentication")]
    pub authentication_token_webhook_cache_ttl: Duration,
    /// Who issues service accounts' tokens; the first signs, all are accepted.
    #[arg(long, value_name = "URL", default_value = "https://kubernetes.default.svc.cluster.local", action = ArgAction::Append, help_heading = "Authentication")]
    pub service_account_issuer: Vec<String>,
    /// Public (or private) keys that service accounts' tokens are verified with. May be repeated.
    #[arg(long, value_name = "FILE", action = ArgAction::Append, help_heading = "Authentication")]
    pub service_account_key_file: Vec<PathBuf>,
    /// The private key that signs service accounts' tokens; made if absent.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// The longest that service accounts' tokens may be asked for to live.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Authentication")]
    pub service_account_max_token_expiration: Option<Duration>,
    /// Whether the tokens that pods mount without saying how live for a year, and are warned of after an hour.
    #[arg(long, value_name = "BOOL", default_value = "true", help_heading = "Authentication", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub service_account_extend_token_expiration: bool,
    /// Where others are told to find the keys of service accounts' tokens, an https URL [default: here].
    #[arg(long, value_name = "URL", help_heading = "Authentication")]
    pub service_account_jwks_uri: Option<String>,
    /// Whom tokens are for [default: the issuers].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Authentication")]
    pub api_audiences: Vec<String>,
    /// Signs the certificates of front proxies, whose word for who asks is taken.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// Common names that front proxies may have; any if empty.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Authentication")]
    pub requestheader_allowed_names: Vec<String>,
    /// Headers with the user's name.
    #[arg(
        long,
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-User",
        help_heading = "Authentication"
    )]
    pub requestheader_username_headers: Vec<String>,
    /// Headers with the user's uid.
    #[arg(long, value_name = "HEADERS", value_delimiter = ',', help_heading = "Authentication")]
    pub requestheader_uid_headers: Vec<String>,
    /// Headers with the user's groups.
    #[arg(
        long,
        value_name = "HEADERS",
        value_delimiter = ',',
        default_value = "X-Remote-Group",
        help_heading = "Authentication"
    )]
    pub requestheader_group_headers: Vec<String>,
    /// What headers with the user's other attributes begin with.
    #[arg(
        long,
        value_name = "PREFIXES",
        value_delimiter = ',',
        default_value = "X-Remote-Extra-",
        help_heading = "Authentication"
    )]
    pub requestheader_extra_headers_prefix: Vec<String>,

    /// Who decides, in order: `AlwaysAllow`, `AlwaysDeny`, `Node`, `RBAC`, `Webhook` [default: RBAC].
    #[arg(long, value_name = "MODES", value_delimiter = ',', value_parser = values::mode, help_heading = "Authorization")]
    pub authorization_mode: Vec<values::AuthorizationMode>,
    /// The same as a file, an `AuthorizationConfiguration`, whose changes are taken.
    #[arg(long, value_name = "FILE", help_heading = "Authorization")]
    pub authorization_config: Option<PathBuf>,
    /// The server that `Webhook` asks: a kubeconfig.
    #[arg(long, value_name = "FILE", help_heading = "Authorization")]
    pub authorization_webhook_config_file: Option<PathBuf>,
    /// The version of `SubjectAccessReview` that it is sent [default: v1beta1].
    #[arg(long, value_name = "VERSION", help_heading = "Authorization")]
    pub authorization_webhook_version: Option<String>,
    /// How long its yes is remembered [default: 5m0s].
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Authorization")]
    pub authorization_webhook_cache_authorized_ttl: Option<Duration>,
    /// How long anything else that it says is [default: 30s].
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Authorization")]
    pub authorization_webhook_cache_unauthorized_ttl: Option<Duration>,

    /// Groups, versions and resources to serve or not: `api/beta=true,apps/v1=false`.
    #[arg(long, value_name = "PAIRS", value_delimiter = ',', value_parser = values::switch, help_heading = "API")]
    pub runtime_config: Vec<Switch>,
    /// Features to switch: `Name=true`.
    #[arg(long, value_name = "PAIRS", value_delimiter = ',', value_parser = values::feature_gate, help_heading = "API")]
    pub feature_gates: Vec<Switch>,
    /// Admission plugins to switch on besides those that are.
    #[arg(long, value_name = "PLUGINS", value_delimiter = ',', help_heading = "API")]
    pub enable_admission_plugins: Vec<String>,
    /// Admission plugins to switch off.
    #[arg(long, value_name = "PLUGINS", value_delimiter = ',', help_heading = "API")]
    pub disable_admission_plugins: Vec<String>,
    /// Where services' cluster IPs are from; two ranges for both families.
    #[arg(long, value_name = "CIDR", value_delimiter = ',', default_value = "10.0.0.0/24", value_parser = Cidr::parse, help_heading = "API")]
    pub service_cluster_ip_range: Vec<Cidr>,
    /// Where services' node ports are from.
    #[arg(long, value_name = "PORTS", default_value = "30000-32767", value_parser = PortRange::parse, help_heading = "API")]
    pub service_node_port_range: PortRange,
    /// Seconds that pods without a toleration of their own stay on a node that is not ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, help_heading = "API")]
    pub default_not_ready_toleration_seconds: i64,
    /// Seconds that pods without a toleration of their own stay on a node that cannot be reached.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, help_heading = "API")]
    pub default_unreachable_toleration_seconds: i64,
    /// Our certificate for aggregated API servers; made if absent.
    #[arg(long, value_name = "FILE", requires = "proxy_client_key_file", help_heading = "API")]
    pub proxy_client_cert_file: Option<PathBuf>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "proxy_client_cert_file", help_heading = "API")]
    pub proxy_client_key_file: Option<PathBuf>,
    /// Whether aggregated API servers and webhooks are called at a ready endpoint instead of their Service's address.
    #[arg(long, value_name = "BOOL", default_value = "false", help_heading = "API", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub enable_aggregator_routing: bool,
    /// Controllers to run: `*` for those that run by default, `name` for one more, `-name` for one less.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "*",
        allow_hyphen_values = true,
        help_heading = "API"
    )]
    pub controllers: Vec<String>,

    /// How much is logged: 0 for what needs attention, 2 for what happens, 4 for debugging, 6 for everything.
    #[arg(short = 'v', long = "v", value_name = "LEVEL", default_value_t = 0, help_heading = "Logging")]
    pub v: u8,
    /// How it is logged.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", help_heading = "Logging")]
    pub logging_format: LoggingFormat,
}

/// `--endpoint-reconciler-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum EndpointReconciler {
    Lease,
    MasterCount,
    None,
}

/// An engine's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StorageEngine {
    /// A file in the data directory.
    Embedded,
    /// Gone at exit.
    Memory,
    /// A cluster.
    Etcd,
}

/// A form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoggingFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What came of reading the command line.
#[derive(Debug)]
pub enum Outcome {
    /// Flags to start with.
    Start(Box<Flags>),
    /// Something else than to serve.
    Snapshot(snapshot::Command),
    /// The same.
    Explain(explain::Command),
    /// A text to print instead: help or version.
    Print(StyledStr),
}

impl Flags {
    /// Reads arguments, the program's name aside.
    ///
    /// # Errors
    /// One line about the first that is wrong.
    pub fn read<S: Into<String>>(arguments: impl IntoIterator<Item = S>) -> Result<Outcome, String> {
        let arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
        if arguments.first().is_some_and(|first| first == "snapshot") {
            return outcome(snapshot::Command::try_parse_from(arguments), Outcome::Snapshot);
        }
        if arguments.first().is_some_and(|first| first == "explain") {
            return outcome(explain::Command::try_parse_from(arguments), Outcome::Explain);
        }
        let arguments = refused::without_harmless(arguments)?;
        let program = std::iter::once("apiwright".to_owned());
        outcome(Self::try_parse_from(program.chain(arguments)), |flags| Outcome::Start(Box::new(flags)))
    }
}

fn outcome<T>(parsed: Result<T, clap::Error>, wrap: impl FnOnce(T) -> Outcome) -> Result<Outcome, String> {
    match parsed {
        Ok(parsed) => Ok(wrap(parsed)),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Outcome::Print(error.render()))
        }
        Err(error) => Err(line(&error)),
    }
}

/// One line for clap's several.
fn line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).map(|text| text.split([' ', '=']).next().unwrap_or(text));
    let value = context(ContextKind::InvalidValue);
    match (error.kind(), argument) {
        (ErrorKind::UnknownArgument, Some(argument)) if !argument.starts_with('-') => {
            format!("unexpected argument {argument:?}: everything but snapshot and explain is a flag")
        }
        (ErrorKind::UnknownArgument, Some(argument)) => {
            let known = Flags::names();
            match refused::nearest(argument, known.iter().map(String::as_str)) {
                Some(near) => format!("unknown flag {argument} (did you mean {near}?)"),
                None => format!("unknown flag {argument} (--help lists all)"),
            }
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(argument)) => {
            let why = std::error::Error::source(error).map(ToString::to_string).or_else(|| {
                match error.get(ContextKind::ValidValue) {
                    Some(ContextValue::Strings(valid)) if !valid.is_empty() => {
                        Some(format!("it is one of {}", valid.join(", ")))
                    }
                    _ => None,
                }
            });
            match (value, why) {
                (Some("") | None, None) => format!("{argument} needs a value"),
                (Some(value), Some(why)) => format!("{argument}={value}: {why}"),
                (Some(value), None) => format!("{argument}={value} is not possible"),
                (None, Some(why)) => format!("{argument}: {why}"),
            }
        }
        (ErrorKind::ArgumentConflict, Some(argument)) => format!("{argument} is given more than once"),
        (ErrorKind::NoEquals, Some(argument)) => format!("{argument} takes its value behind an equals sign"),
        // A flag goes with its pair; anything else has a place of its own.
        (ErrorKind::MissingRequiredArgument, Some(argument)) if argument.starts_with("--") => {
            format!("{argument} is missing: it goes with its pair")
        }
        (ErrorKind::MissingRequiredArgument, Some(argument)) => {
            format!("{} is missing (see --help)", argument.trim_matches(['<', '>']))
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            "a command is missing (see --help)".to_owned()
        }
        _ => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    }
}

impl Flags {
    fn names() -> Vec<String> {
        use clap::CommandFactory;
        let command = Self::command();
        command
            .get_arguments()
            .filter_map(|argument| argument.get_long())
            .map(|name| format!("--{name}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Flags, String> {
        match Flags::read(arguments.iter().copied())? {
            Outcome::Start(flags) => Ok(*flags),
            Outcome::Snapshot(command) => Err(format!("{command:?}")),
            Outcome::Explain(command) => Err(format!("{command:?}")),
            Outcome::Print(text) => Err(text.to_string()),
        }
    }

    #[test]
    fn both_syntaxes() {
        for arguments in [
            &[
                "--secure-port=7443",
                "--anonymous-auth=false",
                "--controllers=-*",
                "-v=4",
                "--authorization-mode=AlwaysDeny,RBAC",
            ][..],
            &[
                "--secure-port",
                "7443",
                "--anonymous-auth=false",
                "--controllers",
                "-*",
                "--v",
                "4",
                "--authorization-mode",
                "AlwaysDeny,RBAC",
            ],
        ] {
            let flags = read(arguments).unwrap();
            assert_eq!((flags.secure_port, flags.anonymous_auth, flags.v), (7443, Some(false), 4));
            assert_eq!(flags.controllers, ["-*"]);
            assert_eq!(
                flags.authorization_mode,
                [values::AuthorizationMode::AlwaysDeny, values::AuthorizationMode::Rbac]
            );
        }
        assert_eq!(read(&["--anonymous-auth"]).unwrap().anonymous_auth, Some(true));
        assert_eq!(read(&[]).unwrap().request_timeout, Duration::from_mins(1));
    }

    #[test]
    fn faults_are_one_line() {
        for (arguments, expected) in [
            (&["--bind-adress=::"][..], "unknown flag --bind-adress (did you mean --bind-address?)"),
            (&["explain", "controller"], "NAME is missing (see --help)"),
            (&["explain"], "a command is missing (see --help)"),
            (&["snapshot", "restore"], "FILE is missing (see --help)"),
            (&["--tls-cipher-suites"], "--tls-cipher-suites needs a value"),
            (&["--zzz"], "unknown flag --zzz (--help lists all)"),
            (&["serve"], "unexpected argument \"serve\": everything but snapshot and explain is a flag"),
            (&["--secure-port=x"], "--secure-port=x: invalid digit found in string"),
            (&["--bind-address=here"], "--bind-address=here: invalid IP address syntax"),
            (&["--request-timeout=60"], "--request-timeout=60: time: missing unit in duration \"60\""),
            (&["--storage=tape"], "--storage=tape: it is one of embedded, memory, etcd"),
            (
                &["--authorization-mode=ABAC,RBAC"],
                "--authorization-mode=ABAC: ABAC is not supported yet; AlwaysAllow, AlwaysDeny, Node, RBAC and Webhook are",
            ),
            (
                &["--authorization-mode=Rbac"],
                "--authorization-mode=Rbac: there is no such mode; AlwaysAllow, AlwaysDeny, Node, RBAC and Webhook are supported",
            ),
            (&["--tls-cert-file=x"], "--tls-private-key-file is missing: it goes with its pair"),
            (&["--secure-port"], "--secure-port needs a value"),
            (&["--oidc-required-claim=x"], "--oidc-required-claim=x: it is no pair, like hd=example.com"),
            (&["--audit-log-path", "-"], "--audit-policy-file is missing: it goes with its pair"),
            (&["--audit-webhook-config-file", "x"], "--audit-policy-file is missing: it goes with its pair"),
            (
                &["--service-cluster-ip-range=10.0.0.1"],
                "--service-cluster-ip-range=10.0.0.1: it is no CIDR, like 10.0.0.0/24",
            ),
            (
                &["--service-node-port-range=9-1"],
                "--service-node-port-range=9-1: it is no range of ports, like 30000-32767",
            ),
        ] {
            let error = read(arguments).unwrap_err();
            assert_eq!(error, expected, "{arguments:?}");
        }
    }

    #[test]
    fn flags_that_say_what_is_so_anyway_are_taken() {
        for argument in [
            "--allow-privileged=true",
            "--allow-privileged",
            "--profiling=false",
            "--watch-cache=true",
            "--storage-backend=etcd3",
        ] {
            assert!(read(&[argument]).is_ok(), "{argument}");
        }
        assert!(read(&["--storage-media-type", "application/json", "--secure-port", "1"]).is_ok());
    }

    #[test]
    fn help_has_headings() {
        let help = read(&["--help"]).unwrap_err();
        assert!(!help.contains('\u{1b}'), "colours are for terminals");
        assert!(help.contains("apiwright snapshot") && help.contains("apiwright explain"));
        for heading in ["Storage", "Serving", "Authentication", "Authorization", "API", "Logging"] {
            assert!(help.contains(heading), "{heading}");
        }
    }
}
