//! What is noted of requests, and where that goes.

use std::path::PathBuf;
use std::time::Duration;

use apiwright_audit::{Batching, Form, Mode, Throttle};
use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};

use super::values;

/// The flags of audits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Audit")]
pub struct AuditFlags {
    /// Which requests are audited, and how deep: a Policy of audit.k8s.io/v1.
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,
    /// Where audit events go, one line of JSON each; `-` is the standard output.
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    pub audit_log_path: Option<PathBuf>,
    /// How many days old audit logs are kept; 0 for ever.
    #[arg(long, value_name = "DAYS", default_value_t = 366)]
    pub audit_log_maxage: u64,
    /// How many old audit logs are kept; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub audit_log_maxbackup: usize,
    /// How many megabytes an audit log has before another is begun; 0 for any number.
    #[arg(long, value_name = "MB", default_value_t = 100)]
    pub audit_log_maxsize: u64,
    /// Whether old audit logs are compressed.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub audit_log_compress: bool,
    /// How lines of the audit log look: JSON, or the most important of it for people.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
    pub audit_log_format: AuditLogFormat,
    /// The version of the audit log's events.
    #[arg(long, value_name = "VERSION", default_value = "audit.k8s.io/v1", value_parser = ["audit.k8s.io/v1"])]
    pub audit_log_version: String,
    /// Who waits until an event is in the audit log: the request, which fails if it cannot be with
    /// `blocking-strict`, or nobody.
    #[arg(long, value_enum, value_name = "MODE", default_value = "blocking")]
    pub audit_log_mode: AuditMode,
    /// How many events may wait for the audit log in batch mode; more are lost.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub audit_log_batch_buffer_size: usize,
    /// How many events are written to the audit log together in batch mode.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub audit_log_batch_max_size: usize,
    /// How long an event for the audit log waits for others in batch mode.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = values::duration)]
    pub audit_log_batch_max_wait: Duration,
    /// Whether batches for the audit log are limited a second.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub audit_log_batch_throttle_enable: bool,
    /// How many batches are written to the audit log a second.
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub audit_log_batch_throttle_qps: f64,
    /// How many batches are written to the audit log at once where none were before.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub audit_log_batch_throttle_burst: u32,
    /// Whether objects are left out of events of the audit log that are too long.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub audit_log_truncate_enabled: bool,
    /// How long events that are written to the audit log together may be; never shorter than one event.
    #[arg(long, value_name = "BYTES", default_value_t = 10 << 20)]
    pub audit_log_truncate_max_batch_size: usize,
    /// How long an event of the audit log may be before its objects are left out.
    #[arg(long, value_name = "BYTES", default_value_t = 100 << 10)]
    pub audit_log_truncate_max_event_size: usize,

    /// Whom audit events are posted to, as EventLists: a kubeconfig.
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    pub audit_webhook_config_file: Option<PathBuf>,
    /// How long after a list could not be posted it is posted again.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::duration)]
    pub audit_webhook_initial_backoff: Duration,
    /// The version of the events that are posted.
    #[arg(long, value_name = "VERSION", default_value = "audit.k8s.io/v1", value_parser = ["audit.k8s.io/v1"])]
    pub audit_webhook_version: String,
    /// Who waits until an event is posted: the request, which fails if it cannot be with `blocking-strict`, or nobody.
    #[arg(long, value_enum, value_name = "MODE", default_value = "batch")]
    pub audit_webhook_mode: AuditMode,
    /// How many events may wait to be posted in batch mode; more are lost.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub audit_webhook_batch_buffer_size: usize,
    /// How many events are posted together in batch mode.
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub audit_webhook_batch_max_size: usize,
    /// How long an event waits for others to be posted with in batch mode.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::duration)]
    pub audit_webhook_batch_max_wait: Duration,
    /// Whether lists are limited a second.
    #[arg(long, value_name = "BOOL", default_value = "true", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub audit_webhook_batch_throttle_enable: bool,
    /// How many lists are posted a second.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    pub audit_webhook_batch_throttle_qps: f64,
    /// How many lists are posted at once where none were before.
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub audit_webhook_batch_throttle_burst: u32,
    /// Whether objects are left out of posted events that are too long.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new(), action = ArgAction::Set)]
    pub audit_webhook_truncate_enabled: bool,
    /// How long events that are posted together may be; never shorter than one event.
    #[arg(long, value_name = "BYTES", default_value_t = 10 << 20)]
    pub audit_webhook_truncate_max_batch_size: usize,
    /// How long a posted event may be before its objects are left out.
    #[arg(long, value_name = "BYTES", default_value_t = 100 << 10)]
    pub audit_webhook_truncate_max_event_size: usize,
}

/// Who waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum AuditMode {
    Batch,
    Blocking,
    BlockingStrict,
}

/// `--audit-log-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum AuditLogFormat {
    Json,
    Legacy,
}

/// What is said of one place where events go.
pub(crate) struct Place {
    /// The name in the flags.
    pub(crate) name: &'static str,
    pub(crate) mode: AuditMode,
    pub(crate) buffer_size: usize,
    pub(crate) batch_max: usize,
    pub(crate) wait_max: Duration,
    /// Batches a second and at once, where they are limited.
    pub(crate) throttle: Option<(f64, u32)>,
    /// How long an event and a batch may be.
    pub(crate) limits: (usize, usize),
    pub(crate) truncates: bool,
}

impl AuditFlags {
    /// What is said of the log.
    pub(crate) fn log(&self) -> Place {
        Place {
            name: "log",
            mode: self.audit_log_mode,
            buffer_size: self.audit_log_batch_buffer_size,
            batch_max: self.audit_log_batch_max_size,
            wait_max: self.audit_log_batch_max_wait,
            throttle: self
                .audit_log_batch_throttle_enable
                .then_some((self.audit_log_batch_throttle_qps, self.audit_log_batch_throttle_burst)),
            limits: (self.audit_log_truncate_max_event_size, self.audit_log_truncate_max_batch_size),
            truncates: self.audit_log_truncate_enabled,
        }
    }

    /// What is said of the webhook.
    pub(crate) fn webhook(&self) -> Place {
        Place {
            name: "webhook",
            mode: self.audit_webhook_mode,
            buffer_size: self.audit_webhook_batch_buffer_size,
            batch_max: self.audit_webhook_batch_max_size,
            wait_max: self.audit_webhook_batch_max_wait,
            throttle: self
                .audit_webhook_batch_throttle_enable
                .then_some((self.audit_webhook_batch_throttle_qps, self.audit_webhook_batch_throttle_burst)),
            limits: (self.audit_webhook_truncate_max_event_size, self.audit_webhook_truncate_max_batch_size),
            truncates: self.audit_webhook_truncate_enabled,
        }
    }

    /// How lines of the log look.
    pub(crate) fn log_form(&self) -> Form {
        match self.audit_log_format {
            AuditLogFormat::Json => Form::Json,
            AuditLogFormat::Legacy => Form::Legacy,
        }
    }
}

impl Place {
    /// Who waits for events.
    ///
    /// # Errors
    /// In upstream's words, where the figures cannot be meant.
    pub(crate) fn mode(&self) -> Result<Mode, String> {
        let name = self.name;
        let (event_max, batch_max) = self.limits;
        let mode = match self.mode {
            AuditMode::Blocking => Mode::Blocking,
            AuditMode::BlockingStrict => Mode::BlockingStrict,
            AuditMode::Batch => Mode::Batch(self.batching()?),
        };
        if event_max == 0 {
            return Err(format!("invalid audit truncate {name} max event size 0, must be a positive number"));
        }
        if batch_max < event_max {
            return Err(format!(
                "invalid audit truncate {name} max batch size {batch_max}, must be greater than max event size ({event_max})"
            ));
        }
        Ok(mode)
    }

    fn batching(&self) -> Result<Batching, String> {
        let name = self.name;
        let positive = |what: &str, is_positive: bool, value: &dyn std::fmt::Display| {
            let why = format!("invalid audit batch {name} {what} {value}, must be a positive number");
            if is_positive { Ok(()) } else { Err(why) }
        };
        positive("buffer size", self.buffer_size > 0, &self.buffer_size)?;
        positive("max batch size", self.batch_max > 0, &self.batch_max)?;
        if let Some((rate, burst)) = self.throttle {
            positive("throttle QPS", rate > 0.0, &rate)?;
            positive("throttle burst", burst > 0, &burst)?;
        }
        Ok(Batching {
            buffer_size: self.buffer_size,
            batch_max: self.batch_max,
            wait_max: self.wait_max,
            throttle: self.throttle.map(|(rate, burst)| Throttle { rate, burst }),
        })
    }
}
