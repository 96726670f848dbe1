//! Runs a scenario and prints its result: `cargo run --release --example run -- random-5g cache.size=5%`.
#![allow(clippy::print_stdout, reason = "it is what the example does")]

use coflash_sim::{NoObserver, Scenario, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "demo".to_owned());
    let assignments: Vec<(String, String)> = arguments
        .map(|argument| {
            argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or(argument)
        })
        .collect::<Result<_, _>>()?;
    let scenario = Scenario::load(&name)?.set(&assignments)?;
    println!("{}", run(&scenario, &mut NoObserver)?.to_json());
    Ok(())
}
