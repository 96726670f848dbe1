/** A recorded run: the operations of flash, and the victims of GC, as `coflash run --operations --decisions` writes them. */

import { decompress } from "fzstd";
import { parquetMetadata, parquetRead, parquetSchema } from "hyparquet";
import { CAUSES, ERASE, READ } from "./causes";

/** Operations, by columns. */
export interface Operations {
  start: Float64Array;
  end: Float64Array;
  /** The cause of a program or copy by its place in `CAUSES`; or `ERASE`, or `READ`. */
  what: Uint8Array;
  /** 1 where a request may wait for the operation: a read or a program for the host, or for an eviction that makes room. */
  asked: Uint8Array;
  block: Uint32Array;
  blocks: number;
  /** The dies, which have as many blocks each, one die after the other. One die, where a block lies on all of them. */
  dies: number;
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
  const asked = what.map((cause) => Number(cause <= CAUSES.indexOf("evict")));
  const kinds = filled("kind", new Uint8Array(rows), (name) => (name === "erase" ? ERASE : name === "read" ? READ : 0));
  kinds.forEach((other, row) => { if (other > 0) what[row] = other;
    if (other === ERASE) asked[row] = 0;
  });
  const block = filled("block", new Uint32Array(rows));
  const blocks = block.reduce((most, one) => Math.max(most, one), 0) + 1;
  const about = (name: string): string | undefined => metadata.key_value_metadata?.find(({ key }) => key === name)?.value;
  const dies = Number(about("coflash_dies") ?? 1);
  const each = Number(about("coflash_blocks") ?? Math.ceil(blocks / dies) * dies);
  return { operations: { start: filled("time_ns", new Float64Array(rows)), end: filled("end_ns", new Float64Array(rows)), what, asked, block, blocks: each, dies } };
}

/** The operations of a served device that are kept; when there are more, the oldest quarter goes. */
export const KEPT = 1 << 20;
const VICTIMS_KEPT = 1 << 14;

/** What a served device does: its newest operations and victims, session after session. */
export class Kept {
  victims: Victims = { time: new Float64Array(), valid: new Uint32Array(), removable: new Uint32Array() };
  /** When power was cut, in order. */
  readonly cuts: number[] = [];
  newest = 0;
  private readonly columns = { start: new Float64Array(KEPT), end: new Float64Array(KEPT), what: new Uint8Array(KEPT), asked: new Uint8Array(KEPT), block: new Uint32Array(KEPT) };
  private count = 0;
  private about = { blocks: 1, dies: 1 };
  private session = "";
  /** When the power of the session came on. */
  private begun = 0;

  /** A session goes on, or begins: its times count from its power on. What was under way at a cut ended there. */
  goOn(session: string): void {
    if (this.session !== "" && session !== this.session) {
      const { end } = this.columns;
      for (let row = 0; row < this.count; row++) end[row] = Math.min(end[row]!, this.newest);
      this.cuts.push(this.newest);
      this.begun = this.newest;
    }
    this.session = session;
  }

  add({ start, end, what, asked, block, blocks, dies }: Operations): void {
    const { columns, begun } = this;
    if (this.count + start.length > KEPT) {
      const gone = Math.min(this.count, Math.max(KEPT / 4, this.count + start.length - KEPT));
      for (const column of Object.values(columns)) column.copyWithin(0, gone, this.count);
      this.count -= gone;
    }
    columns.start.set(start.map((time) => time + begun), this.count);
    columns.end.set(end.map((time) => time + begun), this.count);
    columns.what.set(what, this.count);
    columns.asked.set(asked, this.count);
    columns.block.set(block, this.count);
    this.count += start.length;
    this.about = { blocks, dies };
    this.newest = columns.start.subarray(this.count - start.length, this.count).reduce((last, time) => Math.max(last, time), this.newest);
  }

  addVictims({ time, valid, removable }: Victims): void {
    const joined = <T extends Float64Array | Uint32Array>(one: T, other: T): T => {
      const all = [...one, ...other].slice(-VICTIMS_KEPT);
      return (one instanceof Float64Array ? Float64Array.from(all) : Uint32Array.from(all)) as T;
    };
    const { victims, begun } = this;
    this.victims = { time: joined(victims.time, time.map((at) => at + begun)), valid: joined(victims.valid, valid), removable: joined(victims.removable, removable) };
  }

  /** The operations that are kept, in the order of their issue. */
  operations(): Operations {
    const { start, end, what, asked, block } = this.columns;
    const count = this.count;
    return { start: start.subarray(0, count), end: end.subarray(0, count), what: what.subarray(0, count), asked: asked.subarray(0, count), block: block.subarray(0, count), ...this.about };
  }
}

/** The operations that are under way between two times; all columns in their order. */
export function within(operations: Operations, from: number, to: number): Operations {
  const { start, end, what, asked, block } = operations;
  const rows: number[] = [];
  for (let row = 0; row < start.length; row++) if (end[row]! >= from && start[row]! <= to) rows.push(row);
  const picked = <T extends Float64Array | Uint32Array | Uint8Array>(column: T, into: T): T => {
    rows.forEach((row, at) => { into[at] = column[row]!; });
    return into;
  };
  const count = rows.length;
  return {
    ...operations,
    start: picked(start, new Float64Array(count)), end: picked(end, new Float64Array(count)), what: picked(what, new Uint8Array(count)),
    asked: picked(asked, new Uint8Array(count)), block: picked(block, new Uint32Array(count)),
  };
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

/** Return the row of the host's operation that takes longer than the share `quantile` of them, from what may begin between two
 * times; -1 if there is none. */
export function slow({ start, end, asked }: Operations, quantile: number, from: number, to: number): number {
  const rows = [...start.keys()].filter((row) => asked[row] === 1 && start[row]! >= from && start[row]! <= to);
  const times = Float64Array.from(rows, (row) => end[row]! - start[row]!).sort();
  const least = times[Math.min(times.length - 1, Math.floor(quantile * times.length))];
  return rows.find((row) => end[row]! - start[row]! === least) ?? -1;
}

/** Count what the die of an operation did while that waited or went on, without the operation itself. */
export function meanwhile(operations: Operations, row: number): Uint32Array {
  const { start, end, what, block, blocks, dies } = operations;
  const die = (at: number): number => Math.floor((block[at]! * dies) / blocks);
  const counts = new Uint32Array(READ + 1);
  const own = die(row);
  for (let other = 0; other < start.length; other++) {
    if (other !== row && end[other]! > start[row]! && end[other]! <= end[row]! && die(other) === own) counts[what[other]!]!++;
  }
  return counts;
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

/** Paint a strip of dies: time from left to right, a band for each die, from the bottom up filled by what the die was busy with, by the
 * share of time; what is above was idle. A die does one operation after the other: one that waits for its die begins when that is free. */
export function strip(pixels: Uint32Array, width: number, height: number, operations: Operations, from: number, to: number, colours: Uint32Array): void {
  const { dies } = operations;
  const shares = busy(operations, from, to, width);
  const band = height / dies;
  for (let die = 0; die < dies; die++) {
    const [top, bottom] = [Math.round(die * band) + (die > 0 ? 1 : 0), Math.round((die + 1) * band)];
    for (let at = 0; at < width; at++) {
      let filled = 0;
      for (let what = 0; what <= READ; what++) {
        const begins = filled;
        filled = Math.min(1, filled + shares[(die * width + at) * (READ + 1) + what]!);
        for (let line = Math.round(bottom - filled * (bottom - top)); line < Math.round(bottom - begins * (bottom - top)); line++) pixels[line * width + at] = colours[what]!;
      }
    }
  }
}

/** The shares of the columns of a picture in which each die was busy with each of `what`. */
export function busy({ start, end, what, block, blocks, dies }: Operations, from: number, to: number, columns: number): Float64Array {
  const shares = new Float64Array(dies * columns * (READ + 1));
  const free = new Float64Array(dies).fill(Number.NEGATIVE_INFINITY);
  const across = columns / (to - from);
  start.forEach((begins, row) => {
    const die = Math.floor((block[row]! * dies) / blocks);
    const [first, last] = [(Math.max(begins, free[die]!, from) - from) * across, (Math.min(end[row]!, to) - from) * across];
    free[die] = Math.max(free[die]!, end[row]!);
    for (let at = Math.floor(first); at < last && at < columns; at++) shares[(die * columns + at) * (READ + 1) + what[row]!]! += Math.min(last, at + 1) - Math.max(first, at);
  });
  return shares;
}
