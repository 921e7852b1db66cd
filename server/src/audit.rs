//! The audit that the flags ask for.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use apiwright_audit::{Audit, Backend, Log, Mode, Policy, Rotation};

use crate::flags::{AuditLogMode, Flags};

/// What `--audit-log-maxsize=0` means.
const MEGABYTES_DEFAULT: u64 = 100;

/// Reads the policy and opens the log; `None` where no audit is asked for.
///
/// # Errors
/// One line about what is wrong.
pub fn open(flags: &Flags) -> Result<Option<Arc<Audit>>, String> {
    let (Some(policy), Some(path)) = (&flags.audit_policy_file, &flags.audit_log_path) else {
        return Ok(None);
    };
    let name = policy.display();
    let text = fs::read(policy).map_err(|why| format!("--audit-policy-file={name}: {why}"))?;
    let policy = Policy::read(&text)
        .map_err(|why| format!("--audit-policy-file={name}: {}", why.replace('\n', "; ")))?;
    let mode = match flags.audit_log_mode {
        AuditLogMode::Batch => Mode::Batch,
        AuditLogMode::Blocking => Mode::Blocking,
        AuditLogMode::BlockingStrict => Mode::BlockingStrict,
    };
    let megabytes = if flags.audit_log_maxsize == 0 { MEGABYTES_DEFAULT } else { flags.audit_log_maxsize };
    let rotation = Rotation {
        bytes_max: megabytes.saturating_mul(1 << 20),
        files_max: flags.audit_log_maxbackup,
        age_max: Duration::from_secs(flags.audit_log_maxage.saturating_mul(24 * 60 * 60)),
    };
    let log = Log::open(path, mode, rotation)
        .map_err(|why| format!("--audit-log-path={}: {why}", path.display()))?;
    let backends: Vec<Arc<dyn Backend>> = vec![Arc::new(log)];
    Ok(Some(Arc::new(Audit::new(policy, backends))))
}
