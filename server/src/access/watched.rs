//! A file that is read again when it changes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use apiwright_chain::Drain;
use tracing::warn;

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Calls `changed` with the text of a file whenever that is another than before, until the drain begins.
pub(super) async fn watch(path: PathBuf, mut drain: Drain, mut changed: impl FnMut(&[u8])) {
    let (mut seen, mut text) = (stamp(&path), std::fs::read(&path).unwrap_or_default());
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = drain.begun() => return,
        }
        let now = stamp(&path);
        if now == seen {
            continue;
        }
        seen = now;
        match std::fs::read(&path) {
            Ok(new) if new == text => {}
            Ok(new) => {
                changed(&new);
                text = new;
            }
            Err(error) => warn!(file = %path.display(), %error, "cannot read a changed file"),
        }
    }
}

/// What is another when a file is.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
