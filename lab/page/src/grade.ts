/** Grades of a victim score by the suite of `coflash evaluate`: the same workloads, the same numbers. */

import { $ } from "./page";
import { worker } from "./worker";

/** A workload of the suite, and the best built-in policy under it. See scripts/lab_suite.py. */
interface Contest {
  workload: string;
  scenario: string;
  best: string;
  value: number;
}
declare const SUITE: readonly Contest[];

/** What stands for the score in the scenarios. */
const PLACEHOLDER = '"123456789"';

/** Grade a score, and show the grades as they come. Throws an error that names what is wrong with the score. */
export async function grade(score: string): Promise<void> {
  const rows = $("#grades tbody");
  rows.replaceChildren();
  $("#grades").hidden = false;
  $("#grade-sum").textContent = "running…";
  let logs = 0;
  for (const { workload, scenario, best, value } of SUITE) {
    const metrics = await worker.finished(scenario.replace(PLACEHOLDER, JSON.stringify(score)));
    const own = (metrics as { waf_host: number }).waf_host;
    logs += Math.log(value / own);
    const row = document.createElement("tr");
    for (const text of [workload, own.toFixed(3), `${value.toFixed(3)} (${best})`, (value / own).toFixed(3)]) row.insertCell().textContent = text;
    rows.append(row);
  }
  const sum = Math.exp(logs / SUITE.length);
  $("#grade-sum").textContent = `Grade: ${sum.toFixed(4)}. 1 is as good as the best built-in policy of each workload, more is better.`;
  const policy = JSON.stringify({ name: "score", score });
  $("#grade-command").textContent = `from coflash.evaluation import evaluate; print(evaluate(${policy})["combined_score"])`;
}
