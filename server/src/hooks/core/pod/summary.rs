//! What `kubectl get pods` says of a pod: one word for what its containers are at.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::time::Time;
use apiwright_registry::hooks::Cell;

use crate::hooks::shared::cells;

/// A pod at a glance.
pub(super) struct PodSummary {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<String>,
}

impl PodSummary {
    /// Looks at a pod's status, as upstream's printer does: init containers first, then the others from the last.
    pub(super) fn of(pod: &Value) -> Self {
        let phase = pod.text_at(&["status", "phase"]);
        let reason = match pod.text_at(&["status", "reason"]) {
            "" => phase,
            reason => reason,
        };
        let mut summary = Self {
            ready: 0,
            total: cells::items(pod, &["spec", "containers"]).len(),
            reason: reason.to_owned(),
            restarts: 0,
            last_restart: None,
        };
        if condition(pod, "PodScheduled").is_some_and(|one| one.text_at(&["reason"]) == "SchedulingGated") {
            summary.reason = "SchedulingGated".into();
        }
        let sidecars: Vec<&str> = cells::items(pod, &["spec", "initContainers"])
            .iter()
            .filter(|one| one.text_at(&["restartPolicy"]) == "Always")
            .map(|one| one.text_at(&["name"]))
            .collect();
        summary.total += sidecars.len();
        let initializing = summary.look_at_init_containers(pod, &sidecars);
        if !initializing || condition(pod, "Initialized").is_some_and(is_true) {
            summary.look_at_containers(pod, &sidecars);
        }
        if object::deletion_timestamp(pod).is_some() {
            if pod.text_at(&["status", "reason"]) == "NodeLost" {
                summary.reason = "Unknown".into();
            } else if phase != "Failed" && phase != "Succeeded" {
                summary.reason = "Terminating".into();
            }
        }
        summary
    }

    /// The cell of a column.
    pub(super) fn cell(&self, column: &str) -> String {
        match column {
            "Ready" => format!("{}/{}", self.ready, self.total),
            "Status" => self.reason.clone(),
            _ => self.restarts().at(Time::now()).as_str().unwrap_or_default().to_owned(),
        }
    }

    /// How often containers were restarted, and how long ago the last time.
    pub(super) fn restarts(&self) -> Cell {
        match self.last_restart.as_deref().and_then(|moment| Time::parse(moment).ok()) {
            Some(moment) if self.restarts > 0 => {
                Cell::Since { before: format!("{} (", self.restarts), moment, after: " ago)" }
            }
            _ => Cell::Fixed(self.restarts.to_string().into()),
        }
    }

    /// Whether an init container is still at work; then `reason` says at what.
    fn look_at_init_containers(&mut self, pod: &Value, sidecars: &[&str]) -> bool {
        let all = cells::items(pod, &["spec", "initContainers"]).len();
        for (at, status) in cells::items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
            self.count_restarts(status);
            let sidecar = sidecars.contains(&status.text_at(&["name"]));
            let terminated = status.at(&["state", "terminated"]);
            let waiting = status.at(&["state", "waiting"]).map_or("", |one| one.text_at(&["reason"]));
            if terminated.is_some_and(|one| number(one, "exitCode") == 0) {
                continue;
            }
            if sidecar && flag(status, "started") {
                if flag(status, "ready") {
                    self.ready += 1;
                }
                continue;
            }
            self.reason = match terminated {
                Some(terminated) => format!("Init:{}", ending(terminated)),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{at}/{all}"),
            };
            return true;
        }
        false
    }

    fn look_at_containers(&mut self, pod: &Value, sidecars: &[&str]) {
        let mut running = false;
        // Restarts of init containers count only where they are sidecars.
        (self.restarts, self.last_restart) = (0, None);
        for status in cells::items(pod, &["status", "initContainerStatuses"]) {
            if sidecars.contains(&status.text_at(&["name"])) {
                self.count_restarts(status);
            }
        }
        for status in cells::items(pod, &["status", "containerStatuses"]).iter().rev() {
            self.count_restarts(status);
            let waiting = status.at(&["state", "waiting"]).map_or("", |one| one.text_at(&["reason"]));
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if let Some(terminated) = status.at(&["state", "terminated"]) {
                self.reason = ending(terminated);
            } else if flag(status, "ready") && status.at(&["state", "running"]).is_some() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" && running {
            let ready = condition(pod, "Ready").is_some_and(is_true);
            self.reason = if ready { "Running" } else { "NotReady" }.into();
        }
    }

    fn count_restarts(&mut self, status: &Value) {
        self.restarts += number(status, "restartCount");
        let finished = status.text_at(&["lastState", "terminated", "finishedAt"]);
        if !finished.is_empty() && self.last_restart.as_deref().is_none_or(|last| last < finished) {
            self.last_restart = Some(finished.into());
        }
    }
}

/// How a container ended: its reason, signal or exit code.
fn ending(terminated: &Value) -> String {
    match (terminated.text_at(&["reason"]), number(terminated, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.into(),
    }
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    cells::items(pod, &["status", "conditions"]).iter().find(|one| one.text_at(&["type"]) == kind)
}

fn is_true(condition: &Value) -> bool {
    condition.text_at(&["status"]) == "True"
}

fn flag(object: &Value, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn number(object: &Value, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or_default()
}
