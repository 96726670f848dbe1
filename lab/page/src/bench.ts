/** A bench: two drives, or three, side by side, with the same requests. They run and stand still together; a worker simulates them. */

import type { Snapshot } from "./drives";
import { type Palette, drawChart, palette } from "./draw";
import { compared, labelDrives, panels, said, tellBars, tellCopies, tellCounters, tellDivision } from "./panel";
import { number } from "./page";
import { HOLD_MS, SCENE_MS, type Scene, drawScene, isLater, isWhole, noteReturned, tally } from "./scene";
import { type Choices, SCHEMES, type Side, scenario } from "./scenario";
import { worker } from "./worker";

const COUNTERS_MS = 400;
/** How long the drives run between two scenes that begin by themselves. */
const BETWEEN_MS = 12_000;
/** How long the worker serves at a time, at full speed and towards a request that is asked for. */
const FRAME_MS = 12;
const SLICE_MS = 50;
/** Requests a second while pages that were dropped may return to flash. */
const LATER_RATE = 450;

export const still = matchMedia("(prefers-reduced-motion: reduce)");

interface Shown {
  side: Side;
  panel: HTMLElement;
  now: Snapshot;
  scene: Scene | null;
}

let benches = 0;

export class Bench {
  requests = 0;
  drives: readonly Shown[] = [];
  running = false;
  /** Requests a second; as many as the machine can, if infinite. */
  rate = 1000;
  /** The request at which the drives stop by themselves. */
  last = Number.POSITIVE_INFINITY;
  /** When the next scene begins by itself. */
  sceneDue = Number.POSITIVE_INFINITY;
  private id = 0;
  private turn = 0;
  private choices: Choices | null = null;
  /** What was asked of the worker, one after the other. */
  private queue = Promise.resolve();
  private asked = 0;
  private owed = 0;
  private shownSince = 0;
  /** When the scene of a victim began; 0 without one. */
  private sceneFrom = 0;
  private countersFrom = 0;
  private isStale = false;
  private colours: Palette = palette(document.documentElement);

  constructor(private readonly root: ParentNode, private readonly stopped = (): void => {}) {
    panels(root);
  }

  part<T extends Element = HTMLElement>(name: string): T {
    return this.root.querySelector<T>(`[data-part="${name}"]`)!;
  }

  /** Make the drives of choices anew, and serve requests. It may take long: the reader may stop it. Returns the problem of the reader's
   * score; null if other drives are asked for meanwhile. */
  async begin(choices: Choices, requests: number, goesOn = (_: number): boolean => true): Promise<string | null> {
    const [turn, id] = [++this.turn, ++benches];
    const sides: Side[] = choices.score ? ["left", "right", "own"] : ["left", "right"];
    const problem = await worker.begin(id, sides.map((side) => scenario(choices, side)), SCHEMES[choices.scheme].family.chart);
    let now: Snapshot[];
    do now = await worker.serve(id, requests - (now! ? now[0]!.requests : 0), SLICE_MS, true);
    while (turn === this.turn && now[0]!.requests < requests && goesOn(now[0]!.requests));
    if (turn !== this.turn) {
      void worker.end(id);
      return null;
    }
    void worker.end(this.id);
    this.id = id;
    this.choices = choices;
    this.drives = sides.slice(0, now.length).map((side, at) => ({ side, panel: this.root.querySelector(`[data-side="${side}"]`)!, now: now[at]!, scene: null }));
    this.owed = 0;
    this.endScene();
    labelDrives(this.root, choices);
    this.take(now);
    return problem;
  }

  /** Let all drives go; their pictures stay. */
  leave(): void {
    this.turn += 1;
    this.running = false;
    void worker.end(this.id);
    this.id = 0;
  }

  /** Let all drives serve the next requests. */
  async step(requests: number): Promise<void> {
    this.endScene();
    await this.then((id) => worker.serve(id, requests, Number.POSITIVE_INFINITY, true));
  }

  /** Go on until each drive has taken a victim that shows something. Their scenes begin. */
  async toVictim(): Promise<void> {
    const isTold = SCHEMES[this.choices!.scheme].family.tier !== "";
    this.sceneFrom = Number.POSITIVE_INFINITY;
    await this.then((id) => worker.toVictim(id, isTold));
    this.owed = 0;
    this.sceneFrom = performance.now();
    const [left, right] = this.drives.map(({ scene }) => said(scene?.victim ?? null));
    this.root.querySelector("#spoken")?.replaceChildren(`Victim. Left: ${left}. Right: ${right}.`);
    this.draw(0);
  }

  /** Ask the worker for something after all that was asked before, and show it. */
  private then(act: (id: number) => Promise<Snapshot[]>): Promise<void> {
    this.asked += 1;
    this.queue = this.queue.then(async () => {
      const { id } = this;
      const now = id > 0 ? await act(id) : [];
      this.asked -= 1;
      if (id === this.id && now.length > 0) this.take(now);
    });
    return this.queue;
  }

  private take(now: readonly Snapshot[]): void {
    this.drives.forEach((drive, at) => {
      drive.now = now[at]!;
      drive.scene = drive.now.scene ?? drive.scene;
      if (drive.scene && this.sceneFrom > 0) noteReturned(drive.scene, drive.now.words);
    });
    this.requests = now[0]!.requests;
    this.isStale = true;
  }

  /** Run, or stand still. It stands still when what was asked of the worker before is shown. */
  async run(on: boolean): Promise<void> {
    this.running = on;
    this.isStale = true;
    // A scene stands still where no motion is wanted: those who run it have seen it.
    if (on && still.matches) this.endScene();
    // Those who stop it have time to read all measures.
    if (!on && this.drives.length > 0) await this.then((id) => worker.serve(id, 0, 0, true));
  }

  /** Go on by a frame. */
  frame(now: number): void {
    if (this.drives.length === 0) return;
    if (this.sceneFrom > 0) this.playScene(now);
    else if (!this.running) this.shownSince = now;
    else if (this.requests >= this.last) {
      void this.run(false);
      this.stopped();
    } else if (now > this.sceneDue) void this.toVictim();
    else this.serveDue(now, this.rate, this.last - this.requests);
    if (this.isStale && this.sceneFrom === 0) this.draw();
    this.isStale = false;
  }

  /** Go on with the scenes of the victims; they stand still where the reader stands still. */
  private playScene(now: number): void {
    if (!Number.isFinite(this.sceneFrom)) return;
    const since = now - this.sceneFrom;
    const time = still.matches || !this.running ? Math.min(still.matches ? HOLD_MS : since, HOLD_MS) : since;
    if (isLater(time)) this.serveDue(now, LATER_RATE);
    else this.shownSince = now;
    this.draw(time);
    if (time < SCENE_MS) return;
    this.endScene();
    if (Number.isFinite(this.sceneDue)) this.sceneDue = now + BETWEEN_MS;
  }

  /** End the scenes of the victims, and what is said of them. */
  private endScene(): void {
    this.sceneFrom = 0;
    this.root.querySelector("#spoken")?.replaceChildren();
  }

  /** Whether there are drives that can go on. */
  get isOn(): boolean {
    return this.id > 0;
  }

  /** Serve as many requests as are due at a rate, unless the worker is still at work. */
  private serveDue(now: number, rate: number, most = Number.POSITIVE_INFINITY): void {
    if (this.asked > 0) return;
    const isFast = rate === Number.POSITIVE_INFINITY;
    this.owed = isFast ? 1e9 : Math.min(this.owed + ((now - this.shownSince) / 1000) * rate, rate, most);
    this.shownSince = now;
    const whole = Math.floor(this.owed);
    this.owed -= whole;
    const tells = now - this.countersFrom > COUNTERS_MS;
    if (whole > 0) void this.then((id) => worker.serve(id, whole, isFast ? FRAME_MS : SLICE_MS, tells));
  }

  /** Draw all drives, at a time of the scene if there is one. */
  draw(time = HOLD_MS): void {
    if (this.drives.length === 0) return;
    const { family } = SCHEMES[this.choices!.scheme];
    tellBars(this.drives);
    const hasCleaned = this.drives.every(({ now }) => now.numbers.victims > 0);
    for (const { side, panel, now, scene } of this.drives) {
      const shown = this.sceneFrom > 0 ? scene : null;
      const { gc_copies_pages: copied, wasted_pages: wasted } = now.numbers;
      panel.classList.toggle("whole", hasCleaned && (shown === null || isWhole(time)));
      const bars = hasCleaned ? panel.querySelector<HTMLElement>(".bars")!.offsetHeight : 0;
      drawScene(panel.querySelector("canvas")!, now, now.held, { scene: shown, time, lastBlock: now.lastVictim?.block ?? null, tier: family.tier, colours: this.colours, bars });
      tellCopies(panel, shown ? tally(shown, time) : { copied, wasted }, shown ? "of this block" : "so far");
      if (now.metrics === null) continue;
      this.countersFrom = performance.now();
      tellCounters(this.root, panel, side, now, now.metrics, this.choices!, !this.running);
      tellDivision(panel, side, now, now.metrics);
    }
    const [left, right] = [this.drives[0]!.now.numbers, this.drives[1]!.now.numbers];
    this.part("saved").textContent = compared(left, right, family.chart, this.drives[0]!.now.perBlock);
    this.part("requests").textContent = number(right.requests);
    const time_ = this.part<HTMLInputElement>("time");
    (time_.nextElementSibling as HTMLElement).textContent = number(right.requests);
    if (document.activeElement !== time_) time_.value = String(right.requests);
    this.drawCourse();
  }

  private drawCourse(): void {
    const chart = this.part<SVGSVGElement>("chart");
    drawChart(chart, this.drives.map(({ now }) => now.course));
    if (this.running) return;
    const last = this.drives.map(({ side, now }) => `${side} ${now.course.at(-1)?.value.toFixed(2) ?? "nothing yet"}`);
    chart.setAttribute("aria-label", `${this.part("chart-title").textContent}, after ${number(this.requests)} requests: ${last.join(", ")}`);
  }

  /** Draw in the colours that hold now. */
  recolour(): void {
    this.colours = palette(document.documentElement);
    this.draw();
  }
}
