//! The embedded engine keeps the storage contract, in memory and on disk.

use std::time::Duration;

use apiwright_storage_embedded::{Embedded, Options};
use apiwright_storage_testing::contract::Subject;

fn options() -> Options {
    Options {
        progress_interval: Duration::from_millis(200),
        watch_queue_events_max: 64,
        ..Options::default()
    }
}

mod memory {
    use super::*;

    apiwright_storage_testing::storage_contract!(async |_: &str| Some(Subject::new(
        Embedded::memory(options()),
        ()
    )));
}

mod on_disk {
    use super::*;

    apiwright_storage_testing::storage_contract!(async |_: &str| {
        let dir = tempfile::tempdir().expect("a directory for the test");
        let engine = Embedded::open(dir.path(), options()).expect("a new store opens");
        Some(Subject::new(engine, dir))
    });
}
