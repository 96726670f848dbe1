//! The functions that a page calls. Numbers go in and out as they are; a text or a table goes in by its place and length in the
//! module's memory, and comes out at [`output`] with its length in [`output_length`].

use crate::lab::Lab;
use crate::recorded;
use std::cell::RefCell;

/// What [`ask`] returns after an error: its text is the output.
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

/// Make room for an input of this many bytes; returns its place.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.input = vec![0; bytes];
        instance.input.as_mut_ptr()
    })
}

/// The place of the last output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    INSTANCE.with_borrow(|instance| instance.output.as_ptr())
}

/// The bytes of the last output.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    INSTANCE.with_borrow(|instance| instance.output.len())
}

/// Ask for one of these, and return a number:
///
/// | `what` | does | returns |
/// |---|---|---|
/// | 0 | take the input as recorded requests for the scenarios with a trace | 0 |
/// | 1 | begin the run of the input, a scenario (TOML) | 0 |
/// | 2 | serve this many requests | how many there were |
/// | 3 | write the numbers of the run so far, of 64 bits each, to the output | the pages of a block |
/// | 4 | write its metrics (JSON) | the pages of a block |
/// | 5 | write all pages of flash, in words of 32 bits, the lowest byte first | the pages of a block |
/// | 6 | write the pages that another tier holds, in such words | the pages of a block |
/// | 7 | write the victims since the last such call, in such words | the pages of a block |
/// | 8 | serve what is left, and write the result (JSON); the run is over then | 0 |
#[unsafe(no_mangle)]
pub extern "C" fn ask(what: u32, requests: u32) -> u32 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.answer(what, requests).unwrap_or_else(|problem| {
            instance.output = problem.into_bytes();
            FAILED
        })
    })
}

impl Instance {
    fn answer(&mut self, what: u32, requests: u32) -> Result<u32, String> {
        fn bytes(words: impl Iterator<Item = u32>) -> Vec<u8> {
            words.flat_map(u32::to_le_bytes).collect()
        }
        if what == 0 {
            return recorded::bring(&std::mem::take(&mut self.input)).map(|()| 0);
        }
        if what == 1 {
            let scenario = String::from_utf8_lossy(&std::mem::take(&mut self.input)).into_owned();
            self.lab = None;
            self.lab = Some(Lab::begin(&scenario).map_err(|error| error.to_string())?);
            return Ok(0);
        }
        let lab = self.lab.as_mut().ok_or("no run has begun")?;
        self.output = match what {
            2 => {
                return lab
                    .step(requests.into())
                    .map(|served| served as u32)
                    .map_err(|error| error.to_string());
            }
            3 => lab.numbers().iter().flat_map(|number| number.to_le_bytes()).collect(),
            4 => lab.metrics().into_bytes(),
            5 => bytes(lab.pages()),
            6 => bytes(lab.held()),
            7 => lab.take_victims().into_bytes(),
            _ => {
                let result = self.lab.take().map(Lab::finish).transpose();
                self.output = result.map_err(|error| error.to_string())?.unwrap_or_default().into_bytes();
                return Ok(0);
            }
        };
        Ok(lab.pages_per_block())
    }
}
