//! Brings the file of an older version to today's format.
//!
//! Each step does one format, in one transaction, so a crash leaves the file at one format or the
//! next.
//!
//! 1. One table, written by every commit.
//! 2. A log beside it, and the state says where it begins.

use redb::{Database, ReadableTable};

use crate::failure::Failure;
use crate::record::State;
use crate::table::{META, STATE_KEY};

/// Turns a file of one format into the next one, the state record included.
pub(crate) type Step = fn(&Database) -> Result<(), Failure>;

/// The step at index `n` leads from format `n + 1` to format `n + 2`.
pub(crate) const STEPS: &[Step] = &[add_log];

/// The format that this version reads and writes.
pub(crate) const FORMAT: u32 = STEPS.len() as u32 + 1;

/// Takes the steps from `format` on; refuses a format that no step starts from.
pub(crate) fn run(database: &Database, format: u32, steps: &[Step]) -> Result<(), Failure> {
    let first = format.checked_sub(1).map(|index| index as usize);
    match first.and_then(|first| steps.get(first..)) {
        Some(rest) if !rest.is_empty() => rest.iter().try_for_each(|step| step(database)),
        _ => Err(Failure::Format(format)),
    }
}

fn add_log(database: &Database) -> Result<(), Failure> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        let state = meta.get(STATE_KEY)?.and_then(|bytes| State::of_format_1(bytes.value()));
        let state = state.ok_or_else(|| Failure::Damage("the state record is too short".into()))?;
        meta.insert(STATE_KEY, &state.encode()[..])?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;
    use redb::{ReadableDatabase, TableDefinition};

    use super::*;

    const TAKEN: TableDefinition<u32, ()> = TableDefinition::new("taken");

    fn take(database: &Database, step: u32) -> Result<(), Failure> {
        let transaction = database.begin_write()?;
        transaction.open_table(TAKEN)?.insert(step, ())?;
        transaction.commit()?;
        Ok(())
    }

    #[test]
    fn takes_the_steps_that_are_missing() {
        let steps: &[Step] = &[|database| take(database, 1), |database| take(database, 2)];
        for (format, want) in [(0, None), (1, Some(vec![1, 2])), (2, Some(vec![2])), (3, None), (9, None)] {
            let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
            let result = run(&database, format, steps);
            let Some(want) = want else {
                assert!(matches!(result, Err(Failure::Format(found)) if found == format), "{result:?}");
                continue;
            };
            result.unwrap();
            let table = database.begin_read().unwrap().open_table(TAKEN).unwrap();
            let taken: Vec<_> =
                redb::ReadableTable::iter(&table).unwrap().map(|item| item.unwrap().0.value()).collect();
            assert_eq!(taken, want);
        }
    }
}
