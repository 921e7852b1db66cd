//! What a build script does with specs: compiles them and writes what they become.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compiles the specs of a folder into `OUT_DIR`, and has cargo watch them. All that a build script
/// of a server needs; every fault of the specs is told at once and fails the build.
pub fn build(api_specs: &Path) -> ExitCode {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let output = match crate::compile(api_specs) {
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
