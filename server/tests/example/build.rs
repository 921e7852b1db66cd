//! Compiles the example's specs.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    apiwright_codegen::build::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("api-specs"))
}
