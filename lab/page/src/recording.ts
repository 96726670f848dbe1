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
  /** 1 where a request may wait for the operation: a read or a program for the host, or for an eviction that makes room. */
  asked: Uint8Array;
  block: Uint32Array;
  blocks: number;
  /** The dies, which have as many blocks each, one die after the other. One die, where a block lies on all of them. */
  dies: number;
}

/** The victims that GC picked, by columns. */
export interface Victims {
  time: number[];
  valid: number[];
  removable: number[];
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
    const of = (name: string): number[] => [...filled(name, new Float64Array(rows))].filter(picked);
    return { victims: { time: of("time_ns"), valid: of("valid"), removable: of("removable") } };
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

/** The operations of a served device that are kept; when there are more, the oldest parts go. */
export const KEPT = 1 << 20;
const VICTIMS_KEPT = 1 << 14;

/** What a served device does: its newest operations and victims, session after session. */
export class Kept {
  victims: Victims = { time: [], valid: [], removable: [] };
  /** When power was cut, in order. */
  readonly cuts: number[] = [];
  newest = 0;
  private parts: Operations[] = [];
  private session = "";
  /** When the power of the session came on. */
  private begun = 0;

  /** A session goes on, or begins: its times count from its power on. What was under way at a cut ended there. */
  goOn(session: string): void {
    if (this.session !== "" && session !== this.session) {
      for (const { end } of this.parts) end.forEach((time, row) => { end[row] = Math.min(time, this.newest); });
      this.cuts.push(this.newest);
      this.begun = this.newest;
    }
    this.session = session;
  }

  add(part: Operations): void {
    const since = (time: number): number => time + this.begun;
    const [start, end] = [part.start.map(since), part.end.map(since)];
    this.parts.push({ ...part, start, end });
    this.newest = start.reduce((last, time) => Math.max(last, time), this.newest);
    let count = this.parts.reduce((sum, { start }) => sum + start.length, 0);
    while (count > KEPT) count -= this.parts.shift()!.start.length;
  }

  addVictims(more: Victims): void {
    const joined = (one: number[], other: number[]): number[] => [...one, ...other].slice(-VICTIMS_KEPT);
    const { time, valid, removable } = this.victims;
    this.victims = { time: joined(time, more.time.map((at) => at + this.begun)), valid: joined(valid, more.valid), removable: joined(removable, more.removable) };
  }

  /** The operations that are kept, in the order of their issue. */
  operations(): Operations {
    const { parts } = this;
    const { blocks, dies } = parts.at(-1) ?? { blocks: 1, dies: 1 };
    return {
      start: joined(parts.map(({ start }) => start), Float64Array), end: joined(parts.map(({ end }) => end), Float64Array), what: joined(parts.map(({ what }) => what), Uint8Array),
      asked: joined(parts.map(({ asked }) => asked), Uint8Array), block: joined(parts.map(({ block }) => block), Uint32Array), blocks, dies,
    };
  }
}

type Column = Float64Array | Uint32Array | Uint8Array;

function joined<T extends Column>(parts: readonly T[], kind: new (length: number) => T): T {
  const all = new kind(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The operations that are under way between two times. */
export function within(operations: Operations, from: number, to: number): Operations {
  const { start, end, what, asked, block } = operations;
  const inside = (_: number, row: number): boolean => end[row]! >= from && start[row]! <= to;
  return { ...operations, start: start.filter(inside), end: end.filter(inside), what: what.filter(inside), asked: asked.filter(inside), block: block.filter(inside) };
}

/** Count what happened between two times, and the victims with their pages. */
export function summary({ start, what }: Operations, victims: Victims | null, from: number, to: number) {
  const counts = new Uint32Array(READ + 1);
  start.forEach((begins, row) => { if (begins >= from && begins <= to) counts[what[row]!]!++; });
  const picked = [...(victims?.time ?? []).entries()].filter(([, time]) => time >= from && time <= to);
  const sum = (pages: number[] | undefined): number => picked.reduce((all, [row]) => all + pages![row]!, 0);
  return { counts, victims: picked.length, valid: sum(victims?.valid), removable: sum(victims?.removable) };
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
export function paint(context: CanvasRenderingContext2D, operations: Operations, from: number, to: number, colours: readonly string[]): void {
  const { start, end, what, block, blocks } = operations;
  const [across, down] = [context.canvas.width / (to - from), context.canvas.height / blocks];
  start.forEach((begins, row) => {
    context.fillStyle = colours[what[row]!]!;
    context.fillRect((begins - from) * across, Math.floor(block[row]! * down), Math.max(1, (end[row]! - begins) * across), Math.max(1, Math.floor(down)));
  });
}

/** Paint a strip of dies: time from left to right, a band for each die, from the bottom up filled by what the die was busy with, by the
 * share of time; what is above was idle. A die does one operation after the other: one that waits for its die begins when that is free. */
export function strip(context: CanvasRenderingContext2D, operations: Operations, from: number, to: number, colours: readonly string[]): void {
  const { canvas: { width, height } } = context;
  const band = height / operations.dies;
  busy(operations, from, to, width).forEach((columns, die) => {
    columns.forEach((shares, at) => {
      let top = (die + 1) * band;
      shares.forEach((share, what) => {
        context.fillStyle = colours[what]!;
        if (share > 0) context.fillRect(at, top -= share * (band - 1), 1, share * (band - 1));
      });
    });
  });
}

/** The shares of the columns of a picture in which each die was busy with each of `what`. */
export function busy({ start, end, what, block, blocks, dies }: Operations, from: number, to: number, columns: number): number[][][] {
  const shares = Array.from({ length: dies }, () => Array.from({ length: columns }, (): number[] => Array(READ + 1).fill(0)));
  const free = new Float64Array(dies).fill(Number.NEGATIVE_INFINITY);
  const across = columns / (to - from);
  start.forEach((begins, row) => {
    const die = Math.floor((block[row]! * dies) / blocks);
    const [first, last] = [(Math.max(begins, free[die]!, from) - from) * across, (Math.min(end[row]!, to) - from) * across];
    free[die] = Math.max(free[die]!, end[row]!);
    for (let at = Math.floor(first); at < last && at < columns; at++) shares[die]![at]![what[row]!]! += Math.min(last, at + 1) - Math.max(first, at);
  });
  return shares;
}
