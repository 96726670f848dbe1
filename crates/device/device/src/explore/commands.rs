//! Commands of the user: each in a process group of its own, which ends with it on every way out.

use coflash_nbd::{Address, Export, Server};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    status: ExitStatus,
    /// Whether it was ended because its time was over.
    pub(crate) is_late: bool,
    /// What it wrote.
    pub(crate) output: String,
}

impl Ended {
    pub(crate) fn is_good(&self) -> bool {
        self.status.success() && !self.is_late
    }

    /// Whether the shell could not run it.
    pub(crate) fn could_not_run(&self) -> bool {
        matches!(self.status.code(), Some(126 | 127))
    }

    /// How it ended, in words.
    pub(crate) fn story(&self, limit: Duration) -> String {
        match (self.is_late, self.status.code(), self.status.signal()) {
            (true, ..) => format!("it did not end within {} s", limit.as_secs_f64()),
            (_, Some(code), _) => format!("exit status {code}"),
            (_, _, signal) => format!("signal {}", signal.unwrap_or_default()),
        }
    }
}

/// The most of an output that is kept, in bytes.
const OUTPUT_BYTES: u64 = 64 << 10;
/// How often a command is looked at whose time may be over, and how often until it is killed that was asked to end.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 100;

/// Runs commands on disks, each served on a socket in a folder of our own.
pub(crate) struct Commands {
    sockets: TempDir,
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

    /// The time that a command may take.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
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

    /// Serve a disk while a command runs. `job` tells the sockets of commands at the same time apart.
    pub(crate) fn run_on(
        &self,
        disk: &(impl Export + Send),
        job: usize,
        command: &str,
        environment: &[(&str, String)],
    ) -> io::Result<Ended> {
        let socket = self.socket(&format!("nbd-{job}"));
        let address = Address::Unix(socket.clone());
        let server = Server::bind(&address)?;
        thread::scope(|scope| {
            let stopper = server.stopper();
            let serving = scope.spawn(|| server.run(disk));
            let mut process = Command::new("sh");
            process.arg("-c").arg(command).env("COFLASH_NBD", address.to_string());
            process.env("COFLASH_SOCKET", socket);
            process.envs(environment.iter().map(|(name, value)| (name, value)));
            let ended = self.run(&mut process);
            stopper.stop();
            serving.join().expect("the server does not panic")?;
            ended
        })
    }

    /// Run a process to its end. With files for its output, a process that it leaves is not waited for.
    fn run(&self, process: &mut Command) -> io::Result<Ended> {
        let mut output = tempfile::tempfile()?;
        process.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let mut child = process.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        let (done, waiting) = channel::<()>();
        let (status, is_late) = thread::scope(|scope| {
            let watch = scope.spawn(|| self.watch(group, waiting));
            let status = child.wait();
            drop(done);
            (status, watch.join().expect("it does not panic"))
        });
        end_group(group, LOOKS / 4);
        let mut bytes = Vec::new();
        let length = output.seek(io::SeekFrom::End(0))?;
        output.seek(io::SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES)))?;
        output.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
        Ok(Ended { status: status?, is_late, output: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// End a group when its time is over, or when all stops. Returns whether its time was over.
    fn watch(&self, group: Pid, done: Receiver<()>) -> bool {
        let looks = self.limit.div_duration_f64(LOOK) as u64;
        let mut look = 0;
        while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(LOOK) {
            look += 1;
            if look <= looks && !self.is_stopped() {
                continue;
            }
            end_group(group, LOOKS);
            let _ = done.recv();
            return look > looks;
        }
        false
    }
}

/// End what runs in a group: what is still there after some looks is killed.
fn end_group(group: Pid, looks: u32) {
    let _ = kill_process_group(group, Signal::TERM);
    for _ in 0..looks {
        if test_kill_process_group(group).is_err() {
            return;
        }
        thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
}

/// Run parts of work at the same time, each with its number, and end them all when one fails.
pub(crate) fn in_parallel<E: Send>(
    jobs: usize,
    commands: &Commands,
    work: impl Fn(usize) -> Result<(), E> + Sync,
    mut look: impl FnMut() -> bool,
) -> Result<(), E> {
    thread::scope(|scope| {
        let (ends, ended) = channel();
        for job in 0..jobs {
            let (ends, work) = (ends.clone(), &work);
            scope.spawn(move || {
                let done = work(job);
                if done.is_err() {
                    commands.stop();
                }
                drop(ends.send(done));
            });
        }
        drop(ends);
        let mut result = Ok(());
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(done) => result = result.and(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return result,
            }
            if !look() {
                commands.stop();
            }
        }
    })
}
