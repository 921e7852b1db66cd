//! Compiles api-specs; all that it knows is where they are and where the result goes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api-specs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let output = match apiwright_codegen::compile(&specs) {
        Ok(output) => output,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::FAILURE;
        }
    };
    for source in &output.sources {
        println!("cargo:rerun-if-changed={}", source.display());
    }
    for (name, text) in &output.files {
        if let Err(fault) = write(&out.join(name), text) {
            eprintln!("{}: {fault}", out.join(name).display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Writes a file where its text is new, so that what did not change is not compiled again.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}
