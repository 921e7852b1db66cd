//! Compiles the specs of a folder and says what came of it: `cargo run -p apiwright-codegen --example compile -- api-specs`.

fn main() -> std::process::ExitCode {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "api-specs".into());
    match apiwright_codegen::compile(std::path::Path::new(&folder)) {
        Ok(output) => {
            println!(
                "{} files, {} bytes",
                output.files.len(),
                output.files.iter().map(|(_, text)| text.len()).sum::<usize>()
            );
            std::process::ExitCode::SUCCESS
        }
        Err(problems) => {
            println!("{problems}");
            std::process::ExitCode::FAILURE
        }
    }
}
