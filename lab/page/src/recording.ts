/** A recorded run: the operations of flash, and the victims of GC, as `coflash run --operations --decisions` writes them. */

import { decompress } from "fzstd";
import { parquetMetadata, parquetRead, parquetSchema } from "hyparquet";

export const CAUSES = ["host", "evict", "gc", "refresh", "wear_levelling", "destage", "metadata"] as const;
export const ERASE = CAUSES.length;
export const READ = CAUSES.length + 1;

/** Operations, by columns. */
export interface Operations {
  start: Float64Array;
  end: Float64Array;
  /** The cause of a program or copy by its place in `CAUSES`; or `ERASE`, or `READ`. */
  what: Uint8Array;
  block: Uint32Array;
  blocks: number;
}

/** The victims that GC picked, by columns. */
export interface Victims {
  time: Float64Array;
  valid: Uint32Array;
  removable: Uint32Array;
}

const COLUMNS = { operations: ["time_ns", "end_ns", "kind", "cause", "block"], decisions: ["time_ns", "valid", "removable", "chosen"] };

/** Read one of the two files. Throws an error that says what it is not. */
export async function open(file: ArrayBuffer): Promise<{ operations: Operations } | { victims: Victims }> {
  let metadata;
  try {
    metadata = parquetMetadata(file);
  } catch {
    throw new Error("this is no Parquet file; what coflash run --operations or --decisions writes is allowed");
  }
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  const kind = names.includes("decision") ? "decisions" : "operations";
  const missing = COLUMNS[kind].filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`no column ${missing.join(", ")}; what coflash run --operations or --decisions writes is allowed`);
  const rows = Number(metadata.num_rows);
  const columns: Record<string, ArrayLike<unknown>[]> = {};
  await parquetRead({
    file,
    metadata,
    columns: COLUMNS[kind],
    compressors: { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) },
    onChunk: ({ columnName, columnData }) => { (columns[columnName] ??= []).push(columnData); },
  });
  const filled = <T extends Float64Array | Uint32Array | Uint8Array>(name: string, into: T, of: (value: unknown) => number = Number): T => {
    let at = 0;
    for (const chunk of columns[name] ?? []) for (let row = 0; row < chunk.length; row++) into[at++] = of(chunk[row]);
    return into;
  };
  if (kind === "decisions") {
    const chosen = filled("chosen", new Uint8Array(rows));
    const picked = (_: unknown, row: number): boolean => chosen[row] === 1;
    return {
      victims: {
        time: filled("time_ns", new Float64Array(rows)).filter(picked),
        valid: filled("valid", new Uint32Array(rows)).filter(picked),
        removable: filled("removable", new Uint32Array(rows)).filter(picked),
      },
    };
  }
  const what = filled("cause", new Uint8Array(rows), (cause) => CAUSES.indexOf(cause as (typeof CAUSES)[number]));
  const kinds = filled("kind", new Uint8Array(rows), (name) => (name === "erase" ? ERASE : name === "read" ? READ : 0));
  kinds.forEach((other, row) => { if (other > 0) what[row] = other; });
  const block = filled("block", new Uint32Array(rows));
  const blocks = block.reduce((most, one) => Math.max(most, one), 0) + 1;
  return { operations: { start: filled("time_ns", new Float64Array(rows)), end: filled("end_ns", new Float64Array(rows)), what, block, blocks } };
}

/** What happened between two times. */
export interface Summary {
  counts: Uint32Array;
  victims: number;
  valid: number;
  removable: number;
}

/** Count what happened between two times. */
export function summary({ start, what }: Operations, victims: Victims | null, from: number, to: number): Summary {
  const counts = new Uint32Array(READ + 1);
  const count = start.length;
  for (let row = 0; row < count; row++) {
    const begins = start[row]!;
    if (begins >= from && begins <= to) counts[what[row]!]!++;
  }
  const sum = { counts, victims: 0, valid: 0, removable: 0 };
  victims?.time.forEach((time, row) => {
    if (time < from || time > to) return;
    sum.victims += 1;
    sum.valid += victims.valid[row]!;
    sum.removable += victims.removable[row]!;
  });
  return sum;
}

/** Paint operations: time from left to right, blocks from top to bottom, a colour for each of `what`; what is painted later is above. */
export function paint(pixels: Uint32Array, width: number, height: number, operations: Operations, from: number, to: number, colours: Uint32Array): void {
  const { start, end, what, block, blocks } = operations;
  const [across, down] = [width / (to - from), height / blocks];
  const rows = Math.max(1, Math.floor(down));
  const count = start.length;
  for (let row = 0; row < count; row++) {
    const begins = start[row]!;
    const ends = end[row]!;
    if (ends < from || begins > to) continue;
    const first = begins < from ? 0 : ((begins - from) * across) | 0;
    const last = Math.min(width - 1, ((ends - from) * across) | 0);
    const colour = colours[what[row]!]!;
    const top = (block[row]! * down) | 0;
    for (let line = top; line < top + rows; line++) {
      for (let at = line * width + first; at <= line * width + last; at++) pixels[at] = colour;
    }
  }
}
