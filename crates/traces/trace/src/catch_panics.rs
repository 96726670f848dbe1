//! Panics of libraries as errors. A library that panics at malformed input reports an error of the input; so the panic
//! becomes one, and is not printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside [`catch_panics`].
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Run `work` and return its result, or the message of its panic. Panics elsewhere, also on other threads, are printed
/// as usual.
pub(crate) fn catch_panics<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // The process has a single hook: it is set once, and checks the thread of each panic.
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
    fn only_caught_panics_are_not_printed() {
        let said = Arc::new(Mutex::new(Vec::new()));
        assert_eq!(catch_panics(|| 3), Ok(3)); // sets its hook, which is set once
        let listener = Arc::clone(&said);
        panic::set_hook(unless_caught(Box::new(move |panic| {
            listener.lock().unwrap().extend(panic.payload_as_str().map(str::to_owned));
        })));
        let within = catch_panics(|| {
            assert!(std::thread::spawn(|| panic!("on another thread")).join().is_err());
            assert_eq!(catch_panics(|| -> u32 { panic!("innermost") }), Err("innermost".to_owned()));
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
