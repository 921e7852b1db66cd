//! `--audit-log-path`: a line of JSON for each event, in a file that is rotated by size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use tracing::{error, warn};

use crate::sink::Deliver;

/// What the name of a compressed file ends with.
const COMPRESSED: &str = ".gz";
/// What a rotated file's name has between stem and extension; upstream's.
const STAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]-[minute]-[second].[subsecond digits:3]");

/// When a new file is begun, and how long old ones are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Bytes that a file may have; 0 for any number.
    pub bytes_max: u64,
    /// How many old files are kept; 0 for all.
    pub files_max: usize,
    /// How long old files are kept; zero for ever.
    pub age_max: Duration,
    /// Whether old files are compressed.
    pub compress: bool,
}

/// The log.
pub struct Log(Mutex<Out>);

/// Where lines go.
enum Out {
    Standard,
    File(Rotated),
}

struct Rotated {
    path: PathBuf,
    file: File,
    bytes: u64,
    rotation: Rotation,
}

impl Log {
    /// Opens a file for appending; `-` is the standard output.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let out = if path.as_os_str() == "-" {
            Out::Standard
        } else {
            Out::File(Rotated::open(path.to_owned(), rotation)?)
        };
        Ok(Self(Mutex::new(out)))
    }
}

impl Deliver for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn deliver(&self, events: Vec<Bytes>) -> bool {
        let mut lines = Vec::with_capacity(events.iter().map(|event| event.len() + 1).sum());
        for event in &events {
            lines.extend_from_slice(event);
            lines.push(b'\n');
        }
        match self.0.lock().write(&lines) {
            Ok(()) => true,
            Err(why) => {
                error!(%why, "cannot write the audit log");
                false
            }
        }
    }
}

impl Out {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::Standard => {
                let mut out = io::stdout().lock();
                out.write_all(line).and_then(|()| out.flush())
            }
            Self::File(file) => file.write(line),
        }
    }
}

impl Rotated {
    fn open(path: PathBuf, rotation: Rotation) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes, rotation })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let length = line.len() as u64;
        if self.rotation.bytes_max > 0 && self.bytes > 0 && self.bytes + length > self.rotation.bytes_max {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.bytes += length;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let now = OffsetDateTime::now_utc().format(STAMP).map_err(io::Error::other)?;
        let (stem, extension) = self.name_parts();
        let old = self.path.with_file_name(format!("{stem}-{now}{extension}"));
        fs::rename(&self.path, &old)?;
        self.file = append(&self.path)?;
        self.bytes = 0;
        if self.rotation.compress {
            // Nobody waits for that.
            let compress = move || {
                if let Err(why) = compress(&old) {
                    warn!(%why, file = %old.display(), "cannot compress an old audit log");
                }
            };
            std::thread::Builder::new().name("audit-gzip".into()).spawn(compress)?;
        }
        self.clean()
    }

    /// Removes old files that are too many or too old.
    fn clean(&self) -> io::Result<()> {
        let Some(dir) = self.path.parent() else { return Ok(()) };
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let (stem, extension) = self.name_parts();
        let prefix = format!("{stem}-");
        let mut old = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let plain = name.strip_suffix(COMPRESSED).unwrap_or(&name);
            let stamp = plain.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&extension));
            if stamp.is_some_and(|stamp| stamp.len() == "2006-01-02T15-04-05.000".len()) {
                old.push((name, entry.path(), entry.metadata()?.modified()?));
            }
        }
        old.sort_by(|a, b| b.0.cmp(&a.0));
        let Rotation { files_max, age_max, .. } = self.rotation;
        let now = SystemTime::now();
        for (at, (_, path, modified)) in old.iter().enumerate() {
            let age = now.duration_since(*modified).unwrap_or_default();
            if (files_max > 0 && at >= files_max) || (!age_max.is_zero() && age > age_max) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let extension = text(self.path.extension());
        let dot = if extension.is_empty() { "" } else { "." };
        (text(self.path.file_stem()), format!("{dot}{extension}"))
    }
}

/// Puts a compressed file in the place of one.
fn compress(path: &Path) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(COMPRESSED);
    let compressed = PathBuf::from(name);
    let mut encoder = GzEncoder::new(append(&compressed)?, Compression::default());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    fs::remove_file(path)
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_rotated_and_old_ones_removed() {
        for compress in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("logs/audit.log");
            let rotation = Rotation { bytes_max: 40, files_max: 2, age_max: Duration::ZERO, compress };
            let log = Log::open(&path, rotation).unwrap();
            for number in 0..10 {
                assert!(log.deliver(vec![format!("{{\"number\":\"{number:09}\"}}").into()]));
                std::thread::sleep(Duration::from_millis(if compress { 30 } else { 2 }));
            }
            let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().flatten().collect();
            let compressed = |entry: &&fs::DirEntry| entry.path().extension().is_some_and(|end| end == "gz");
            assert_eq!(
                (names.len(), names.iter().filter(compressed).count()),
                (3, if compress { 2 } else { 0 })
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), "{\"number\":\"000000009\"}\n");
        }
    }

    #[test]
    fn what_is_in_a_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        for _ in 0..2 {
            let log = Log::open(&path, Rotation::default()).unwrap();
            assert!(log.deliver(vec![Bytes::from_static(b"{}")]));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n{}\n");
    }
}
