//! The contract suite that every engine runs, and a seeded fault simulator.
//!
//! An engine's tests call [`storage_contract!`] with a factory; each property becomes a test.
//! Nothing here knows an engine.

pub mod contract;
pub mod disk;
pub mod etcd;
pub mod history;
pub mod random;
