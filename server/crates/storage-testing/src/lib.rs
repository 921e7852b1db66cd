//! The contract suite that every engine runs, and a seeded fault simulator.
