/** A drive of the page: its run, the course of what the chart shows, and its last victim. */

import { Kernel, type Metrics, type Numbers, type Victim } from "./kernel";
import { type Scene, sceneOf } from "./scene";

/** What the chart shows: programs of flash for each page that the host writes, or mean response times in milliseconds. */
export type Measure = "waf" | "response";

/** A point of the course: requests served, and the measure over those since the point before. */
export interface Point {
  requests: number;
  value: number;
}

/** The most points of a course, the newest, and the requests between two of them. */
const POINTS_MAX = 400;
const POINT_REQUESTS = 250;

/** Run a scenario to its end; returns its metrics. */
export async function finished(module: WebAssembly.Module, records: Uint8Array, scenario: string): Promise<object> {
  const kernel = await Kernel.of(module);
  kernel.bring(records);
  kernel.begin(scenario);
  return (JSON.parse(kernel.finish()) as { metrics: object }).metrics;
}

export class Drive {
  requests = 0;
  course: Point[] = [];
  lastVictim: Victim | null = null;
  private before: Numbers;

  private constructor(private readonly kernel: Kernel, private readonly measure: Measure) {
    this.before = kernel.numbers();
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
      const due = this.before.requests + POINT_REQUESTS - this.requests;
      const served = this.kernel.step(Math.min(left, due));
      left = served === 0 ? 0 : left - served;
      this.requests += served;
      if (served === due) this.addPoint();
      met = this.kernel.victims()[0] ?? met;
    }
    this.lastVictim = met ?? this.lastVictim;
    return met;
  }

  /** Serve one request; returns what GC did with a victim that it took meanwhile. */
  watch(): Scene | null {
    const { words, perBlock } = this.pages();
    const victim = this.step(1);
    return victim === null ? null : sceneOf(victim, words.subarray(victim.block * perBlock, (victim.block + 1) * perBlock), this.held());
  }

  numbers(): Numbers {
    return this.kernel.numbers();
  }

  metrics(): Metrics {
    return this.kernel.metrics();
  }

  /** The words of all pages, and the pages of a block. */
  pages(): { words: Uint32Array; perBlock: number } {
    return this.kernel.pages();
  }

  /** The words of the pages that another tier holds. */
  held(): Uint32Array {
    return this.kernel.held();
  }

  private addPoint(): void {
    const now = this.kernel.numbers();
    const value = this.measure === "waf" ? waf(this.before, now) : response(this.before, now);
    if (value !== null) this.course.push({ requests: now.requests, value });
    this.before = now;
    if (this.course.length > POINTS_MAX) this.course.shift();
  }
}

function waf(before: Numbers, now: Numbers): number | null {
  const written = now.host_writes_pages - before.host_writes_pages;
  return written === 0 ? null : (now.programs_pages - before.programs_pages) / written;
}

function response(before: Numbers, now: Numbers): number | null {
  const sum = ({ requests, response_mean_ns }: Numbers): number => requests * (response_mean_ns || 0);
  const requests = now.requests - before.requests;
  return requests === 0 ? null : (sum(now) - sum(before)) / requests / 1e6;
}
