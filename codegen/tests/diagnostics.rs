//! Every kind of fault in a spec, and what the compiler says of it.
//!
//! `small-spec` is sound; each folder of `bad-specs` replaces some of its files.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_fault_is_reported_at_its_place() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut bad: Vec<PathBuf> =
        fs::read_dir(tests.join("bad-specs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    bad.sort();
    for folder in bad {
        let scratch = tempfile::tempdir().unwrap();
        let specs = scratch.path().join("api-specs");
        copy(&tests.join("small-spec"), &specs);
        copy(&folder, &specs);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let said = match apiwright_codegen::compile(&specs) {
            Ok(_) => panic!("{name} has no fault"),
            Err(problems) => problems.to_string(),
        };
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, said);
        });
    }
}

#[test]
fn the_same_specs_give_the_same_files() {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small-spec");
    let files = || apiwright_codegen::compile(&specs).unwrap_or_else(|problems| panic!("{problems}")).files;
    assert_eq!(files(), files());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(|_| ()).unwrap() }
    }
}
