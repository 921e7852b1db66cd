//! A server process for end-to-end tests, and kubectl against it.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test file uses a part

pub mod api;
pub mod outside;
pub mod process;
pub mod schemas;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A running server; killed when dropped.
pub struct Apiwright {
    child: Child,
    pub port: u16,
    pub data: PathBuf,
    home: Option<TempDir>,
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

impl Apiwright {
    /// Starts a server on a fresh data directory and waits until it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let data = home.path().join("data");
        let mut server = Self::start_on(&data, free_port(), arguments);
        server.home = Some(home);
        server
    }

    /// Starts a server on this data directory and waits until it is ready.
    pub fn start_on(data: &Path, port: u16, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_apiwright"))
            .args(["--data-dir", data.to_str().expect("a plain path"), "--secure-port", &port.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut server = Self { child, port, data: data.into(), home: None };
        let deadline = Instant::now() + Duration::from_secs(30);
        while !server.is_ready() {
            if let Some(status) = server.child.try_wait().expect("a child") {
                panic!("the server ended before it was ready: {status}");
            }
            assert!(Instant::now() < deadline, "the server is not ready after 30 s");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn is_ready(&self) -> bool {
        self.kubeconfig().exists()
            && kubectl().is_some()
            && self.run(&["get", "--raw", "/readyz"]).is_ok_and(|output| output.status.success())
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// Runs kubectl with these arguments.
    pub fn run(&self, arguments: &[&str]) -> std::io::Result<Output> {
        self.command(arguments).output()
    }

    /// kubectl with these arguments, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(kubectl().expect("kubectl"));
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .arg("--cache-dir")
            .arg(self.data.join("kubectl-cache"))
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// Runs kubectl, which must succeed; gives what it printed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments).expect("kubectl runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {arguments:?}: {out}{err}");
        out.into_owned()
    }

    /// Runs kubectl, which must fail; gives its complaint.
    pub fn kubectl_fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments).expect("kubectl runs");
        assert!(!output.status.success(), "kubectl {arguments:?} succeeded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process at once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks the process to stop; gives whether it ended well.
    pub fn stop(&mut self) -> bool {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Apiwright {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The kubectl to use, if any; see [`tool`].
pub fn kubectl() -> Option<PathBuf> {
    tool("kubectl", "APIWRIGHT_KUBECTL")
}

/// The helm to use, if any; see [`tool`].
pub fn helm() -> Option<PathBuf> {
    tool("helm", "APIWRIGHT_HELM")
}

/// A Python that has the `kubernetes` package, if any.
pub fn python() -> Option<PathBuf> {
    let python = tool("python3", "APIWRIGHT_PYTHON")?;
    let has = Command::new(&python).args(["-c", "import kubernetes"]).stderr(Stdio::null()).status();
    if has.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    eprintln!("skipped: {} has no package kubernetes; run ./test.sh", python.display());
    None
}

/// A program: where the variable says, or on the path. Tests say that there is none, and pass.
fn tool(name: &str, variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let found = std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no {name}; set {variable} or run ./test.sh");
    }
    found
}
