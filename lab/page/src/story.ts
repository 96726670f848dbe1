/** A story as a column of figures: each one is a bench in the state of a step, which begins when it is seen and goes back and forth. */

import { write } from "./address";
import { Bench, still } from "./bench";
import { $, number } from "./page";
import type { State } from "./address";
import { SCHEMES } from "./scenario";
import { STORIES, type Step, type Story } from "./stories";

/** How much of a figure is seen when it begins. */
const SEEN = 0.3;
/** The requests before its state from which a figure runs to it. */
const LEAD_REQUESTS = 1500;

let shown = "";
let figures: Figure[] = [];

/** Show the story of a state, at its step; none where the state has none. */
export function showStory({ story: name, step }: State): void {
  const story = STORIES[name];
  $("#story").hidden = story === undefined;
  if (name !== shown) {
    figures.forEach((figure) => { figure.end(); });
    figures = [];
    $("#figures").replaceChildren();
    shown = name;
    if (story) build(name, story);
  }
  figures[step]?.place.scrollIntoView({ block: "start" });
}

function build(name: string, story: Story): void {
  $("#story-title").textContent = `${story.title} · ${story.paper}`;
  figures = story.steps.map((step, at) => new Figure(name, story, step, at));
  $("#figures").replaceChildren(...figures.map(({ place }) => place));
}

/** The benches of the figures. */
export const storyBenches = (): readonly Bench[] => figures.map(({ bench }) => bench);

class Figure {
  readonly place: HTMLElement;
  readonly bench: Bench;
  /** The request that is asked for; where it goes by itself at first. */
  private wanted: number;
  private isSeeking = false;
  private readonly observer: IntersectionObserver;

  constructor(story: string, { steps }: Story, private readonly step: Step, at: number) {
    this.place = ($<HTMLTemplateElement>("#figure").content.cloneNode(true) as DocumentFragment).firstElementChild as HTMLElement;
    this.place.id = `${story}-${at + 1}`;
    this.bench = new Bench(this.place, () => { this.told(); });
    const { bench } = this;
    bench.part("step").textContent = `${at + 1} of ${steps.length}`;
    bench.part("title").textContent = step.title;
    bench.part("text").textContent = step.text;
    bench.part("take").setAttribute("href", write({ choices: step.choices, requests: step.requests, story: "", step: 0 }));
    for (const [part, focus] of [["course", "chart"], ["numbers", "counters"]] as const) bench.part(part).hidden = !step.focus.includes(focus);
    const time = bench.part<HTMLInputElement>("time");
    time.setAttribute("aria-label", `Requests of figure ${at + 1}`);
    time.addEventListener("input", () => { void this.seek(Number(time.value)); });
    bench.part("play").addEventListener("click", () => { void this.play(); });
    this.wanted = step.requests;
    this.observer = new IntersectionObserver(([entry]) => { void (entry!.isIntersecting ? this.enter() : bench.leave()); }, { threshold: SEEN });
    this.observer.observe(this.place);
  }

  end(): void {
    this.observer.disconnect();
    this.bench.leave();
  }

  /** Begin when it is seen. */
  private async enter(): Promise<void> {
    await (still.matches || this.step.requests === 0 ? this.goTo(this.wanted) : this.play());
  }

  /** Run to the state of the step; where a victim is the point, meet one there. */
  private async play(): Promise<void> {
    const { bench, step } = this;
    const showsVictim = step.focus.includes("victims");
    await this.goTo(showsVictim ? step.requests : Math.max(0, step.requests - LEAD_REQUESTS));
    bench.last = showsVictim ? 0 : step.requests;
    void bench.run(!still.matches);
    if (showsVictim) await bench.toVictim();
  }

  /** Go to a request, forth or back; of several that are asked for meanwhile to the last one. */
  private async seek(requests: number): Promise<void> {
    this.wanted = requests;
    void this.bench.run(false);
    if (this.isSeeking) return;
    this.isSeeking = true;
    while (this.bench.requests !== this.wanted) await this.goTo(this.wanted);
    this.isSeeking = false;
  }

  private async goTo(requests: number): Promise<void> {
    const { bench, step } = this;
    this.wanted = requests;
    if (bench.isOn && requests >= bench.requests) await bench.step(requests - bench.requests);
    else await bench.begin({ ...step.choices, score: "" }, requests);
    this.told();
  }

  /** Put the number of the paper beside ours. */
  private told(): void {
    const { step: { paper, choices }, bench } = this;
    if (paper === undefined || bench.drives.length === 0) return;
    const [left, right] = bench.drives.map(({ now }) => now.numbers[paper.measure]) as [number, number];
    const less = Math.round((100 * (left - right)) / left);
    bench.part("beside").textContent = `${paper.says} Here, after ${number(bench.requests)} requests: ${Math.abs(less)} % ${less < 0 ? "more" : "less"} with ${SCHEMES[choices.scheme].title}. ${paper.why}`;
  }
}
