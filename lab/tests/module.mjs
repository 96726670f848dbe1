// What the tests of the laboratory share: the module and the parts of the page that `make lab` has built.

import { readFileSync } from "node:fs";

const built = new URL("../../target/lab/", import.meta.url);

export const module = new WebAssembly.Module(readFileSync(new URL("coflash_lab.wasm", built)));
export const records = new Uint8Array(readFileSync(new URL("records.bin", built)));
export const { Kernel } = await import(new URL("kernel.mjs", built).href);
export const { sceneOf, tally, SCENE_MS } = await import(new URL("scene.mjs", built).href);
export const { Drive, finished } = await import(new URL("drive.mjs", built).href);
export const { FIRST, SCHEMES, WORKLOADS, check, scenario } = await import(new URL("scenario.mjs", built).href);
export const { KEPT, Kept, busy } = await import(new URL("recording.mjs", built).href);
export const { STORIES } = await import(new URL("stories.mjs", built).href);

/** Begin the drive of a side. */
export const begin = (choices, side) => Drive.open(module, records, scenario(choices, side), SCHEMES[choices.scheme].family.chart);
