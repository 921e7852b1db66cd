//! `apiwright snapshot`: saves everything that is stored to one file, looks at such a file, makes a
//! store of it.
//!
//! Saving asks the running server, over its API and by its administrator's kubeconfig, so that
//! authorization is the server's; where none runs, the data directory is read. The engine makes and
//! reads the files: see `apiwright_storage_embedded::backup`.

mod page;

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use apiwright_storage::Revision;
use apiwright_storage_embedded::backup::{self, Summary};
use apiwright_storage_embedded::{Embedded, Lock, OpenError};
use apiwright_webhook::Access;
use bytes::Bytes;
use clap::{Parser, Subcommand, ValueEnum};

use crate::{client, pki, storage};

pub use page::SnapshotPage;

/// Further than any cluster gets in the time between two snapshots, and what etcd's manual says.
const BUMP_REVISION: Revision = 1_000_000_000;

/// What is to be done, as the command line has it.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "apiwright snapshot",
    about = "Saves and restores everything that is stored.",
    disable_help_subcommand = true
)]
pub struct Command {
    #[command(subcommand)]
    act: Act,
}

#[derive(Clone, Debug, Subcommand)]
enum Act {
    /// Saves a snapshot of a running server, or of a data directory that no server uses.
    ///
    /// A running server is found by its data directory, or by a kubeconfig. Whoever the kubeconfig is for needs to
    /// `get` the non-resource URL /apiwright/snapshot. The file holds all secrets.
    Save {
        /// Where to.
        file: PathBuf,
        /// The server's data directory.
        #[arg(long, value_name = "DIR", default_value = ".apiwright")]
        data_dir: PathBuf,
        /// Asks the server that this file names.
        #[arg(long, value_name = "FILE", conflicts_with = "data_dir")]
        kubeconfig: Option<PathBuf>,
    },
    /// Checks a snapshot and tells what it holds.
    Status {
        /// The snapshot.
        file: PathBuf,
        /// In which form.
        #[arg(long, short, value_enum, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
    /// Makes the store of a data directory that has none; start the server on it afterwards.
    ///
    /// Certificates and keys are not part of a snapshot. Keep the data directory's `pki` folder if tokens and
    /// kubeconfigs are to stay valid.
    Restore {
        /// The snapshot.
        file: PathBuf,
        /// The data directory.
        #[arg(long, value_name = "DIR", default_value = ".apiwright")]
        data_dir: PathBuf,
        /// How far the store's revision is moved on, so that none is given out twice that the saved server gave
        /// out after the snapshot: clients would take the new object for one that they have seen.
        #[arg(long, value_name = "N", default_value_t = BUMP_REVISION)]
        bump_revision: Revision,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

impl Command {
    /// Does it; gives what to print.
    ///
    /// # Errors
    /// One line about what is wrong.
    pub async fn run(self) -> Result<String, String> {
        match self.act {
            Act::Save { file, data_dir, kubeconfig } => {
                let summary = save(&file, &data_dir, kubeconfig.as_deref()).await?;
                Ok(format!("saved {}\n{}", file.display(), text(&summary)))
            }
            Act::Status { file, output } => {
                let summary = status(&file)?;
                Ok(match output {
                    Output::Text => text(&summary),
                    Output::Json => json(&summary),
                })
            }
            Act::Restore { file, data_dir, bump_revision } => {
                let summary = restore(&file, &data_dir, bump_revision)?;
                let revision = summary.revision + bump_revision;
                let dir = data_dir.display();
                Ok(format!("restored {dir}, which goes on at revision {revision}\n{}", text(&summary)))
            }
        }
    }
}

async fn save(file: &Path, data_dir: &Path, kubeconfig: Option<&Path>) -> Result<Summary, String> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let saved = save_as(&part, data_dir, kubeconfig).await.and_then(|summary| {
        std::fs::rename(&part, file)
            .and_then(|()| sync_parent(file))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(summary)
    });
    if saved.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    saved
}

async fn save_as(part: &Path, data_dir: &Path, kubeconfig: Option<&Path>) -> Result<Summary, String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", part.display());
    let create = || private(part).map_err(fail);
    let running = match kubeconfig {
        Some(kubeconfig) => Some(kubeconfig.to_owned()),
        None => match claim(data_dir)? {
            Some(lock) => {
                let store = storage::directory(data_dir);
                let backup = Embedded::backup_at_rest(store, &lock).map_err(|why| why.to_string())?;
                let mut out = create()?;
                backup.pieces().try_for_each(|piece| out.write_all(&piece)).map_err(fail)?;
                out.sync_all().map_err(fail)?;
                None
            }
            None => Some(data_dir.join("kubeconfig")),
        },
    };
    if let Some(kubeconfig) = running {
        let access = Access::read(&kubeconfig)?;
        let mut pieces = client::get(&access, page::PATH).await?;
        let mut out = create()?;
        while let Some(piece) = pieces.next().await? {
            let piece: Bytes = piece;
            out.write_all(&piece).map_err(fail)?;
        }
        out.sync_all().map_err(fail)?;
    }
    // What was written is read again: a snapshot that cannot be restored is worth nothing.
    status(part)
}

/// The lock of a data directory; `None` where a server runs on it.
fn claim(data_dir: &Path) -> Result<Option<Lock>, String> {
    if !data_dir.is_dir() {
        return Err(format!("there is no data directory {}; name one by --data-dir", data_dir.display()));
    }
    match Lock::take(data_dir) {
        Ok(lock) => Ok(Some(lock)),
        Err(OpenError::InUse { .. }) => Ok(None),
        Err(why) => Err(why.to_string()),
    }
}

fn status(file: &Path) -> Result<Summary, String> {
    backup::verify(open(file)?).map_err(|why| cannot_use(file, &why))
}

fn restore(file: &Path, data_dir: &Path, bump_revision: Revision) -> Result<Summary, String> {
    let source = open(file)?;
    let made = Made::before(data_dir);
    let restored = restore_from(source, file, data_dir, bump_revision);
    if restored.is_err() {
        made.remove();
    }
    restored
}

fn restore_from(
    source: impl std::io::Read,
    file: &Path,
    data_dir: &Path,
    bump_revision: Revision,
) -> Result<Summary, String> {
    pki::create_dir(data_dir)?;
    let lock = Lock::take(data_dir).map_err(|why| why.to_string())?;
    let store = storage::directory(data_dir);
    Embedded::restore(store, &lock, source, bump_revision).map_err(|why| cannot_use(file, &why))
}

/// What a restoration makes: of a data directory that is new, all of it; of another one, what it did not have.
struct Made(Vec<PathBuf>);

impl Made {
    /// What will have been made, told before it is.
    fn before(data_dir: &Path) -> Self {
        let missing = |path: &Path| !path.as_os_str().is_empty() && !path.exists();
        match data_dir.ancestors().filter(|path| missing(path)).last() {
            Some(outermost) => Self(vec![outermost.to_owned()]),
            None => {
                let parts = [storage::directory(data_dir), Lock::path(data_dir)];
                Self(parts.into_iter().filter(|path| missing(path)).collect())
            }
        }
    }

    fn remove(self) {
        for path in self.0 {
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }
}

fn open(file: &Path) -> Result<BufReader<File>, String> {
    let opened = File::open(file).map_err(|error| cannot_use(file, &error))?;
    Ok(BufReader::with_capacity(1 << 20, opened))
}

fn cannot_use(file: &Path, why: &dyn std::fmt::Display) -> String {
    format!("cannot use the snapshot {}: {why}", file.display())
}

/// A new file that only its owner may read.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a file's name durable.
fn sync_parent(file: &Path) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn text(summary: &Summary) -> String {
    let Summary { format, revision, count, bytes, hash } = summary;
    format!("format {format}, revision {revision}, {count} objects, {bytes} bytes, SHA-256 {hash}\n")
}

fn json(summary: &Summary) -> String {
    let Summary { format, revision, count, bytes, hash } = summary;
    format!(
        "{{\"format\":{format},\"revision\":{revision},\"totalKey\":{count},\"totalSize\":{bytes},\"hash\":\"{hash}\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restoration_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let broken = dir.path().join("broken");
        std::fs::write(&broken, "no snapshot").unwrap();
        std::fs::create_dir(dir.path().join("there")).unwrap();
        std::fs::write(dir.path().join("there/pki"), "mine").unwrap();
        for (data_dir, left) in [("new", None), ("new/and/deep", None), ("there", Some(vec!["pki"]))] {
            let why = restore(&broken, &dir.path().join(data_dir), 1).unwrap_err();
            assert!(why.starts_with(&format!("cannot use the snapshot {}", broken.display())), "{why}");
            let top = dir.path().join(data_dir.split('/').next().unwrap_or_default());
            let names = std::fs::read_dir(top).ok().map(|entries| {
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(names, left.map(|names| names.into_iter().map(str::to_owned).collect()), "{data_dir}");
        }
    }
}
