//! The controllers' decision tables, locked: what `apiwright explain controller` shows.

#![allow(missing_docs)]

use apiwright::generated::CONTROLLERS;
use apiwright_controllers::explain;

#[test]
fn decision_tables() {
    for spec in CONTROLLERS {
        insta::assert_snapshot!(format!("table-{}", spec.name), explain::table(spec));
    }
}
