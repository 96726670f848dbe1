// The kernel in WebAssembly gives the results of the golden scenarios, and at what rate.
// node --test lab/tests/golden.test.mjs, after `make lab` has built the module.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { Kernel, module } from "./module.mjs";

const none = new Uint8Array();
const golden = new URL("../../tests/golden/", import.meta.url);
const names = readdirSync(golden)
  .filter((name) => name.endsWith(".toml"))
  .map((name) => name.slice(0, -5));
const text = (name) => readFileSync(new URL(name, golden), "utf-8");

for (const name of names) {
  test(`${name} has its golden result`, async () => {
    const kernel = await Kernel.of(module, none, text(`${name}.toml`));
    const begun = performance.now();
    const result = JSON.parse(kernel.finish());
    const seconds = (performance.now() - begun) / 1000;
    const expected = JSON.parse(text(`${name}.json`));
    for (const key of ["scenario_hash", "seed", "workload", "metrics"]) {
      assert.deepEqual(result[key], expected[key], key);
    }
    const programs = Object.values(result.metrics.programs_pages).reduce((sum, count) => sum + count, 0);
    console.log(`${name}: ${(programs / seconds / 1e6).toFixed(2)} million programs a second`);
  });
}

test("a run step by step ends as a run at once", async () => {
  const [steps, once] = [await Kernel.of(module, none, text("cdm-adaptive.toml")), await Kernel.of(module, none, text("cdm-adaptive.toml"))];
  let served = 0;
  for (let size = 1; ; size = (size * 7) % 1009) {
    const more = steps.advance(size);
    served += more;
    assert.equal(steps.numbers().requests, served);
    if (more === 0) break;
  }
  assert.deepEqual(steps.finish(), once.finish());
});

test("an error names what is wrong, and a run that is over does not go on", async () => {
  await assert.rejects(Kernel.of(module, none, "[flash]\nchanels = 1\n"), /chanels.*channels/s);
  await assert.rejects(Kernel.of(module, new Uint8Array(13), ""), /13 bytes were given; records have 12 bytes each/);
  const kernel = await Kernel.of(module, none, text("greedy-uniform.toml"));
  assert.equal(kernel.advance(5), 5);
  kernel.finish();
  assert.throws(() => kernel.advance(1), /no run has begun/);
});
