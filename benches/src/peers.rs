//! Other systems at the same work, where the Python environment of this folder has them: rows beside ours.

use crate::Measured;
use serde::Deserialize;
use std::process::Command;

#[derive(Deserialize)]
struct Told {
    seconds: f64,
    note: String,
}

/// Have a peer do its work on a file of `requests`; a missing peer is a row that says so.
pub(crate) fn measured(work: &str, file: &[u8], requests: u64) -> Measured {
    let path = std::env::temp_dir().join(format!("coflash-bench-{}.{work}", std::process::id()));
    std::fs::write(&path, file).expect("room for a file");
    const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../.venv/bin/python");
    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/bench_peers.py");
    let peer = Command::new(PYTHON).args([SCRIPT, work]).arg(&path).output();
    // It is only a copy.
    let _ = std::fs::remove_file(&path);
    let told = peer.map_err(|error| error.to_string()).and_then(|done| {
        serde_json::from_slice::<Told>(&done.stdout)
            .map_err(|_| String::from_utf8_lossy(&done.stderr).lines().last().unwrap_or_default().to_owned())
    });
    match told {
        Ok(Told { seconds, note }) => {
            Measured { requests_per_second: requests as f64 / seconds, note, ..Measured::default() }
        }
        Err(reason) => Measured { note: format!("SKIPPED, NOT MEASURED: {reason}"), ..Measured::default() },
    }
}
