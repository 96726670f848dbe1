/** What flash did, in the worker: a recorded run, or a device that is being served; and its picture between two times. */

import { Kept, type Operations, type Victims, meanwhile, open, paint, slow, strip, summary, within } from "./recording";

/** What there is to see: when it begins and ends, its dies, and when power was cut. */
export interface Range {
  first: number;
  whole: number;
  dies: number;
  cuts: readonly number[];
}

/** With more operations there is a strip of dies instead of bars. */
const BARS_MAX = 4000;
/** How much before an operation and after it is kept with it, in its own length. */
const KEPT_AROUND = 5;

let operations: Operations | null = null;
let victims: Victims | null = null;
/** The operations around one that is looked at: those of a served device go otherwise. */
let pinned: Operations | null = null;
const kept = new Kept();

/** Take a file of a recorded run. Returns what there is to see; null while its operations are missing. Throws an error that says what it is not. */
export async function takeFile(file: ArrayBuffer): Promise<Range | null> {
  const taken = await open(file);
  if ("victims" in taken) victims = taken.victims;
  else ({ operations } = taken);
  return operations && { first: 0, whole: operations.end.reduce((last, end) => Math.max(last, end), 1), dies: operations.dies, cuts: [] };
}

/** Take a part of what a served device does, as files in base64. Returns what there is to see. */
export async function takePart(session: string, parts: readonly string[]): Promise<Range | null> {
  kept.goOn(session);
  for (const part of parts) {
    const taken = await open(Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0)).buffer);
    if ("victims" in taken) kept.addVictims(taken.victims);
    else kept.add(taken.operations);
  }
  operations = kept.operations();
  ({ victims } = kept);
  const { start, dies } = operations;
  return start.length > 0 ? { first: start[0]!, whole: kept.newest, dies, cuts: kept.cuts } : null;
}

/** Paint what happened between two times, and count it: each operation is a bar where there are few. */
export function picture(from: number, to: number, width: number, height: number, colours: Uint32Array) {
  const seen = within(pinned ?? operations!, from, to);
  const pixels = new Uint32Array(width * height);
  const isClose = seen.start.length <= BARS_MAX;
  (isClose ? paint : strip)(pixels, width, height, seen, from, to, colours);
  return { pixels, isClose, ...summary(seen, victims, from, to) };
}

/** Look at the host's operation that is slower than a share of those between two times; returns how often its die did what meanwhile, and
 * between which times all is kept, where not everything is. */
export function lookAt(quantile: number, from: number, to: number) {
  const all = pinned ?? operations!;
  const row = slow(all, quantile, from, to);
  if (row < 0) return null;
  const [begins, ends, counts] = [all.start[row]!, all.end[row]!, meanwhile(all, row)];
  const around = KEPT_AROUND * Math.max(1000, ends - begins);
  // The file of a recorded run keeps all.
  if (kept.newest > 0) pinned = within(all, begins - around, ends + around);
  return { begins, ends, what: all.what[row]!, block: all.block[row]!, blocks: all.blocks, dies: all.dies, counts, pinned: pinned && ([begins - around, ends + around] as const) };
}

export type Picture = ReturnType<typeof picture>;
export type Look = NonNullable<ReturnType<typeof lookAt>>;

/** Look at no operation any more. */
export function letGo(): void {
  pinned = null;
}
