//! Commands of the user: each in a process group of its own, which ends with it on every way out.

use super::run::RunDisk;
use crate::machine::now;
use coflash_nbd::{Address, Server};
use coflash_store::Disk;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) is_good: bool,
    /// Whether the shell could not run it.
    pub(crate) could_not_run: bool,
    /// How it ended, in words.
    pub(crate) story: String,
    /// What it wrote.
    pub(crate) output: String,
}

/// The most of an output that is kept, in bytes.
const OUTPUT_BYTES: u64 = 64 << 10;
/// How often it is looked whether a command has ended.
const WAIT: Duration = Duration::from_millis(1);
/// How often a group is looked at that was asked to end, and how often until it is killed.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 100;

/// Runs commands on disks, each served on a socket in a folder of our own.
pub(crate) struct Commands {
    sockets: TempDir,
    /// The time that a command may take.
    limit: Duration,
    is_stopped: AtomicBool,
}

/// The longest path of a folder for sockets.
const SOCKET_FOLDER_BYTES_MAX: usize = 60;

impl Commands {
    pub(crate) fn new(limit: Duration) -> io::Result<Self> {
        // The path of a socket has at most some 100 bytes.
        let own = std::env::temp_dir();
        let place = if own.as_os_str().len() > SOCKET_FOLDER_BYTES_MAX { "/tmp".into() } else { own };
        let sockets = tempfile::Builder::new().prefix("coflash-explore-").tempdir_in(place)?;
        Ok(Self { sockets, limit, is_stopped: AtomicBool::new(false) })
    }

    /// End what runs; what is begun from now on ends at once.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.sockets.path().join(name)
    }

    /// Serve the devices of a disk while a command runs, the second one by variables that end with `_2`, and so on. `job` tells
    /// the sockets of commands at the same time apart.
    pub(crate) fn run_on(
        &self,
        disk: &RunDisk<impl Disk + Send>,
        job: usize,
        command: &str,
        environment: &[(&str, String)],
    ) -> io::Result<Ended> {
        let mut process = Command::new("sh");
        process.arg("-c").arg(command).envs(environment.iter().map(|(name, value)| (name, value)));
        let mut servers = Vec::new();
        for (number, device) in (1..).zip(disk.devices()) {
            let socket = self.socket(&format!("nbd-{job}-{number}"));
            let address = Address::Unix(socket.clone());
            let own = if number == 1 { String::new() } else { format!("_{number}") };
            process.env(format!("COFLASH_NBD{own}"), address.to_string());
            process.env(format!("COFLASH_SOCKET{own}"), socket);
            servers.push((Server::bind(&address)?, device));
        }
        thread::scope(|scope| {
            let serving: Vec<_> =
                servers.iter().map(|(server, device)| scope.spawn(|| server.run(device))).collect();
            let ended = self.run(&mut process);
            servers.iter().for_each(|(server, _)| server.stop());
            serving.into_iter().try_for_each(|one| one.join().expect("no server panics"))?;
            let is_empty = command.trim().is_empty();
            ended.map(|ended| Ended { could_not_run: ended.could_not_run || is_empty, ..ended })
        })
    }

    /// Run a process to its end. With files for its output, a process that it leaves is not waited for.
    fn run(&self, process: &mut Command) -> io::Result<Ended> {
        let mut output = tempfile::tempfile()?;
        process.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let mut child = process.process_group(0).spawn()?;
        let begun = now();
        let mut is_late = false;
        while !is_late && !self.is_stopped() && child.try_wait()?.is_none() {
            thread::sleep(WAIT);
            is_late = now().saturating_duration_since(begun) > self.limit;
        }
        let is_over = is_late || self.is_stopped();
        end_group(&mut child, if is_over { LOOKS } else { LOOKS / 4 });
        let status = child.wait();
        let mut bytes = Vec::new();
        let length = output.seek(io::SeekFrom::End(0))?;
        output.seek(io::SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES)))?;
        output.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
        let (status, output) = (status?, String::from_utf8_lossy(&bytes).into_owned());
        let story = match (is_late, status.code(), status.signal()) {
            (true, ..) => format!("it did not end within {} s", self.limit.as_secs_f64()),
            (_, Some(code), _) => format!("exit status {code}"),
            (_, _, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        let could_not_run = matches!(status.code(), Some(126 | 127));
        Ok(Ended { is_good: status.success() && !is_late, could_not_run, story, output })
    }
}

/// End what runs in the group of a process: what is still there after some looks is killed.
fn end_group(child: &mut Child, looks: u32) {
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, Signal::TERM);
    for _ in 0..looks {
        // Until it is waited for, it is there.
        let _ = child.try_wait();
        if test_kill_process_group(group).is_err() {
            return;
        }
        thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
}
