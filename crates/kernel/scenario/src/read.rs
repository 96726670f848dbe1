//! The reader of scenarios.

use crate::policies::policies;
use crate::renamed::renew;
use crate::scenario::Scenario;
use crate::workload::Requests;
use coflash_base::Misfit;
use coflash_base::read::read_table;
use toml::{Table, Value};

/// An error in a scenario.
pub type ScenarioError = Misfit;

impl Scenario {
    /// Read and check a scenario.
    ///
    /// # Errors
    /// A syntax error with its line, or an invalid value with its key.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        Self::from_table(parse(text)?)
    }

    /// Read the scenario of a run. Until version 0.2 a workload beside a trace or a job file was written down with it, and did not
    /// run.
    ///
    /// # Errors
    /// See [`from_toml`](Self::from_toml).
    pub fn of_run(text: &str) -> Result<Self, ScenarioError> {
        let mut table = parse(text)?;
        if let Some(workload) = table.get_mut("workload").and_then(Value::as_table_mut) {
            let ran = ["trace", "fio"].into_iter().find(|key| {
                workload.get(*key).is_some_and(|value| value.as_array().is_none_or(|files| !files.is_empty()))
            });
            workload.retain(|key, _| ran.is_none_or(|ran| key == ran || !Requests::KEYS.contains(&key)));
        }
        Self::from_table(table)
    }

    pub(crate) fn from_table(mut table: Table) -> Result<Self, ScenarioError> {
        let renewed = renew(&mut table);
        let blocks_given = table.get("flash").and_then(|flash| flash.get("blocks_per_plane")).is_some();
        let mut scenario: Self = read_table(table).map_err(or_elsewhere)?;
        if let Some(blocks) = scenario.ftl.blocks_per_plane(&scenario.flash) {
            let given = std::mem::replace(&mut scenario.flash.blocks_per_plane, blocks);
            if blocks_given && given != blocks {
                let problem = format!(
                    "{given} was given; {blocks} follows from flash.exported and ftl.spare: leave out one of the keys"
                );
                return Err(ScenarioError::new("flash.blocks_per_plane", problem));
            }
        }
        scenario.check_parts()?;
        scenario.limits.extend(renewed);
        Ok(scenario)
    }
}

/// The same error; of a policy that another family knows, it names that family.
fn or_elsewhere(misfit: Misfit) -> Misfit {
    let named = misfit.problem.strip_prefix('"').and_then(|rest| rest.split_once("\" is not known"));
    let elsewhere = named.and_then(|(name, hint)| {
        let knows = |(key, _, members): &(&str, _, Vec<coflash_base::PolicyInfo>)| {
            *key != misfit.key && members.iter().any(|known| known.name == name)
        };
        let (family, ..) = policies().into_iter().find(knows)?;
        Some(format!("\"{name}\" is not known: it is one of {family}{hint}"))
    });
    match elsewhere {
        Some(problem) => Misfit { problem, ..misfit },
        None => misfit,
    }
}

fn parse(text: &str) -> Result<Table, ScenarioError> {
    text.parse::<Table>().map_err(|error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let word = error.span().filter(|_| error.message().contains("quoted")).map(|span| &text[span]);
        let meant = word.map(|word| format!("; {word} was given: write \"{word}\"")).unwrap_or_default();
        ScenarioError::whole(format!("{place}{}{meant}", error.message().replace('\n', "; ")))
    })
}
