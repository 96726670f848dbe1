//! The functions that a page calls. Numbers go in and out as they are; a text goes in by its place and length in the module's
//! memory, and comes out at [`output`] with its length in [`output_length`].

use crate::lab::Lab;
use crate::recorded;
use std::cell::RefCell;

/// What a function returns after an error: its text is the output.
const FAILED: u32 = u32::MAX;

#[derive(Default)]
struct Instance {
    lab: Option<Lab>,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Instance) -> T) -> T {
    INSTANCE.with_borrow_mut(work)
}

/// What a function returns: its number, or after an error [`FAILED`], with the text in the output.
fn answer(output: &mut Vec<u8>, done: Result<u32, String>) -> u32 {
    done.unwrap_or_else(|problem| {
        *output = problem.into_bytes();
        FAILED
    })
}

/// Do something with the run, if one has begun.
fn with_lab(work: impl FnOnce(&mut Lab, &mut Vec<u8>) -> Result<u32, String>) -> u32 {
    with(|Instance { lab, output, .. }| {
        let done = lab.as_mut().ok_or_else(none_has_begun).and_then(|lab| work(lab, output));
        answer(output, done)
    })
}

fn none_has_begun() -> String {
    "no run has begun".to_owned()
}

/// Make room for an input of this many bytes; returns its place.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    with(|instance| {
        instance.input = vec![0; bytes];
        instance.input.as_mut_ptr()
    })
}

/// The place of the last output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|instance| instance.output.as_ptr())
}

/// The bytes of the last output.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    with(|instance| instance.output.len())
}

/// Take the input as recorded requests for the scenarios with a trace.
#[unsafe(no_mangle)]
pub extern "C" fn bring_records() -> u32 {
    with(|Instance { input, output, .. }| {
        let done = recorded::bring(&std::mem::take(input)).map(|()| 0);
        answer(output, done)
    })
}

/// Begin the run of the input, a scenario (TOML).
#[unsafe(no_mangle)]
pub extern "C" fn begin() -> u32 {
    with(|Instance { lab, input, output }| {
        let text = String::from_utf8_lossy(&std::mem::take(input)).into_owned();
        *lab = None;
        let begun = Lab::begin(&text).map(|begun| *lab = Some(begun));
        answer(output, begun.map(|()| 0).map_err(|error| error.to_string()))
    })
}

/// Serve the next requests; returns how many there were.
#[unsafe(no_mangle)]
pub extern "C" fn step(requests: u32) -> u32 {
    with_lab(|lab, _| {
        lab.step(requests.into()).map(|served| served as u32).map_err(|error| error.to_string())
    })
}

/// Write something of the run to the output: 0 its numbers so far, of 64 bits each; 1 its metrics (JSON); in words of 32 bits, the
/// lowest byte first, 2 all pages, 3 the pages that another tier holds, 4 the victims since the last such call. Returns the pages of
/// a block.
#[unsafe(no_mangle)]
pub extern "C" fn look(what: u32) -> u32 {
    fn bytes(words: impl Iterator<Item = u32>) -> Vec<u8> {
        words.flat_map(u32::to_le_bytes).collect()
    }
    with_lab(|lab, output| {
        *output = match what {
            0 => lab.numbers().iter().flat_map(|number| number.to_le_bytes()).collect(),
            1 => lab.metrics().into_bytes(),
            2 => bytes(lab.pages()),
            3 => bytes(lab.held()),
            _ => bytes(lab.take_victims().into_iter()),
        };
        Ok(lab.pages_per_block())
    })
}

/// Serve what is left, and write the result to the output (JSON). The run is over then.
#[unsafe(no_mangle)]
pub extern "C" fn finish() -> u32 {
    with(|Instance { lab, output, .. }| {
        let lab = lab.take().ok_or_else(none_has_begun);
        let done = lab.and_then(|lab| lab.finish().map_err(|error| error.to_string()));
        let written = done.map(|result| *output = result.into_bytes());
        answer(output, written.map(|()| 0))
    })
}
