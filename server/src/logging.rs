//! Log lines to standard error: quiet unless asked.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::flags::LoggingFormat;

/// Starts logging. Libraries have their say from level 6 on.
pub fn start(verbosity: u8, format: LoggingFormat) {
    let others = if verbosity >= 6 { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let targets = Targets::new().with_default(others).with_target("apiwright", level(verbosity));
    let registry = tracing_subscriber::registry().with(targets);
    // Somebody may have started it before, in tests.
    let _ = match format {
        LoggingFormat::Text => registry
            .with(fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr))
            .try_init(),
        LoggingFormat::Json => registry.with(fmt::layer().json().with_writer(std::io::stderr)).try_init(),
    };
}

/// klog's numbers: 0 for what needs attention, 2 for what happens, 4 for debugging, 6 for everything.
fn level(verbosity: u8) -> LevelFilter {
    match verbosity {
        0 => LevelFilter::WARN,
        1..=3 => LevelFilter::INFO,
        4 | 5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}
