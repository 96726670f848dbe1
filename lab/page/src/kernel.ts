/** An instance of the kernel: a run that goes on step by step. See lab/core/src/browser.rs. */

interface Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  output(): number;
  output_length(): number;
  ask(what: number, requests: number): number;
}

/** What an instance is asked for, by number. */
const ASKS = ["bring", "begin", "step", "numbers", "metrics", "pages", "held", "victims", "finish"] as const;
const FAILED = 0xffffffff;

/** What becomes of a valid page of a victim. */
export type Answer = "copied" | "dropped" | "from-buffer" | "fast" | "moved-in";

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
  constructor(private readonly exports: Exports) {}

  /** Begin the run of a scenario, on an instance of a compiled module; it has records in place of a trace, of 12 bytes each: see
   * lab/core/src/recorded.rs. Throws an error that names what is wrong. */
  static async of<T extends Kernel>(this: new (exports: Exports) => T, module: WebAssembly.Module, records: Uint8Array, scenario: string): Promise<T> {
    const kernel = new this((await WebAssembly.instantiate(module, {})).exports as unknown as Exports);
    kernel.put(records);
    kernel.ask("bring");
    kernel.put(new TextEncoder().encode(scenario));
    kernel.ask("begin");
    return kernel;
  }

  /** Serve the next requests; returns how many there were. */
  advance(requests: number): number {
    return this.ask("step", requests);
  }

  numbers(): Numbers {
    this.ask("numbers");
    const numbers = new Float64Array(this.output().slice().buffer);
    return Object.fromEntries(NUMBERS.map((name, at) => [name, numbers[at]!])) as Numbers;
  }

  metrics(): Metrics {
    this.ask("metrics");
    return JSON.parse(this.text()) as Metrics;
  }

  /** A word for each page, and the pages of a block. */
  pages(): { words: Uint32Array; perBlock: number } {
    return this.words("pages");
  }

  /** A word for each page that another tier holds. */
  held(): Uint32Array {
    return this.words("held").words;
  }

  /** The victims since the last call that had valid pages. */
  victims(): Victim[] {
    this.ask("victims");
    return (JSON.parse(this.text()) as Victim[]).filter(({ pages }) => pages.length > 0);
  }

  /** Serve what is left; returns the result document as text. */
  finish(): string {
    this.ask("finish");
    return this.text();
  }

  private put(bytes: Uint8Array): void {
    const place = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, place, bytes.length).set(bytes);
  }

  private output(): Uint8Array {
    return new Uint8Array(this.exports.memory.buffer, this.exports.output(), this.exports.output_length());
  }

  private words(what: "pages" | "held"): { words: Uint32Array; perBlock: number } {
    const perBlock = this.ask(what);
    return { words: new Uint32Array(this.output().slice().buffer), perBlock };
  }

  private text(): string {
    return new TextDecoder().decode(this.output());
  }

  private ask(what: (typeof ASKS)[number], requests = 0): number {
    const answer = this.exports.ask(ASKS.indexOf(what), requests) >>> 0;
    if (answer === FAILED) throw new Error(this.text());
    return answer;
  }
}
