//! For libraries that panic where they are given what is not sound: such a panic says something of the input, so it
//! becomes an error of the input, and is not printed as well.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// Whether this thread is within [`caught`].
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// What `work` returns, or the message of its panic. Panics elsewhere, on other threads too, are printed as ever.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A hook is the process's: it is set once and asks of each panic whose it is.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(unless_caught(panic::take_hook())));
    let outer = IS_CAUGHT.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(outer);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
    })
}

fn unless_caught(before: Hook) -> Hook {
    Box::new(move |panic| {
        if !IS_CAUGHT.get() {
            before(panic);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn only_what_is_caught_goes_unsaid() {
        let said = Arc::new(Mutex::new(Vec::new()));
        assert_eq!(caught(|| 3), Ok(3)); // sets its hook, which is set once
        let listener = Arc::clone(&said);
        panic::set_hook(unless_caught(Box::new(move |panic| {
            listener.lock().unwrap().extend(panic.payload_as_str().map(str::to_owned));
        })));
        let within = caught(|| {
            assert!(std::thread::spawn(|| panic!("on another thread")).join().is_err());
            assert_eq!(caught(|| -> u32 { panic!("innermost") }), Err("innermost".to_owned()));
            panic!("within")
        });
        assert_eq!(within, Err::<(), _>("within".to_owned()));
        assert!(std::thread::spawn(|| panic!("afterwards")).join().is_err());
        assert!(panic::catch_unwind(|| panic!("on this thread")).is_err());
        // Other tests may panic meanwhile, on their own threads.
        let said = said.lock().unwrap();
        let known = ["on another thread", "innermost", "within", "afterwards", "on this thread"];
        let said: Vec<_> = said.iter().filter(|text| known.contains(&text.as_str())).collect();
        assert_eq!(said, ["on another thread", "afterwards", "on this thread"]);
    }
}
