//! `--audit-log-path`: a line of JSON for each event, in a file that is rotated by size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use tracing::{error, warn};

use crate::{Backend, Lost};

/// How many events may wait to be written in [`Mode::Batch`].
const BUFFERED_MAX: usize = 10_000;
/// How long a server that stops waits for what is on its way.
const FLUSH_MAX: Duration = Duration::from_secs(5);
/// What a rotated file's name has between stem and extension; upstream's.
const STAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]-[minute]-[second].[subsecond digits:3]");

/// Who waits for an event to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The request does.
    Blocking,
    /// The request does, and it fails when the event cannot be written.
    BlockingStrict,
    /// Nobody; what does not fit into the buffer is lost.
    Batch,
}

/// When a new file is begun, and how long old ones are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// Bytes that a file may have; 0 for any number.
    pub bytes_max: u64,
    /// How many old files are kept; 0 for all.
    pub files_max: usize,
    /// How long old files are kept; zero for ever.
    pub age_max: Duration,
}

/// The log.
pub struct Log {
    mode: Mode,
    out: Arc<Mutex<Out>>,
    queue: Option<SyncSender<Message>>,
}

/// What the writing thread is told.
enum Message {
    Event(Vec<u8>),
    /// Say when everything before this has been written.
    Flush(SyncSender<()>),
}

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
    pub fn open(path: &Path, mode: Mode, rotation: Rotation) -> io::Result<Self> {
        let out = if path.as_os_str() == "-" {
            Out::Standard
        } else {
            Out::File(Rotated::open(path.to_owned(), rotation)?)
        };
        let out = Arc::new(Mutex::new(out));
        let queue = match mode {
            Mode::Blocking | Mode::BlockingStrict => None,
            Mode::Batch => {
                let (sender, receiver) = sync_channel(BUFFERED_MAX);
                let out = Arc::clone(&out);
                std::thread::Builder::new().name("audit-log".into()).spawn(move || drain(&receiver, &out))?;
                Some(sender)
            }
        };
        Ok(Self { mode, out, queue })
    }
}

impl Backend for Log {
    fn take(&self, mut event: Vec<u8>) -> Result<(), Lost> {
        event.push(b'\n');
        if let Some(queue) = &self.queue {
            if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
                queue.try_send(Message::Event(event))
            {
                warn!("audit events come faster than they can be written; one is lost");
            }
            return Ok(());
        }
        match self.out.lock().write(&event) {
            Ok(()) => Ok(()),
            Err(why) => {
                error!(%why, "cannot write the audit log");
                if self.mode == Mode::BlockingStrict { Err(Lost) } else { Ok(()) }
            }
        }
    }

    fn flush(&self) {
        if let Some(queue) = &self.queue {
            let (done, is_done) = sync_channel(1);
            if queue.send(Message::Flush(done)).is_ok() {
                let _ = is_done.recv_timeout(FLUSH_MAX);
            }
        }
    }
}

fn drain(receiver: &Receiver<Message>, out: &Mutex<Out>) {
    while let Ok(message) = receiver.recv() {
        match message {
            Message::Event(event) => {
                if let Err(why) = out.lock().write(&event) {
                    error!(%why, "cannot write the audit log");
                }
            }
            Message::Flush(done) => {
                let _ = done.send(());
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
        fs::rename(&self.path, old)?;
        self.file = append(&self.path)?;
        self.bytes = 0;
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
            let stamp = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&extension));
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
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/audit.log");
        let rotation = Rotation { bytes_max: 40, files_max: 2, age_max: Duration::ZERO };
        let log = Log::open(&path, Mode::BlockingStrict, rotation).unwrap();
        for number in 0..10 {
            log.take(format!("{{\"number\":\"{number:09}\"}}").into_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().flatten().collect();
        assert_eq!(names.len(), 3);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"number\":\"000000009\"}\n");
    }

    #[test]
    fn what_is_in_a_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        for mode in [Mode::Blocking, Mode::Batch] {
            let log = Log::open(&path, mode, Rotation::default()).unwrap();
            log.take(b"{}".to_vec()).unwrap();
            log.flush();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n{}\n");
    }
}
