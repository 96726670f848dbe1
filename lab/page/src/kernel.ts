/** An instance of the kernel: a run that goes on step by step. See lab/core/src/browser.rs. */

interface Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  output(): number;
  output_length(): number;
  bring_records(): number;
  begin(): number;
  step(requests: number): number;
  look(what: number): number;
  finish(): number;
}

const FAILED = 0xffffffff;

/** What becomes of a valid page of a victim. */
export type Answer = "copied" | "dropped" | "from-buffer" | "fast" | "moved-in";
const ANSWERS: readonly Answer[] = ["copied", "dropped", "from-buffer", "fast", "moved-in"];

/** A victim of GC, the answers for its valid pages, and what another tier holds of each: nothing, the same data, or newer data. */
export interface Victim {
  block: number;
  pages: { index: number; answer: Answer; held: number }[];
}

/** The numbers of a run so far that go with each picture; see `Lab::numbers` in lab/core/src/lab.rs. */
const NUMBERS = ["requests", "victims", "host_writes_pages", "programs_pages", "waf_host", "response_mean_ns", "gc_copies_pages", "wasted_pages"] as const;
export type Numbers = Record<(typeof NUMBERS)[number], number>;

/** The metrics of a run so far, by the names of a result. */
export type Metrics = Record<string, unknown> & { gc_copies_pages: number; gc_drops_pages: number };

export class Kernel {
  protected constructor(private readonly exports: Exports) {}

  /** Make an instance of a compiled module. */
  static async of(module: WebAssembly.Module): Promise<Kernel> {
    return new Kernel(await Kernel.instance(module));
  }

  protected static async instance(module: WebAssembly.Module): Promise<Exports> {
    return (await WebAssembly.instantiate(module, {})).exports as unknown as Exports;
  }

  /** Take records in place of a trace: 12 bytes each, see lab/core/src/recorded.rs. */
  bring(records: Uint8Array): void {
    this.put(records);
    this.checked(this.exports.bring_records());
  }

  /** Begin the run of a scenario. Throws an error that names what is wrong. */
  begin(scenario: string): void {
    this.put(new TextEncoder().encode(scenario));
    this.checked(this.exports.begin());
  }

  /** Serve the next requests; returns how many there were. */
  advance(requests: number): number {
    return this.checked(this.exports.step(requests));
  }

  numbers(): Numbers {
    this.checked(this.exports.look(0));
    const numbers = new Float64Array(this.output().slice().buffer);
    return Object.fromEntries(NUMBERS.map((name, at) => [name, numbers[at]!])) as Numbers;
  }

  metrics(): Metrics {
    this.checked(this.exports.look(1));
    return JSON.parse(this.text()) as Metrics;
  }

  /** A word for each page, and the pages of a block. */
  pages(): { words: Uint32Array; perBlock: number } {
    return this.words(2);
  }

  /** A word for each page that another tier holds. */
  held(): Uint32Array {
    return this.words(3).words;
  }

  /** The victims since the last call that had valid pages; the last one alone, if no more are asked for. */
  victims(most = 1): Victim[] {
    const { words } = this.words(4);
    const places: number[] = [];
    for (let at = 0; at < words.length; at += 2 + words[at + 1]!) if (words[at + 1]! > 0) places.push(at);
    return places.slice(-most).map((at) => ({
      block: words[at]!,
      pages: Array.from(words.subarray(at + 2, at + 2 + words[at + 1]!), (word) => ({ index: word & 0xffffff, answer: ANSWERS[(word >>> 24) & 15]!, held: word >>> 28 })),
    }));
  }

  /** Serve what is left; returns the result document as text. */
  finish(): string {
    this.checked(this.exports.finish());
    return this.text();
  }

  private put(bytes: Uint8Array): void {
    const place = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, place, bytes.length).set(bytes);
  }

  private output(): Uint8Array {
    return new Uint8Array(this.exports.memory.buffer, this.exports.output(), this.exports.output_length());
  }

  private words(what: number): { words: Uint32Array; perBlock: number } {
    const perBlock = this.checked(this.exports.look(what));
    return { words: new Uint32Array(this.output().slice().buffer), perBlock };
  }

  private text(): string {
    return new TextDecoder().decode(this.output());
  }

  private checked(answer: number): number {
    if (answer >>> 0 === FAILED) throw new Error(this.text());
    return answer >>> 0;
  }
}
