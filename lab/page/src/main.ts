/** The page: two drives that write the same data, and the controls. */

import { type State, read, write } from "./address";
import { Drive } from "./drive";
import { type Palette, drawChart, drawDrive, drawVictim, palette } from "./draw";
import type { Victim } from "./kernel";
import { type Choices, SCHEMES, type SchemeName, type Side, WORKLOADS, type WorkloadName, scenario } from "./scenario";
import { STORIES, type Step } from "./stories";

declare const MODULE: string;
declare const RECORDS: string;

/** Requests a second. The last is as many as the machine can. */
const SPEEDS = [1, 10, 100, 1000, 10_000, Number.POSITIVE_INFINITY] as const;
const FIRST_SPEED = 3;
/** When the page first slows down on a victim, and how long it shows it. */
const FIRST_VICTIM_MS = 5000;
const VICTIM_MS = 4500;
/** Requests in a frame at full speed grow and shrink until a frame takes this long. */
const FRAME_MS = 12;

const $ = <T extends Element = HTMLElement>(selector: string): T => document.querySelector<T>(selector)!;
const still = matchMedia("(prefers-reduced-motion: reduce)");
const number = (value: number): string => value.toLocaleString("en");

interface Shown {
  side: Side;
  drive: Drive;
  canvas: HTMLCanvasElement;
  victim: HTMLCanvasElement;
}

let module: WebAssembly.Module;
let records: Uint8Array;
let state: State = read(location.hash);
let drives: Shown[] = [];
let colours: Palette;
let running = !still.matches;
let speed = FIRST_SPEED;
let owed = 0;
let burst = 500;
let shownSince = 0;
/** Until when the drives stand still for a victim; 0 if they do not. */
let victimFrom = 0;
let victimSeen = false;
let startedAt = 0;
let building = 0;

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

async function unpacked(base64: string): Promise<Uint8Array> {
  const stream = new Blob([bytesOf(base64) as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Make the drives of the choices anew, at the request of the state. */
async function rebuild(): Promise<void> {
  const turn = ++building;
  const sides: Side[] = state.choices.score ? ["left", "right", "own"] : ["left", "right"];
  const made: Shown[] = [];
  let problem = "";
  for (const side of sides) {
    try {
      const drive = await Drive.begin(module, records, scenario(state.choices, side));
      if (state.requests > 0) drive.step(state.requests);
      const panel = $(`#${side}`);
      made.push({ side, drive, canvas: panel.querySelector("canvas.drive")!, victim: panel.querySelector("canvas.victim")! });
    } catch (error) {
      if (side !== "own") throw error;
      problem = (error as Error).message.replace(/^.*?gc\.victim[^:]*: /s, "");
    }
  }
  if (turn !== building) return;
  drives = made;
  $("#own").hidden = made.length < 3;
  $("#score-problem").textContent = problem;
  $("#score").setAttribute("aria-invalid", String(problem !== ""));
  [owed, victimFrom] = [0, 0];
  label();
  draw(1);
}

function label(): void {
  const { choices } = state;
  const scheme = SCHEMES[choices.scheme];
  $("#left-title").textContent = scheme.family.leftTitle;
  $("#right-title").textContent = scheme.title;
  $("#right-says").textContent = scheme.says;
  $("#tier").textContent = scheme.family.tier;
  $<HTMLSelectElement>("#workload").value = choices.workload;
  $<HTMLSelectElement>("#scheme").value = choices.scheme;
  $<HTMLInputElement>("#cache").value = String(choices.cache);
  $("#cache-value").textContent = `${choices.cache} %`;
  $<HTMLInputElement>("#score").value = choices.score;
  $<HTMLTextAreaElement>("#toml").value = scenario(choices, "right");
  $("#workload-says").textContent = WORKLOADS[choices.workload].says;
}

/** What became of a victim, in words. */
function said(victim: Victim | null): string {
  if (victim === null) return "no victim yet";
  const count = (answer: string): number => victim.pages.filter((page) => page.answer === answer).length;
  const [copied, dropped, buffer, fast] = [count("copied"), count("dropped"), count("from-buffer"), count("fast")];
  return [
    `${copied} copied`,
    dropped > 0 ? `${dropped} dropped: in the cache` : "",
    buffer > 0 ? `${buffer} written from the buffer` : "",
    fast > 0 ? `${fast} to a fast block` : "",
  ].filter(Boolean).join(", ");
}

function draw(shown: number): void {
  if (drives.length === 0) return;
  for (const { side, drive, canvas, victim } of drives) {
    const pages = drive.pages();
    drawDrive(canvas, pages, drive.lastVictim?.block ?? null, colours);
    drawVictim(victim, drive.lastVictim, pages.perBlock, shown, colours);
    const { counters } = drive;
    const waf = counters.waf_host?.toFixed(2) ?? "–";
    $(`#${side}-waf`).textContent = waf;
    $(`#${side}-copies`).textContent = number(counters.metrics.gc_copies_pages);
    $(`#${side}-drops`).textContent = number(counters.metrics.gc_drops_pages);
    $(`#${side}-victim`).textContent = said(drive.lastVictim);
    if (!running) canvas.setAttribute("aria-label", `${side} drive: write amplification ${waf}; last victim: ${said(drive.lastVictim)}`);
  }
  const [left, right] = [drives[0]!.drive.counters, drives[1]!.drive.counters];
  const saved = left.programs_pages - right.programs_pages;
  const share = left.programs_pages > 0 ? (100 * saved) / left.programs_pages : 0;
  $("#saved").textContent = saved >= 0
    ? `${number(saved)} programs of flash saved: ${share.toFixed(0)} % of those on the left`
    : `${number(-saved)} programs of flash more than on the left`;
  $("#requests").textContent = number(right.requests);
  drawChart($<HTMLCanvasElement>("#chart"), drives.map(({ side, drive }) => ({ name: side, course: drive.course })), colours);
}

function remember(): void {
  state = { ...state, requests: drives[0]?.drive.counters.requests ?? 0 };
  history.replaceState(null, "", write(state));
}

/** Let all drives serve the next requests. Returns whether the right one met a victim. */
function step(requests: number): boolean {
  let met = false;
  for (const { side, drive } of drives) {
    const victims = drive.step(requests);
    met ||= side === "right" && victims.some((victim) => victim.pages.length > 0);
  }
  return met;
}

/** Go on until the right drive takes a victim that cooperation spares a copy, if one comes soon. */
function toVictim(): void {
  for (let tries = 0; tries < 4000; tries++) {
    if (step(1) && (drives[1]!.drive.lastVictim?.pages.some((page) => page.answer !== "copied") || tries > 2000)) break;
  }
  victimFrom = performance.now();
  victimSeen = true;
  $("#spoken").textContent = `Victim. Left: ${said(drives[0]!.drive.lastVictim)}. Right: ${said(drives[1]!.drive.lastVictim)}.`;
  document.body.classList.add("victim");
}

function frame(now: number): void {
  requestAnimationFrame(frame);
  if (drives.length === 0) return;
  if (victimFrom > 0) {
    const shown = Math.min(1, (now - victimFrom) / (VICTIM_MS * 0.6));
    draw(still.matches ? 1 : shown);
    if (now - victimFrom > VICTIM_MS) {
      victimFrom = 0;
      document.body.classList.remove("victim");
    }
    return;
  }
  if (!running) {
    shownSince = now;
    return;
  }
  if (!victimSeen && state.story === "" && now - startedAt > FIRST_VICTIM_MS) {
    toVictim();
    return;
  }
  const rate = SPEEDS[speed]!;
  const begun = performance.now();
  if (rate === Number.POSITIVE_INFINITY) {
    step(burst);
    const took = performance.now() - begun;
    burst = Math.max(50, Math.min(200_000, Math.round((burst * FRAME_MS) / Math.max(took, 1))));
  } else {
    owed = Math.min(owed + ((now - shownSince) / 1000) * rate, rate);
    const whole = Math.floor(owed);
    owed -= whole;
    if (whole > 0) step(whole);
  }
  shownSince = now;
  draw(1);
}

function run(on: boolean): void {
  running = on;
  $("#run").textContent = on ? "Pause" : "Run";
  $("#run").setAttribute("aria-pressed", String(on));
  if (!on) remember();
  draw(1);
}

function change(choices: Partial<Choices>): void {
  state = { ...state, choices: { ...state.choices, ...choices }, requests: 0 };
  history.replaceState(null, "", write(state));
  void rebuild();
}

function tell(): void {
  const story = STORIES[state.story];
  $("#story").hidden = story === undefined;
  document.querySelectorAll(".focus").forEach((one) => one.classList.remove("focus"));
  if (story === undefined) return;
  const step: Step = story.steps[Math.min(state.step, story.steps.length - 1)]!;
  $("#story-name").textContent = `${story.title} · ${story.paper}`;
  $("#story-title").textContent = `${state.step + 1} of ${story.steps.length}: ${step.title}`;
  $("#story-text").textContent = step.text;
  $<HTMLButtonElement>("#story-back").disabled = state.step === 0;
  $("#story-next").textContent = state.step + 1 === story.steps.length ? "Done" : "Next";
  document.querySelectorAll(`[data-focus="${step.focus}"]`).forEach((one) => one.classList.add("focus"));
}

async function openStory(name: string, at: number): Promise<void> {
  const story = STORIES[name];
  if (story === undefined || at >= story.steps.length) {
    state = { ...state, story: "", step: 0 };
    tell();
    remember();
    return;
  }
  const step = story.steps[at]!;
  state = { choices: { ...state.choices, ...step.choices }, requests: step.requests, story: name, step: at };
  history.replaceState(null, "", write(state));
  running = false;
  tell();
  await rebuild();
  run(step.runs === true && !still.matches);
  if (step.focus === "victims") toVictim();
}

function connect(): void {
  const options = (select: HTMLSelectElement, of: Record<string, { title: string }>): void => {
    for (const [value, { title }] of Object.entries(of)) select.add(new Option(title, value));
  };
  options($("#workload"), WORKLOADS);
  options($("#scheme"), SCHEMES);
  const on = (selector: string, event: string, act: () => void): void => $(selector).addEventListener(event, act);
  on("#workload", "change", () => change({ workload: $<HTMLSelectElement>("#workload").value as WorkloadName }));
  on("#scheme", "change", () => change({ scheme: $<HTMLSelectElement>("#scheme").value as SchemeName }));
  on("#cache", "input", () => { $("#cache-value").textContent = `${$<HTMLInputElement>("#cache").value} %`; });
  on("#cache", "change", () => change({ cache: Number($<HTMLInputElement>("#cache").value) }));
  on("#score", "change", () => change({ score: $<HTMLInputElement>("#score").value.trim() }));
  on("#run", "click", () => run(!running));
  on("#step", "click", () => { run(false); step(1); remember(); draw(1); });
  on("#victim", "click", () => { run(false); toVictim(); remember(); });
  on("#again", "click", () => change({}));
  on("#speed", "input", () => { speed = Number($<HTMLInputElement>("#speed").value); tellSpeed(); });
  on("#story-next", "click", () => void openStory(state.story, state.step + 1));
  on("#story-back", "click", () => void openStory(state.story, state.step - 1));
  on("#story-close", "click", () => void openStory("", 0));
  on("#share", "click", () => { remember(); void navigator.clipboard?.writeText(location.href); $("#spoken").textContent = "The link is copied."; });
  for (const [name, story] of Object.entries(STORIES)) {
    const button = document.createElement("button");
    button.textContent = story.title;
    button.addEventListener("click", () => void openStory(name, 0));
    $("#stories").append(button);
  }
  document.addEventListener("keydown", (event) => {
    if ((event.target as Element).matches("input, select, textarea, button, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Record<string, string> = { " ": "#run", ArrowRight: "#step", v: "#victim", r: "#again" };
    const button = keys[event.key];
    if (button === undefined) return;
    event.preventDefault();
    $<HTMLButtonElement>(button).click();
  });
  addEventListener("hashchange", () => { state = read(location.hash); tell(); void rebuild(); });
  const recolour = (): void => { colours = palette(document.documentElement); draw(1); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("resize", () => draw(1));
  colours = palette(document.documentElement);
}

function tellSpeed(): void {
  const rate = SPEEDS[speed]!;
  const text = rate === Number.POSITIVE_INFINITY ? "as fast as it can" : `${number(rate)} request${rate === 1 ? "" : "s"} a second`;
  $("#speed-value").textContent = text;
  $("#speed").setAttribute("aria-valuetext", text);
}

async function begin(): Promise<void> {
  connect();
  tellSpeed();
  const [code, recorded] = await Promise.all([unpacked(MODULE), RECORDS ? unpacked(RECORDS) : new Uint8Array()]);
  module = await WebAssembly.compile(code as BufferSource);
  records = recorded;
  if (records.length === 0) $<HTMLSelectElement>("#workload").querySelector('[value="database"]')?.remove();
  victimSeen = state.requests > 0;
  tell();
  await rebuild();
  run(running && state.requests === 0);
  startedAt = shownSince = performance.now();
  document.body.dataset["ready"] = "true";
  requestAnimationFrame(frame);
}

begin().catch((error: unknown) => {
  $("#failure").textContent = `The laboratory cannot start: ${(error as Error).message}`;
});
