//! A served device: its machine, its NBD server, and work done without a request.

use crate::control;
use crate::export::Exported;
use crate::folder::{DeviceError, Folder};
use crate::machine::{EndedSession, Machine};
use coflash_nbd::{Address, Server};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The interval between checks for pending work: shorter than that of any commit.
const TICK: Duration = Duration::from_millis(20);

/// The TCP address in a text. One that other machines reach is refused unless `insecure`.
///
/// # Errors
/// What was given, what is allowed, and why.
pub fn listen_address(text: &str, insecure: bool) -> Result<Address, String> {
    let Ok(address) = text.parse().map(Address::Tcp) else {
        return Err(format!(
            "listen: \"{text}\" was given; an address such as \"127.0.0.1:10809\" is allowed"
        ));
    };
    if address.is_beyond_this_machine() && !insecure {
        return Err(format!(
            "listen: \"{text}\" was given, which other machines reach: there is no password and no encryption, so that they \
             read and overwrite the device; \"127.0.0.1:10809\" is allowed, which ssh -L takes to another machine, or insecure \
             (--insecure) in a network whose every user may do that"
        ));
    }
    Ok(address)
}

/// A device that is served, until it is stopped.
pub struct ServedDevice {
    disk: Arc<Exported>,
    address: Address,
    server: Arc<Server>,
    /// As long as it is there, the ticker ticks.
    ticking: Sender<()>,
    serving: JoinHandle<io::Result<()>>,
    ticker: JoinHandle<()>,
    answers: Option<JoinHandle<()>>,
}

impl ServedDevice {
    /// Serve a machine on an address. With `emulate` each answer is held back for the simulated response
    /// time.
    ///
    /// # Errors
    /// The address is in use.
    pub fn start(
        machine: Machine,
        folder: &Folder,
        address: &Address,
        emulate: bool,
    ) -> Result<Self, DeviceError> {
        let bound = Server::bind(address).and_then(|server| Ok((server.address()?, Arc::new(server))));
        let bound = bound.map_err(|problem| folder.io(problem));
        let bound = bound.and_then(|bound| Ok((bound, control::bind(folder, machine.is_read_only())?)));
        let ((address, server), mut control) = match bound {
            Ok(bound) => bound,
            Err(error) => {
                machine.discard();
                return Err(error);
            }
        };
        let disk = Arc::new(Exported::new(machine, server.connections().clone(), emulate));
        let (ticking, ended) = channel::<()>();
        let ticker = {
            let disk = disk.clone();
            thread::spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
                    disk.tick();
                    control.iter_mut().for_each(|lines| lines.serve(|line| control::run(line, &disk)));
                }
            })
        };
        let answers = emulate.then(|| {
            let disk = disk.clone();
            thread::spawn(move || disk.send_delayed())
        });
        let serving = {
            let (server, disk) = (server.clone(), disk.clone());
            thread::spawn(move || server.run(&*disk))
        };
        Ok(Self { disk, address, server, ticking, serving, ticker, answers })
    }

    /// The address of the server, as a URI.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Whether the server has ended because its socket failed.
    pub fn has_failed(&self) -> bool {
        self.serving.is_finished()
    }

    /// The disk: its machine, its connections, its load, its problems.
    pub fn disk(&self) -> &Exported {
        &self.disk
    }

    /// Stop in an orderly way: requests under way are answered, then the device is flushed and switched off.
    /// Returns the sessions that have ended.
    ///
    /// # Errors
    /// The container or the folder cannot be written, or the server failed.
    pub fn stop(self) -> Result<Vec<EndedSession>, DeviceError> {
        self.server.stop();
        let served = self.serving.join().expect("the server does not panic");
        drop((self.server, self.ticking));
        self.ticker.join().expect("the ticker does not panic");
        if let Some(answers) = self.answers {
            self.disk.stop_delayed();
            answers.join().expect("answers do not panic");
        }
        let disk = Arc::into_inner(self.disk).expect("all threads have ended");
        let ended = disk.into_machine().stop()?;
        served.map_err(|problem| DeviceError::Io { path: self.address.to_string().into(), problem })?;
        Ok(ended)
    }
}
