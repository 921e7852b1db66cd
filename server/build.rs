//! Compiles api-specs; all that it knows is where they are.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    apiwright_codegen::build::build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../api-specs"))
}
