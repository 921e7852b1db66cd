//! The audit that the flags ask for.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apiwright_audit::{Audit, Deliver, Log, Policy, Post, Rotation, Sink, Webhook};
use apiwright_webhook::{Caller, caller};

use crate::flags::Flags;
use crate::flags::audit::{AuditFlags, Place};

/// Reads the policy and opens the places where events go; `None` where no audit is asked for.
///
/// # Errors
/// One line about what is wrong.
pub fn open(flags: &Flags) -> Result<Option<Arc<Audit>>, String> {
    let flags = &flags.audit;
    let mut sinks = Vec::new();
    if let Some(path) = &flags.audit_log_path {
        let log = log(flags, path).map_err(|why| format!("--audit-log-path={}: {why}", path.display()))?;
        sinks.push(log.with_form(flags.log_form()));
    }
    if let Some(path) = &flags.audit_webhook_config_file {
        let webhook = webhook(flags, path);
        sinks.push(webhook.map_err(|why| format!("--audit-webhook-config-file={}: {why}", path.display()))?);
    }
    let Some(policy) = &flags.audit_policy_file else { return Ok(None) };
    if sinks.is_empty() {
        return Err(
            "--audit-policy-file goes with --audit-log-path or --audit-webhook-config-file: where events go"
                .into(),
        );
    }
    let name = policy.display();
    let text = fs::read(policy).map_err(|why| format!("--audit-policy-file={name}: {why}"))?;
    let policy = Policy::read(&text)
        .map_err(|why| format!("--audit-policy-file={name}: {}", why.replace('\n', "; ")))?;
    Ok(Some(Arc::new(Audit::new(policy, sinks))))
}

fn log(flags: &AuditFlags, path: &Path) -> Result<Sink, String> {
    let rotation = Rotation {
        bytes_max: flags.audit_log_maxsize.saturating_mul(1 << 20),
        files_max: flags.audit_log_maxbackup,
        age_max: Duration::from_secs(flags.audit_log_maxage.saturating_mul(24 * 60 * 60)),
        compress: flags.audit_log_compress,
    };
    sink(&flags.log(), |_| {
        Log::open(path, rotation).map(|log| Arc::new(log) as _).map_err(|why| why.to_string())
    })
}

fn webhook(flags: &AuditFlags, path: &Path) -> Result<Sink, String> {
    let caller = Arc::new(Caller::load(path, caller::TIMEOUT)?);
    let post: Post = Arc::new(move |events| {
        let caller = Arc::clone(&caller);
        Box::pin(async move { caller.tell(events).await })
    });
    let backoff = flags.audit_webhook_initial_backoff;
    sink(&flags.webhook(), |_| Ok(Arc::new(Webhook::new(post, backoff)) as _))
}

/// A place where events go, as its flags have it.
fn sink(
    place: &Place,
    open: impl FnOnce(&Place) -> Result<Arc<dyn Deliver>, String>,
) -> Result<Sink, String> {
    let mode = place.mode()?;
    let sink = Sink::new(open(place)?, mode).map_err(|why| why.to_string())?;
    Ok(if place.truncates { sink.with_limit(place.limits.0) } else { sink })
}
