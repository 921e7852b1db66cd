//! What a small spec becomes.

use std::path::Path;

#[test]
fn a_small_spec_becomes_these_files() {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small-spec");
    let output = apiwright_codegen::compile(&specs).unwrap_or_else(|problems| panic!("{problems}"));
    for (name, text) in output.files {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name.replace('/', "-"), text);
        });
    }
}
