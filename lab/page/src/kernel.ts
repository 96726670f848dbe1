/** An instance of the kernel: a run that goes on step by step. See lab/core/src/browser.rs. */

interface Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  output(): number;
  output_length(): number;
  bring_records(): number;
  begin(): number;
  step(requests: number): number;
  numbers(): number;
  metrics(): number;
  pages(): number;
  held(): number;
  victims(): number;
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
  private constructor(private readonly exports: Exports) {}

  /** Make an instance of a compiled module. */
  static async of(module: WebAssembly.Module): Promise<Kernel> {
    const instance = await WebAssembly.instantiate(module, {});
    return new Kernel(instance.exports as unknown as Exports);
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
  step(requests: number): number {
    return this.checked(this.exports.step(requests));
  }

  numbers(): Numbers {
    this.checked(this.exports.numbers());
    const numbers = new Float64Array(this.output().slice().buffer);
    return Object.fromEntries(NUMBERS.map((name, at) => [name, numbers[at]!])) as Numbers;
  }

  metrics(): Metrics {
    this.checked(this.exports.metrics());
    return JSON.parse(this.text()) as Metrics;
  }

  /** A word for each page, and the pages of a block. */
  pages(): { words: Uint32Array; perBlock: number } {
    const perBlock = this.checked(this.exports.pages());
    return { words: this.words(), perBlock };
  }

  /** A word for each page that another tier holds. */
  held(): Uint32Array {
    this.checked(this.exports.held());
    return this.words();
  }

  /** The last victim since the last call that had valid pages. */
  lastVictim(): Victim | null {
    this.checked(this.exports.victims());
    const words = this.words();
    let last = -1;
    for (let at = 0; at < words.length; at += 2 + words[at + 1]!) if (words[at + 1]! > 0) last = at;
    if (last < 0) return null;
    const pages = Array.from(words.subarray(last + 2, last + 2 + words[last + 1]!), (word) => ({
      index: word & 0xffffff,
      answer: ANSWERS[(word >>> 24) & 15]!,
      held: word >>> 28,
    }));
    return { block: words[last]!, pages };
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

  private words(): Uint32Array {
    return new Uint32Array(this.output().slice().buffer);
  }

  private text(): string {
    return new TextDecoder().decode(this.output());
  }

  private checked(answer: number): number {
    if (answer >>> 0 === FAILED) throw new Error(this.text());
    return answer >>> 0;
  }
}
