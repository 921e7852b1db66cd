//! The process itself, as Prometheus' client libraries report it. Linux only; elsewhere nothing.

use std::fmt::Write;
use std::fs;

/// Clock ticks a second and bytes a page, on every Linux that this runs on.
const TICKS: f64 = 100.0;
const PAGE_BYTES: u64 = 4096;

pub(super) fn render(out: &mut String) {
    let Some(numbers) = read() else { return };
    for (name, kind, text, value) in numbers {
        super::help(out, name, kind, text);
        let _ = writeln!(out, "{name} {value}");
    }
}

type Number = (&'static str, &'static str, &'static str, f64);

fn read() -> Option<Vec<Number>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may hold anything; the fields behind it are plain, the first is the third.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field =
        |number: usize| fields.get(number - 3).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot = boot
        .lines()
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok())
        .unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files_max = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok())
        .unwrap_or_default();
    let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Some(vec![
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            (field(14) + field(15)) as f64 / TICKS,
        ),
        ("process_max_fds", "gauge", "Maximum number of open file descriptors.", files_max),
        ("process_open_fds", "gauge", "Number of open file descriptors.", files as f64),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            (field(24) * PAGE_BYTES) as f64,
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            boot + field(22) as f64 / TICKS,
        ),
        ("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", field(23) as f64),
    ])
}
