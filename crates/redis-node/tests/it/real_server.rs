//! A real `redis-server` of our own, on a free port.
//!
//! Without the binary the tests that need one say so and pass; with `FENCEPOST_REQUIRE_REDIS=1` they fail.
#![expect(clippy::print_stderr, reason = "a skipped test has to say so")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Ended when it is dropped.
pub(crate) struct RedisServer {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl RedisServer {
    /// A server with these options besides; `None` where there is no binary.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let directory = tempfile::tempdir().expect("a directory");
        let spawned = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--appendonly", "no"])
            .args(["--port", &port.to_string(), "--dir"])
            .arg(directory.path())
            .args(options)
            .stdout(Stdio::piped())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) => {
                let required = std::env::var_os("FENCEPOST_REQUIRE_REDIS");
                assert!(
                    required.is_none_or(|set| set != "1"),
                    "redis-server: {error}"
                );
                eprintln!("skipped: no redis-server to compare with ({error})");
                return None;
            }
        };
        let mut log = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("Ready to accept connections") {
            line.clear();
            let read = log.read_line(&mut line).expect("log");
            assert_ne!(read, 0, "redis-server did not start");
        }
        // The pipe must stay open, or the server's next line of log would end it.
        process.stdout = Some(log.into_inner());
        Some(Self {
            process,
            port,
            directory,
        })
    }

    /// Where it writes what it persists.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.process
            .kill()
            .and_then(|()| self.process.wait())
            .expect("our own child");
    }
}
