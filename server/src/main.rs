//! The apiwright server: flags, configuration, run.

use std::io::IsTerminal;
use std::process::ExitCode;

use apiwright::config::Config;
use apiwright::flags::{Flags, Outcome};
use apiwright::{logging, run};
use clap::builder::StyledStr;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let flags = match Flags::read(std::env::args().skip(1)) {
        Ok(Outcome::Start(flags)) => *flags,
        Ok(Outcome::Snapshot(command)) => return tell(command.run()),
        Ok(Outcome::Explain(command)) => return tell(command.run()),
        Ok(Outcome::Print(text)) => return show(&text),
        Err(why) => return fail(&why, 2),
    };
    logging::start(flags.v, flags.logging_format);
    match start(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why, 1),
    }
}

fn start(flags: Flags) -> Result<(), String> {
    let config = Config::prepare(flags)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Reserved, not used: only the deepest objects need it.
        .thread_stack_size(apiwright_json::STACK_BYTES)
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let ended = runtime.block_on(run::run(config));
    // What still runs then has had its time.
    runtime.shutdown_background();
    ended
}

/// Does something else than to serve, and prints what came of it.
fn tell(command: impl Future<Output = Result<String, String>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => Err(format!("cannot start: {error}")),
    };
    match done {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => fail(&why, 1),
    }
}

/// Help and versions, in colours where they go to a terminal.
fn show(text: &StyledStr) -> ExitCode {
    if std::io::stdout().is_terminal() {
        print!("{}", text.ansi());
    } else {
        print!("{text}");
    }
    ExitCode::SUCCESS
}

fn fail(why: &str, code: u8) -> ExitCode {
    eprintln!("apiwright: {why}");
    ExitCode::from(code)
}
