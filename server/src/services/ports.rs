//! The node ports that services have, of the range of `--service-node-port-range`.
//!
//! Invariant: a port that an operation took is its service's or goes back when the operation is
//! dropped; a port that an operation gives up goes back only once the write happened.
//! Absence: storage. What is taken is found in the stored services at the start, or in the [book](super::book)
//! that servers share.

use std::sync::{Arc, Mutex, PoisonError};

use super::random;
use crate::flags::values::PortRange;

/// What a port cannot be taken for.
pub(super) const TAKEN: &str = "provided port is already allocated";
/// No port is left.
pub(super) const FULL: &str = "range is full";

/// The ports of a range and which of them are taken.
#[derive(Debug)]
pub(super) struct Ports {
    range: PortRange,
    taken: Mutex<Vec<bool>>,
}

impl Ports {
    /// A range of which these ports are taken; others outside of it do not count.
    pub(super) fn new(range: PortRange, taken: impl IntoIterator<Item = i64>) -> Self {
        let ports = Self { range, taken: Mutex::new(vec![false; Self::size(range)]) };
        for port in taken {
            if let Some(at) = ports.offset(port) {
                ports.with(|taken| taken[at] = true);
            }
        }
        ports
    }

    fn size(range: PortRange) -> usize {
        usize::from(range.last - range.first) + 1
    }

    fn offset(&self, port: i64) -> Option<usize> {
        let port = u16::try_from(port).ok()?;
        (self.range.first..=self.range.last).contains(&port).then(|| usize::from(port - self.range.first))
    }

    fn take(&self, port: i64) -> Result<(), String> {
        let at = self.offset(port).ok_or_else(|| self.out_of_range())?;
        self.with(|taken| if std::mem::replace(&mut taken[at], true) { Err(TAKEN.into()) } else { Ok(()) })
    }

    fn is_free(&self, port: i64) -> Result<(), String> {
        let at = self.offset(port).ok_or_else(|| self.out_of_range())?;
        self.with(|taken| if taken[at] { Err(TAKEN.into()) } else { Ok(()) })
    }

    /// Any free port. The first of a range are the last to be given away: they are those that
    /// people ask for by number.
    fn take_any(&self) -> Option<i64> {
        let size = Self::size(self.range);
        let wished = static_band(size);
        self.with(|taken| {
            let at = free(taken, wished, size).or_else(|| free(taken, 0, wished))?;
            taken[at] = true;
            Some(i64::from(self.range.first) + at as i64)
        })
    }

    /// Gives a port back.
    pub(super) fn release(&self, port: i64) {
        if let Some(at) = self.offset(port) {
            self.with(|taken| taken[at] = false);
        }
    }

    fn out_of_range(&self) -> String {
        let PortRange { first, last } = self.range;
        format!("provided port is not in the valid range. The range of valid ports is {first}-{last}")
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<bool>) -> T) -> T {
        work(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How many ports at a range's start are left to those who name them.
fn static_band(size: usize) -> usize {
    if size < 16 { 0 } else { (size / 32).clamp(16, 128).min(size) }
}

/// A free place of a part, looked for from a random one.
fn free(taken: &[bool], from: usize, to: usize) -> Option<usize> {
    let count = to.checked_sub(from).filter(|count| *count > 0)?;
    let start = random::below(count as u64) as usize;
    (0..count).map(|step| from + (start + step) % count).find(|at| !taken[*at])
}

/// The ports that one write takes and gives up.
#[derive(Debug)]
pub(super) struct Operation {
    ports: Arc<Ports>,
    dry_run: bool,
    taken: Vec<i64>,
    given_up: Vec<i64>,
}

impl Operation {
    /// Nothing taken yet. A dry run takes nothing.
    pub(super) fn new(ports: Arc<Ports>, dry_run: bool) -> Self {
        Self { ports, dry_run, taken: Vec::new(), given_up: Vec::new() }
    }

    /// Takes a port that the writer named.
    ///
    /// # Errors
    /// Why it cannot have it.
    pub(super) fn take(&mut self, port: i64) -> Result<(), String> {
        if !self.dry_run {
            self.ports.take(port)?;
        } else if self.taken.contains(&port) {
            return Err(TAKEN.into());
        } else {
            self.ports.is_free(port)?;
        }
        self.taken.push(port);
        Ok(())
    }

    /// Takes any port. A dry run gets a number that is no node port.
    ///
    /// # Errors
    /// Where none is left.
    pub(super) fn take_any(&mut self) -> Result<i64, &'static str> {
        let port = if self.dry_run {
            self.taken.iter().max().map_or(32_768, |last| last + 1)
        } else {
            self.ports.take_any().ok_or(FULL)?
        };
        self.taken.push(port);
        Ok(port)
    }

    /// What it took.
    pub(super) fn taken(&self) -> &[i64] {
        &self.taken
    }

    /// What goes back once the write has happened.
    pub(super) fn given_up(&self) -> &[i64] {
        &self.given_up
    }

    /// Gives a port up, once the write has happened.
    pub(super) fn give_up(&mut self, port: i64) {
        self.given_up.push(port);
    }

    /// The write happened.
    pub(super) fn keep(&mut self) {
        self.taken.clear();
        for port in std::mem::take(&mut self.given_up) {
            if !self.dry_run {
                self.ports.release(port);
            }
        }
    }

    /// Nobody knows whether the write happened: nothing is given back.
    pub(super) fn forget(&mut self) {
        self.taken.clear();
        self.given_up.clear();
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.dry_run {
            self.taken.iter().for_each(|port| self.ports.release(*port));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> Arc<Ports> {
        Arc::new(Ports::new(PortRange { first: 30_000, last: 30_003 }, [30_001, 7, 40_000]))
    }

    #[test]
    fn named_ports() {
        let out = "provided port is not in the valid range. The range of valid ports is 30000-30003";
        let table =
            [(30_000, None), (30_001, Some(TAKEN)), (80, Some(out)), (-1, Some(out)), (70_000, Some(out))];
        for (port, why) in table {
            for dry_run in [false, true] {
                let mut operation = Operation::new(ports(), dry_run);
                assert_eq!(operation.take(port).err().as_deref(), why, "{port}");
                if why.is_none() {
                    assert_eq!(operation.take(port).err().as_deref(), Some(TAKEN), "twice");
                }
            }
        }
    }

    #[test]
    fn any_port_until_none_is_left() {
        let ports = ports();
        let mut operation = Operation::new(Arc::clone(&ports), false);
        let mut got: Vec<i64> = std::iter::from_fn(|| operation.take_any().ok()).collect();
        got.sort_unstable();
        assert_eq!(got, [30_000, 30_002, 30_003]);
        drop(operation);
        let mut dry = Operation::new(Arc::clone(&ports), true);
        assert_eq!((dry.take_any(), dry.take_any()), (Ok(32_768), Ok(32_769)));
        let mut again = Operation::new(ports, false);
        assert!(again.take_any().is_ok(), "what was dropped is free again");
    }

    #[test]
    fn what_is_given_up_goes_back_with_the_write() {
        let ports = ports();
        let mut failed = Operation::new(Arc::clone(&ports), false);
        failed.give_up(30_001);
        drop(failed);
        assert!(Operation::new(Arc::clone(&ports), false).take(30_001).is_err());
        let mut kept = Operation::new(Arc::clone(&ports), false);
        kept.give_up(30_001);
        kept.keep();
        drop(kept);
        assert!(Operation::new(ports, false).take(30_001).is_ok());
    }
}
