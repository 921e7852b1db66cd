//! A real etcd process for one test, and a way to it that can be cut. Knows no client of etcd's.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tokio::sync::watch;

/// A running member of a cluster; stopped when dropped.
#[derive(Debug)]
pub struct Member {
    child: Option<Child>,
    dir: tempfile::TempDir,
    name: String,
    client_port: u16,
    peer_port: u16,
    /// Every member of the cluster, as etcd wants it told.
    cluster: String,
    arguments: Vec<String>,
    scheme: &'static str,
}

/// Whether there is an etcd to test with; without one, tests are skipped unless they must not be.
pub fn available() -> bool {
    let found = Command::new("etcd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os("APIWRIGHT_REQUIRE_ETCD").is_none(), "there is no etcd, and one is required");
    println!("skipped: there is no etcd to test with (APIWRIGHT_REQUIRE_ETCD=1 makes that a failure)");
    false
}

impl Member {
    /// A member of its own.
    pub fn start() -> Self {
        Self::launch("http", |_| vec![QUICK_PROGRESS.into()])
    }

    /// A cluster of some members, which notice soon that their leader is gone.
    pub fn start_cluster(size: usize) -> Vec<Self> {
        let peer_ports: Vec<u16> = (0..size).map(|_| free_port()).collect();
        let names = peer_ports.iter().enumerate();
        let all: Vec<String> = names.map(|(at, port)| format!("{}={}", name(at), peer_url(*port))).collect();
        let start = |(at, peer_port)| {
            let mut member = Self {
                child: None,
                dir: tempfile::tempdir().expect("a directory"),
                name: name(at),
                client_port: free_port(),
                peer_port,
                cluster: all.join(","),
                arguments: vec![
                    QUICK_PROGRESS.into(),
                    "--heartbeat-interval=50".into(),
                    "--election-timeout=500".into(),
                ],
                scheme: "http",
            };
            member.restart();
            member
        };
        peer_ports.into_iter().enumerate().map(start).collect()
    }

    /// A member that wants certificates; `files` writes them to a directory and names them.
    pub fn start_tls(files: impl FnOnce(&Path) -> Vec<String>) -> Self {
        Self::launch("https", files)
    }

    fn launch(scheme: &'static str, arguments: impl FnOnce(&Path) -> Vec<String>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let arguments = arguments(dir.path());
        let (client_port, peer_port) = (free_port(), free_port());
        let (name, cluster) = (name(0), format!("{}={}", name(0), peer_url(peer_port)));
        let mut member = Self { child: None, dir, name, client_port, peer_port, cluster, arguments, scheme };
        member.restart();
        member
    }

    /// Starts it again on the same data.
    pub fn restart(&mut self) {
        let client = self.url();
        let peer = peer_url(self.peer_port);
        let log = std::fs::File::create(self.log()).expect("a log");
        let child = Command::new("etcd")
            .args(["--name", &self.name, "--logger", "zap", "--data-dir"])
            .arg(self.dir.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &self.cluster])
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.child = Some(child);
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.client_port)
    }

    /// Where it listens to clients.
    pub fn port(&self) -> u16 {
        self.client_port
    }

    /// The process id, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The file that it says everything in.
    pub fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes progress notifications frequent.
const QUICK_PROGRESS: &str = "--experimental-watch-progress-notify-interval=200ms";

fn name(number: usize) -> String {
    format!("test{number}")
}

fn peer_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A way to the member that can be cut, so that one client loses it and others do not.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    is_cut: watch::Sender<bool>,
}

impl Relay {
    /// Listens, and connects whoever comes to a port.
    pub async fn start(to: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let is_cut = watch::Sender::new(false);
        let watch = is_cut.subscribe();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut is_cut = watch.clone();
                if *is_cut.borrow() {
                    continue;
                }
                tokio::spawn(async move {
                    let Ok(mut far) = tokio::net::TcpStream::connect(("127.0.0.1", to)).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_cut.wait_for(|is_cut| *is_cut) => {}
                    }
                });
            }
        });
        Self { port, is_cut }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends all connections, and lets none be made.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Lets them be made again.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}
