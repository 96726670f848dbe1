/** A drive of the page: its run, the course of its write amplification, and its last victim. */

import { type Counters, Kernel, type Victim } from "./kernel";

/** A point of the course: requests served, and programs for each page written since the point before. */
export interface Point {
  requests: number;
  waf: number;
}

/** The most points of a course: then every second one goes, and each stands for twice as many requests. */
const POINTS_MAX = 240;

export class Drive {
  counters: Counters;
  course: Point[] = [];
  lastVictim: Victim | null = null;
  private readonly kernel: Kernel;
  private before: Counters;
  private requestsAPoint = 250;

  private constructor(kernel: Kernel) {
    this.kernel = kernel;
    this.counters = this.before = kernel.counters();
  }

  /** Begin a run. Throws an error that names what is wrong with the scenario. */
  static async begin(module: WebAssembly.Module, records: Uint8Array, scenario: string): Promise<Drive> {
    const kernel = await Kernel.of(module);
    kernel.bring(records);
    kernel.begin(scenario);
    return new Drive(kernel);
  }

  /** Serve the next requests; returns the victims that GC took meanwhile. */
  step(requests: number): Victim[] {
    let left = requests;
    while (left > 0) {
      const due = this.before.requests + this.requestsAPoint - this.counters.requests;
      const served = this.kernel.step(Math.min(left, due));
      left = served === 0 ? 0 : left - served;
      this.counters = this.kernel.counters();
      if (this.counters.requests - this.before.requests >= this.requestsAPoint) this.addPoint();
    }
    const victims = this.kernel.victims();
    this.lastVictim = victims.findLast((victim) => victim.pages.length > 0) ?? this.lastVictim;
    return victims;
  }

  /** The bytes of all pages, and the pages of a block. */
  pages(): { bytes: Uint8Array; perBlock: number } {
    return this.kernel.pages();
  }

  blocks(): Uint32Array {
    return this.kernel.blocks();
  }

  private addPoint(): void {
    const written = this.counters.host_writes_pages - this.before.host_writes_pages;
    const programs = this.counters.programs_pages - this.before.programs_pages;
    if (written > 0) this.course.push({ requests: this.counters.requests, waf: programs / written });
    this.before = this.counters;
    if (this.course.length > POINTS_MAX) {
      this.requestsAPoint *= 2;
      const pairs = this.course;
      this.course = [];
      for (let at = 0; at + 1 < pairs.length; at += 2) {
        const [first, second] = [pairs[at]!, pairs[at + 1]!];
        this.course.push({ requests: second.requests, waf: (first.waf + second.waf) / 2 });
      }
    }
  }
}
