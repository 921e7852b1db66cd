//! How often, and how long, it was asked who asks and whether they may.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apiwright_chain::User;

use super::help;

/// Upper bounds of durations' buckets, in milliseconds: each twice the one before.
const BUCKETS: usize = 15;
/// Names that are counted by themselves.
const NAMES: [&str; 5] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"];

/// What came of asking who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authentication {
    Success,
    /// There was nothing that would tell.
    Failure,
    /// What was there was wrong.
    Error,
}

/// What came of asking whether they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authorization {
    Allowed,
    Denied,
    NoOpinion,
    Error,
}

/// The figures.
#[derive(Default)]
pub(super) struct Access {
    authentication: [Durations; 3],
    authorization: [Durations; 4],
    /// By [`NAMES`], then those that look like an address, then the rest.
    users: [AtomicU64; NAMES.len() + 2],
}

#[derive(Default)]
struct Durations {
    buckets: [AtomicU64; BUCKETS + 1],
    nanoseconds: AtomicU64,
}

impl Access {
    pub(super) fn authenticated(&self, result: Authentication, user: Option<&User>, took: Duration) {
        self.authentication[result as usize].count(took);
        let Some(user) = user else { return };
        let name = user.name.as_str();
        let at = match NAMES.iter().position(|known| *known == name) {
            Some(at) => at,
            None if name.contains('@') => NAMES.len(),
            None => NAMES.len() + 1,
        };
        self.users[at].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn authorized(&self, result: Authorization, took: Duration) {
        self.authorization[result as usize].count(took);
    }

    pub(super) fn render(&self, out: &mut String) {
        help(out, "authenticated_user_requests", "counter", "Requests of users, by well-known names.");
        let names = NAMES.into_iter().chain(["email_id", "other"]);
        for (name, count) in names.zip(&self.users) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                let _ = writeln!(out, "authenticated_user_requests{{username=\"{name}\"}} {count}");
            }
        }
        let results = ["success", "failure", "error"];
        render(
            out,
            "authentication_attempts",
            "authentication_duration_seconds",
            &results,
            &self.authentication,
        );
        let results = ["allowed", "denied", "no-opinion", "error"];
        render(
            out,
            "authorization_attempts_total",
            "authorization_duration_seconds",
            &results,
            &self.authorization,
        );
    }
}

impl Durations {
    fn count(&self, took: Duration) {
        let bucket = (0..BUCKETS).find(|at| took <= Duration::from_millis(1 << at)).unwrap_or(BUCKETS);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    fn total(&self) -> u64 {
        self.buckets.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

fn render(out: &mut String, counter: &str, histogram: &str, results: &[&str], figures: &[Durations]) {
    let all = || results.iter().zip(figures).filter(|(_, one)| one.total() > 0);
    help(out, counter, "counter", "How often it was asked, by what came of it.");
    for (result, one) in all() {
        let _ = writeln!(out, "{counter}{{result=\"{result}\"}} {}", one.total());
    }
    help(out, histogram, "histogram", "How long the answer took, by what came of it.");
    for (result, one) in all() {
        let mut below = 0;
        for (at, count) in one.buckets[..BUCKETS].iter().enumerate() {
            below += count.load(Ordering::Relaxed);
            let bound = (1_u64 << at) as f64 / 1000.0;
            let _ = writeln!(out, "{histogram}_bucket{{result=\"{result}\",le=\"{bound}\"}} {below}");
        }
        let total = one.total();
        let seconds = one.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        let _ = writeln!(out, "{histogram}_bucket{{result=\"{result}\",le=\"+Inf\"}} {total}");
        let _ = writeln!(out, "{histogram}_sum{{result=\"{result}\"}} {seconds}");
        let _ = writeln!(out, "{histogram}_count{{result=\"{result}\"}} {total}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_apart() {
        let access = Access::default();
        for name in ["admin", "jane@example.com", "jane"] {
            let user = User { name: name.into(), ..User::default() };
            access.authenticated(Authentication::Success, Some(&user), Duration::from_micros(1500));
        }
        access.authenticated(Authentication::Error, None, Duration::from_mins(1));
        access.authorized(Authorization::NoOpinion, Duration::ZERO);
        let mut out = String::new();
        access.render(&mut out);
        for line in [
            "authenticated_user_requests{username=\"admin\"} 1",
            "authenticated_user_requests{username=\"email_id\"} 1",
            "authenticated_user_requests{username=\"other\"} 1",
            "authentication_attempts{result=\"success\"} 3",
            "authentication_attempts{result=\"error\"} 1",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"0.001\"} 0",
            "authentication_duration_seconds_bucket{result=\"success\",le=\"0.002\"} 3",
            "authentication_duration_seconds_bucket{result=\"error\",le=\"16.384\"} 0",
            "authentication_duration_seconds_bucket{result=\"error\",le=\"+Inf\"} 1",
            "authorization_attempts_total{result=\"no-opinion\"} 1",
        ] {
            assert!(out.lines().any(|one| one == line), "{line}\n{out}");
        }
        assert!(!out.contains("result=\"failure\""));
    }
}
