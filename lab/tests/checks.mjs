// Prints, as JSON, the programs in Python that compare the page's drives with native runs: node lab/tests/checks.mjs REQUESTS

import { FIRST, SCHEMES, WORKLOADS, check, finished, module, records, scenario } from "./module.mjs";

const requests = Number(process.argv[2]);
const programs = {};
const add = async (choices, side) => {
  const metrics = await finished(module, records, scenario(choices, side, requests));
  programs[`${choices.scheme}, ${choices.workload}, ${side}`] = check(choices, side, requests, metrics);
};
for (const scheme of Object.keys(SCHEMES)) {
  for (const workload of Object.keys(WORKLOADS)) await add({ ...FIRST, scheme, workload }, "right");
  await add({ ...FIRST, scheme }, "left");
}
await add({ ...FIRST, score: "(1 - u) * sqrt(age)" }, "own");
process.stdout.write(JSON.stringify(programs));
