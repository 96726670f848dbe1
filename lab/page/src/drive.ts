/** A drive of the page: its run, the course of what the chart shows, and its last victim. */

import { type Counters, Kernel, type Victim } from "./kernel";

/** What the chart shows: programs of flash for each page that the host writes, or mean response times in milliseconds. */
export type Measure = "waf" | "response";

/** A point of the course: requests served, and the measure over those since the point before. */
export interface Point {
  requests: number;
  value: number;
}

/** The most points of a course: then every second one goes, and each stands for twice as many requests. */
const POINTS_MAX = 240;

/** Run a scenario to its end; returns its metrics. */
export async function finished(module: WebAssembly.Module, records: Uint8Array, scenario: string): Promise<object> {
  const kernel = await Kernel.of(module);
  kernel.bring(records);
  kernel.begin(scenario);
  return (JSON.parse(kernel.finish()) as { metrics: object }).metrics;
}

export class Drive {
  counters: Counters;
  course: Point[] = [];
  lastVictim: Victim | null = null;
  private readonly kernel: Kernel;
  private before: Counters;
  private requestsAPoint = 250;

  private constructor(kernel: Kernel, private readonly measure: Measure) {
    this.kernel = kernel;
    this.counters = this.before = kernel.counters();
  }

  /** Begin a run. Throws an error that names what is wrong with the scenario. */
  static async begin(module: WebAssembly.Module, records: Uint8Array, scenario: string, measure: Measure): Promise<Drive> {
    const kernel = await Kernel.of(module);
    kernel.bring(records);
    kernel.begin(scenario);
    return new Drive(kernel, measure);
  }

  /** Serve the next requests; returns the last victim with valid pages that GC took meanwhile. */
  step(requests: number): Victim | null {
    let left = requests;
    let met: Victim | null = null;
    while (left > 0) {
      const due = this.before.requests + this.requestsAPoint - this.counters.requests;
      const served = this.kernel.step(Math.min(left, due));
      left = served === 0 ? 0 : left - served;
      this.counters = this.kernel.counters();
      if (this.counters.requests - this.before.requests >= this.requestsAPoint) this.addPoint();
      met = this.kernel.lastVictim() ?? met;
    }
    this.lastVictim = met ?? this.lastVictim;
    return met;
  }

  /** The bytes of all pages, and the pages of a block. */
  pages(): { bytes: Uint8Array; perBlock: number } {
    return this.kernel.pages();
  }

  private addPoint(): void {
    const value = this.measure === "waf" ? this.waf() : this.response();
    if (value !== null) this.course.push({ requests: this.counters.requests, value });
    this.before = this.counters;
    if (this.course.length > POINTS_MAX) {
      this.requestsAPoint *= 2;
      const pairs = this.course;
      this.course = [];
      for (let at = 0; at + 1 < pairs.length; at += 2) {
        const [first, second] = [pairs[at]!, pairs[at + 1]!];
        this.course.push({ requests: second.requests, value: (first.value + second.value) / 2 });
      }
    }
  }

  private waf(): number | null {
    const written = this.counters.host_writes_pages - this.before.host_writes_pages;
    return written === 0 ? null : (this.counters.programs_pages - this.before.programs_pages) / written;
  }

  private response(): number | null {
    const sum = ({ requests, response_mean_ns }: Counters): number => requests * (response_mean_ns ?? 0);
    const requests = this.counters.requests - this.before.requests;
    return requests === 0 ? null : (sum(this.counters) - sum(this.before)) / requests / 1e6;
  }
}
