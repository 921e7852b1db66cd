//! A simulated disk that forgets, tears and fails.
//!
//! What was written but not synced is only pending. A crash applies any part of it: each pending
//! write wholly, not at all, or only some of its sectors, whatever was written after it. What was
//! synced stays. Until [`SimDisk::reboot`], a crashed disk refuses everything.
//!
//! An engine writes from threads of its own. [`SimDisk::hold`] stops it at its next operation, so
//! that a test can queue the writes of its next batch, and a seed gives the same batches again.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::random::Random;

/// The unit that a disk writes wholly or not at all.
const SECTOR: usize = 512;

/// A disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Shared>);

/// An open file of it.
#[derive(Debug)]
pub struct SimFile {
    disk: Arc<Shared>,
    id: usize,
    /// Which life of the disk it was opened in: a crash ends all files.
    boot: u64,
}

/// What is to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes.
    Crash,
    /// So many operations in a row that need space fail for want of it.
    Full(u64),
    /// One write fails.
    Write,
    /// One sync fails, and what was to be synced may be lost, though reading shows it.
    Sync,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    changed: Condvar,
}

#[derive(Debug)]
struct World {
    random: Random,
    names: HashMap<String, usize>,
    files: Vec<Image>,
    boot: u64,
    crashed: bool,
    /// The fault, and after how many more operations.
    plan: Option<(u64, Fault)>,
    operations: u64,
    digest: u64,
    hold: Hold,
}

#[derive(Debug, PartialEq, Eq)]
enum Hold {
    Free,
    Wanted,
    Reached,
}

#[derive(Debug, Default)]
struct Image {
    /// What survives a crash for sure.
    durable: Vec<u8>,
    /// What reading shows.
    visible: Vec<u8>,
    pending: Vec<Pending>,
}

#[derive(Debug)]
enum Pending {
    Write(usize, Vec<u8>),
    Resize(usize),
}

/// What an operation does, as far as faults tell them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Write,
    Resize,
    Sync,
    Name,
}

impl SimDisk {
    /// An empty disk.
    pub fn new(seed: u64) -> Self {
        let world = World {
            random: Random::new(seed),
            names: HashMap::new(),
            files: Vec::new(),
            boot: 0,
            crashed: false,
            plan: None,
            operations: 0,
            digest: 0,
            hold: Hold::Free,
        };
        Self(Arc::new(Shared { world: Mutex::new(world), changed: Condvar::new() }))
    }

    /// Opens a file, creating it where it is missing.
    pub fn open(&self, name: &str) -> io::Result<SimFile> {
        let mut world = self.0.world.lock();
        world.check()?;
        let id = if let Some(id) = world.names.get(name) {
            *id
        } else {
            world.files.push(Image::default());
            let id = world.files.len() - 1;
            world.names.insert(name.into(), id);
            id
        };
        Ok(SimFile { disk: self.0.clone(), id, boot: world.boot })
    }

    /// The names of all files.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let world = self.0.world.lock();
        world.check()?;
        Ok(world.names.keys().cloned().collect())
    }

    /// Whether there is such a file.
    pub fn exists(&self, name: &str) -> io::Result<bool> {
        let world = self.0.world.lock();
        world.check()?;
        Ok(world.names.contains_key(name))
    }

    /// Renames a file in place of another, durably.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.0.world.lock();
        let result = world.begin(Kind::Name, 0);
        // A crash may come just before or just after.
        if result.is_ok() || (world.crashed && world.random.one_in(2)) {
            let id = world.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
            world.names.insert(to.into(), id);
        }
        result
    }

    /// Removes a file, where there is one.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let mut world = self.0.world.lock();
        world.begin(Kind::Name, 1)?;
        world.names.remove(name);
        Ok(())
    }

    /// Plans a fault after some operations that work.
    pub fn plan(&self, operations: u64, fault: Fault) {
        self.0.world.lock().plan = Some((operations, fault));
    }

    /// The power goes now.
    pub fn crash(&self) {
        self.0.world.lock().crash();
        self.0.changed.notify_all();
    }

    /// Whether the power is gone.
    pub fn has_crashed(&self) -> bool {
        self.0.world.lock().crashed
    }

    /// The power comes back, and nothing is planned.
    pub fn reboot(&self) {
        let mut world = self.0.world.lock();
        if !world.crashed {
            world.crash();
        }
        world.crashed = false;
        world.plan = None;
    }

    /// How many operations there were, and a digest of them: the same for the same seed.
    pub fn trace(&self) -> (u64, u64) {
        let world = self.0.world.lock();
        (world.operations, world.digest)
    }

    /// Stops whoever uses the disk at their next operation.
    pub fn hold(&self) {
        self.0.world.lock().hold = Hold::Wanted;
    }

    /// Whether somebody was stopped, or never will be.
    pub fn is_held(&self) -> bool {
        let world = self.0.world.lock();
        world.hold != Hold::Wanted || world.crashed
    }

    /// Lets them go on.
    pub fn release(&self) {
        self.0.world.lock().hold = Hold::Free;
        self.0.changed.notify_all();
    }

    /// Flips one bit of a file, as if the medium had.
    pub fn flip(&self, name: &str, bit: u64) {
        let mut world = self.0.world.lock();
        let Some(id) = world.names.get(name).copied() else { return };
        let image = &mut world.files[id];
        for bytes in [&mut image.durable, &mut image.visible] {
            let index = (bit / 8) as usize;
            if let Some(byte) = bytes.get_mut(index) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    /// How long a file is.
    pub fn size(&self, name: &str) -> u64 {
        let world = self.0.world.lock();
        world.names.get(name).map_or(0, |id| world.files[*id].visible.len() as u64)
    }

    /// A disk with the same durable contents.
    #[must_use]
    pub fn copy(&self, seed: u64) -> Self {
        let copy = Self::new(seed);
        {
            let world = self.0.world.lock();
            let mut new = copy.0.world.lock();
            new.names.clone_from(&world.names);
            let image = |file: &Image| Image {
                durable: file.durable.clone(),
                visible: file.durable.clone(),
                pending: Vec::new(),
            };
            new.files = world.files.iter().map(image).collect();
        }
        copy
    }
}

impl SimFile {
    /// How long it is.
    pub fn size(&self) -> io::Result<u64> {
        self.with(|image| Ok(image.visible.len() as u64))
    }

    /// Reads.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|image| {
            let start = offset as usize;
            let part = start.checked_add(out.len()).and_then(|end| image.visible.get(start..end));
            out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    /// Writes, without making it durable.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let sum = data.iter().fold(offset, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        self.operate(Kind::Write, sum, Some(Pending::Write(offset as usize, data.to_vec())))
    }

    /// Cuts or extends with zeros, without making it durable.
    pub fn resize(&self, size: u64) -> io::Result<()> {
        self.operate(Kind::Resize, size, Some(Pending::Resize(size as usize)))
    }

    /// Makes durable what was written.
    pub fn sync(&self) -> io::Result<()> {
        self.operate(Kind::Sync, 0, None)
    }

    fn with<T>(&self, read: impl FnOnce(&mut Image) -> io::Result<T>) -> io::Result<T> {
        let mut world = self.disk.world.lock();
        world.check()?;
        if world.boot != self.boot {
            return Err(io::Error::other("the file was opened before the crash"));
        }
        read(&mut world.files[self.id])
    }

    fn operate(&self, kind: Kind, sum: u64, pending: Option<Pending>) -> io::Result<()> {
        let mut world = self.disk.world.lock();
        if world.hold == Hold::Wanted {
            world.hold = Hold::Reached;
            self.disk.changed.notify_all();
        }
        while world.hold == Hold::Reached && !world.crashed {
            self.disk.changed.wait(&mut world);
        }
        if world.boot != self.boot {
            return Err(io::Error::other("the file was opened before the crash"));
        }
        let result = world.begin(kind, sum);
        if world.crashed {
            // What was under way when the power went may have got there too.
            if let Some(pending) = pending {
                let mut random = world.random.clone();
                let image = &mut world.files[self.id];
                image.settle(pending, &mut random);
                image.visible.clone_from(&image.durable);
                world.random = random;
            }
            self.disk.changed.notify_all();
            return result;
        }
        let mut random = world.random.clone();
        let image = &mut world.files[self.id];
        match (result, pending) {
            (Ok(()), Some(pending)) => {
                pending.apply(&mut image.visible);
                image.pending.push(pending);
                Ok(())
            }
            (Ok(()), None) => {
                image.pending.clear();
                image.durable.clone_from(&image.visible);
                Ok(())
            }
            (Err(error), None) => {
                // The system drops what it could not write and still shows it: nothing that was
                // pending will get to the disk by a later sync.
                for pending in std::mem::take(&mut image.pending) {
                    image.settle(pending, &mut random);
                }
                world.random = random;
                Err(error)
            }
            (Err(error), Some(_)) => Err(error),
        }
    }
}

impl World {
    fn check(&self) -> io::Result<()> {
        if self.crashed { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    /// Counts an operation, and fails it where that is planned.
    fn begin(&mut self, kind: Kind, sum: u64) -> io::Result<()> {
        self.check()?;
        self.operations += 1;
        self.digest = self.digest.rotate_left(5).wrapping_add(sum).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let Some((left, fault)) = self.plan else { return Ok(()) };
        if left > 0 {
            self.plan = Some((left - 1, fault));
            return Ok(());
        }
        let strikes = match fault {
            Fault::Crash => true,
            Fault::Full(_) => matches!(kind, Kind::Write | Kind::Resize),
            Fault::Write => kind == Kind::Write,
            Fault::Sync => kind == Kind::Sync,
        };
        if !strikes {
            return Ok(());
        }
        self.plan = None;
        match fault {
            Fault::Crash => {
                self.crash();
                self.check()
            }
            Fault::Full(times) => {
                if times > 1 {
                    self.plan = Some((0, Fault::Full(times - 1)));
                }
                Err(io::ErrorKind::StorageFull.into())
            }
            Fault::Write | Fault::Sync => Err(io::Error::other("the disk has a bad day")),
        }
    }

    fn crash(&mut self) {
        if self.crashed {
            return;
        }
        self.crashed = true;
        self.boot += 1;
        self.hold = Hold::Free;
        for image in &mut self.files {
            for pending in std::mem::take(&mut image.pending) {
                image.settle(pending, &mut self.random);
            }
            image.visible.clone_from(&image.durable);
        }
    }
}

impl Image {
    /// Applies what a crash leaves of a pending operation.
    fn settle(&mut self, pending: Pending, random: &mut Random) {
        match (random.below(3), pending) {
            (0, _) => {}
            (1, Pending::Write(offset, data)) => {
                for (index, sector) in data.chunks(SECTOR).enumerate() {
                    if random.one_in(2) {
                        Pending::Write(offset + index * SECTOR, sector.to_vec()).apply(&mut self.durable);
                    }
                }
            }
            (_, pending) => pending.apply(&mut self.durable),
        }
    }
}

impl Pending {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
            Self::Resize(size) => bytes.resize(*size, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_synced_stays_and_the_rest_may_go() {
        let mut lost = 0;
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            let file = disk.open("a").unwrap();
            file.write(0, &[1; 2048]).unwrap();
            file.sync().unwrap();
            file.write(1024, &[2; 2048]).unwrap();
            disk.crash();
            assert!(file.sync().is_err());
            disk.reboot();
            assert!(file.sync().is_err(), "a file does not outlive a crash");
            let file = disk.open("a").unwrap();
            let mut bytes = vec![0; file.size().unwrap() as usize];
            file.read(0, &mut bytes).unwrap();
            assert!(bytes.len() >= 2048 && bytes[..1024].iter().all(|byte| *byte == 1));
            assert!(bytes[1024..].chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            lost += u32::from(bytes[1024] == 1);
        }
        assert!((20..80).contains(&lost), "{lost}");
    }

    #[test]
    fn faults_strike_when_planned() {
        let disk = SimDisk::new(1);
        let file = disk.open("a").unwrap();
        disk.plan(1, Fault::Full(2));
        let kind = |result: io::Result<()>| result.map_err(|error| error.kind());
        assert_eq!(kind(file.write(0, b"x")), Ok(()));
        assert_eq!(kind(file.write(0, b"x")), Err(io::ErrorKind::StorageFull));
        assert_eq!(kind(file.sync()), Ok(()));
        assert_eq!(kind(file.resize(10)), Err(io::ErrorKind::StorageFull));
        assert_eq!(kind(file.resize(10)), Ok(()));
        disk.plan(0, Fault::Crash);
        assert!(file.sync().is_err() && disk.has_crashed());
    }
}
