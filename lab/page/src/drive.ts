/** A drive of the page: its run, the course of what the chart shows, and its last victim. */

import { Kernel, type Numbers, type Victim } from "./kernel";
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
  const kernel = await Kernel.of(module, records, scenario);
  return (JSON.parse(kernel.finish()) as { metrics: object }).metrics;
}

export class Drive extends Kernel {
  requests = 0;
  course: Point[] = [];
  lastVictim: Victim | null = null;
  private before: Numbers | null = null;
  private measure: Measure = "waf";

  /** Begin a run. Throws an error that names what is wrong with the scenario. */
  static async open(module: WebAssembly.Module, records: Uint8Array, scenario: string, measure: Measure): Promise<Drive> {
    const drive = await Drive.of(module, records, scenario);
    [drive.before, drive.measure] = [drive.numbers(), measure];
    return drive;
  }

  /** Serve the next requests; returns the last victim with valid pages that GC took meanwhile. */
  step(requests: number): Victim | null {
    let left = requests;
    let met: Victim | null = null;
    while (left > 0) {
      const due = this.before!.requests + POINT_REQUESTS - this.requests;
      const served = this.advance(Math.min(left, due));
      left = served === 0 ? 0 : left - served;
      this.requests += served;
      if (served === due) this.addPoint();
      met = this.victims().at(-1) ?? met;
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

  private addPoint(): void {
    const now = this.numbers();
    const value = this.measure === "waf" ? waf(this.before!, now) : response(this.before!, now);
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
