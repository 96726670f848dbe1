/** The drives of the page, in the worker: benches of two or three that serve the same requests. */

import { expose } from "comlink";
import { Drive, type Measure, finished as finish } from "./drive";
import type { Scene } from "./scene";

/** Requests between two looks at the clock. */
const SLICE_REQUESTS = 250;
const VICTIM_REQUESTS_MAX = 4000;

let module: WebAssembly.Module;
let records: Uint8Array;
const benches = new Map<number, Drive[]>();

async function unpacked(base64: string): Promise<Uint8Array> {
  const stream = new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Take the kernel, and the recorded requests of the database; both are packed. Returns whether there are recorded requests. */
async function bring(kernel: string, recorded: string): Promise<boolean> {
  module = await WebAssembly.compile((await unpacked(kernel)) as BufferSource);
  records = recorded ? await unpacked(recorded) : new Uint8Array();
  return records.length > 0;
}

/** Begin a bench. The third drive may fail: returns its problem. Throws an error that names what is wrong with another one. */
async function begin(bench: number, scenarios: readonly string[], measure: Measure): Promise<string> {
  const drives: Drive[] = [];
  for (const scenario of scenarios) {
    try {
      drives.push(await Drive.open(module, records, scenario, measure));
    } catch (error) {
      if (drives.length < 2) throw error;
      benches.set(bench, drives);
      return (error as Error).message;
    }
  }
  benches.set(bench, drives);
  return "";
}

function end(bench: number): void {
  benches.delete(bench);
}

/** Serve requests, as many as can be in a time, in ms. */
function serve(bench: number, requests: number, timeMs: number, isWhole: boolean): Snapshot[] {
  const [drives, until] = [benches.get(bench) ?? [], performance.now() + timeMs];
  for (let left = requests; left > 0 && (left === requests || performance.now() < until); left -= SLICE_REQUESTS) {
    for (const drive of drives) drive.step(Math.min(left, SLICE_REQUESTS));
  }
  return drives.map((drive) => snapshot(drive, null, isWhole));
}

/** Go on until each drive has taken a victim; where GC of the right one is told something, one that is spared a copy, if one comes
 * soon. */
function toVictim(bench: number, isTold: boolean): Snapshot[] {
  const drives = benches.get(bench) ?? [];
  const scenes: (Scene | null)[] = drives.map(() => null);
  // On the left, a page that is copied in vain; on the right one that need not be.
  const shows = (scene: Scene | null, at: number): boolean =>
    scene !== null && (!isTold || scene.pages.some(({ fate }) => fate === "dropped" || fate === "from-slot" || (fate === "wasted" && at === 0)));
  for (let tries = 0; tries < VICTIM_REQUESTS_MAX && !scenes.every((scene, at) => scene && (shows(scene, at) || tries > VICTIM_REQUESTS_MAX / 2)); tries++) {
    drives.forEach((drive, at) => {
      const met = drive.watch();
      if (met !== null && (!shows(scenes[at]!, at) || shows(met, at))) scenes[at] = met;
    });
  }
  return drives.map((drive, at) => snapshot(drive, scenes[at]!, true));
}

/** Run a scenario to its end; returns its metrics. */
const finished = (scenario: string): Promise<object> => finish(module, records, scenario);

/** What is shown of a drive: with all measures, which take long, if asked for. */
function snapshot(drive: Drive, scene: Scene | null, isWhole: boolean) {
  const { requests, course, lastVictim } = drive;
  return { requests, numbers: drive.numbers(), ...drive.pages(), held: drive.held(), course, lastVictim, metrics: isWhole ? drive.metrics() : null, scene };
}
export type Snapshot = ReturnType<typeof snapshot>;

const acts = { bring, begin, end, serve, toVictim, finished };
export type Acts = typeof acts;
expose(acts);
