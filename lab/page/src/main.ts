/** The page: two drives that write the same data, and the controls. */

import { type State, read, write } from "./address";
import { Drive, finished } from "./drive";
import { type Palette, drawChart, drawDrive, drawVictim, palette } from "./draw";
import { compared, label, panels, said, tellCounters } from "./panel";
import { grade } from "./grade";
import { servedDevice, watchDevice } from "./live";
import { connectTimeline } from "./timeline";
import { $, number } from "./page";
import { type Choices, SCHEMES, type SchemeName, type Side, WORKLOADS, type WorkloadName, check, scenario } from "./scenario";
import { STORIES, type Step } from "./stories";

declare const MODULE: string;
declare const RECORDS: string;

/** Requests a second. The last is as many as the machine can. */
const SPEEDS = [1, 10, 100, 1000, 10_000, Number.POSITIVE_INFINITY] as const;
const FIRST_SPEED = 3;
/** When the page first slows down on a victim, and how long it shows it. */
const FIRST_VICTIM_MS = 5000;
const VICTIM_MS = 4500;
const ADDRESS_MS = 200;
const VICTIM_REQUESTS_MAX = 4000;
/** Requests in a frame at full speed grow and shrink until a frame takes this long. */
const FRAME_MS = 12;

const still = matchMedia("(prefers-reduced-motion: reduce)");

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
let drawDue: number | undefined;
let addressDue: ReturnType<typeof setTimeout> | undefined;

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
      const drive = await Drive.begin(module, records, scenario(state.choices, side), SCHEMES[state.choices.scheme].family.chart);
      if (state.requests > 0) drive.step(state.requests);
      const panel = $(`#${side}`);
      made.push({ side, drive, canvas: panel.querySelector("canvas.drive")!, victim: panel.querySelector("canvas.victim")! });
    } catch (error) {
      if (side !== "own") throw error;
      problem = problemOf(error);
    }
  }
  if (turn !== building) return;
  drives = made;
  $("#own").hidden = $("#own-line").hidden = made.length < 3;
  $("#score-problem").textContent = problem;
  $("#score").setAttribute("aria-invalid", String(problem !== ""));
  [owed, victimFrom] = [0, 0];
  $("#moment").textContent = "";
  label(state.choices);
  draw(1);
}

function draw(shown: number): void {
  if (drives.length === 0) return;
  for (const { side, drive, canvas, victim } of drives) {
    const pages = drive.pages();
    drawDrive(canvas, pages, drive.lastVictim?.block ?? null, colours);
    drawVictim(victim, drive.lastVictim, pages.perBlock, shown, colours);
    tellCounters(side, drive, state.choices, !running);
  }
  const [left, right] = [drives[0]!.drive.counters, drives[1]!.drive.counters];
  $("#saved").textContent = compared(left, right, SCHEMES[state.choices.scheme].family.chart);
  $("#requests").textContent = number(right.requests);
  const chart = $<HTMLCanvasElement>("#chart");
  drawChart(chart, drives.map(({ side, drive }) => ({ name: side, course: drive.course })), colours);
  if (!running) {
    const last = drives.map(({ side, drive }) => `${side} ${drive.course.at(-1)?.value.toFixed(2) ?? "nothing yet"}`);
    chart.setAttribute("aria-label", `${$("#chart-title").textContent}, after ${number(right.requests)} requests: ${last.join(", ")}`);
  }
}

/** Draw with the next frame: keys may come faster. */
function drawSoon(): void {
  drawDue ??= requestAnimationFrame(() => {
    drawDue = undefined;
    draw(1);
  });
}

/** Put the state into the address: soon, since browsers refuse more than some tens of changes a second. */
function remember(): void {
  state = { ...state, requests: drives[0]?.drive.counters.requests ?? 0 };
  addressDue ??= setTimeout(writeAddress, ADDRESS_MS);
}

function writeAddress(): void {
  clearTimeout(addressDue);
  addressDue = undefined;
  history.replaceState(null, "", write(state));
}

/** Let all drives serve the next requests. Returns whether the right one met a victim. */
function step(requests: number): boolean {
  let met = false;
  for (const { side, drive } of drives) met = (drive.step(requests) !== null && side === "right") || met;
  return met;
}

/** Go on until the right drive takes a victim; where its GC asks, one that is spared a copy, if one comes soon. */
function toVictim(): void {
  const asks = SCHEMES[state.choices.scheme].family.chart === "waf";
  for (let tries = 0; tries < VICTIM_REQUESTS_MAX; tries++) {
    const spared = (): boolean => !asks || tries > VICTIM_REQUESTS_MAX / 2 || drives[1]!.drive.lastVictim!.pages.some((page) => page.answer !== "copied");
    if (step(1) && spared()) break;
  }
  victimFrom = performance.now();
  victimSeen = true;
  $("#moment").textContent = "; slowed down to show a victim of GC";
  $("#spoken").textContent = `Victim. Left: ${said(drives[0]!.drive.lastVictim)}. Right: ${said(drives[1]!.drive.lastVictim)}.`;
}

function frame(now: number): void {
  requestAnimationFrame(frame);
  if (drives.length === 0) return;
  if (victimFrom > 0) {
    const shown = Math.min(1, (now - victimFrom) / (VICTIM_MS * 0.6));
    draw(still.matches ? 1 : shown);
    if (now - victimFrom > VICTIM_MS) {
      victimFrom = 0;
      $("#moment").textContent = "";
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
  if (!on) remember();
  draw(1);
}

function change(choices: Partial<Choices>): void {
  state = { ...state, choices: { ...state.choices, ...choices }, requests: 0 };
  writeAddress();
  void rebuild();
}

function tell(): void {
  const story = STORIES[state.story];
  $("#story").hidden = story === undefined;
  $("#why").hidden = $("#lead").hidden = $("#stories").hidden = story !== undefined;
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
  writeAddress();
  running = false;
  tell();
  await rebuild();
  run(step.runs === true && !still.matches);
  if (step.focus === "victims") toVictim();
  // On a telephone it is higher than what the words leave of the screen.
  document.querySelector(".focus")?.scrollIntoView({ block: innerWidth < 640 ? "start" : "nearest" });
}

async function gradeScore(): Promise<void> {
  run(false);
  $("#score-problem").textContent = "";
  try {
    await grade(module, $<HTMLInputElement>("#score").value.trim() || "1 - u");
  } catch (error) {
    $("#grades").hidden = true;
    $("#score-problem").textContent = problemOf(error);
  }
}

/** Return what is wrong with a score. */
const problemOf = (error: unknown): string => (error as Error).message.replace(/^.*?gc\.victim[^:]*: /s, "");

/** Write the program that compares the requests so far with a native run, which answers the requests under way as well. */
async function writeCheck(): Promise<void> {
  run(false);
  const requests = Math.max(1, state.requests);
  const metrics = await finished(module, records, scenario(state.choices, "right", requests));
  const program = check(state.choices, "right", requests, metrics);
  $<HTMLTextAreaElement>("#check").value = program;
  document.querySelectorAll<HTMLElement>("#check, [for=check]").forEach((one) => { one.hidden = false; });
  copy(program, "The program is written, and copied.");
}

function copy(text: string, told: string): void {
  // Pages opened from disk may have no clipboard: the address bar has the link.
  void navigator.clipboard?.writeText(text);
  $("#spoken").textContent = told;
}

/** Go to the state of an address that the reader follows or types. */
async function openAddress(): Promise<void> {
  state = read(location.hash);
  tell();
  const goesOn = running && state.requests === 0;
  running = false;
  await rebuild();
  run(goesOn);
  $("#controls").scrollIntoView({ block: "nearest" });
}

function connect(): void {
  panels();
  const options = (select: HTMLSelectElement, of: Record<string, { title: string }>): void => {
    for (const [value, { title }] of Object.entries(of)) select.add(new Option(title, value));
  };
  options($("#workload"), WORKLOADS);
  options($("#scheme"), SCHEMES);
  const on = (selector: string, event: string, act: () => void): void => $(selector).addEventListener(event, act);
  on("#workload", "change", () => change({ workload: $<HTMLSelectElement>("#workload").value as WorkloadName }));
  on("#scheme", "change", () => change({ scheme: $<HTMLSelectElement>("#scheme").value as SchemeName }));
  on("#grade", "click", () => void gradeScore());
  on("#copy-toml", "click", () => copy($<HTMLTextAreaElement>("#toml").value, "The scenario is copied."));
  on("#make-check", "click", () => void writeCheck());
  on("#cache", "input", () => { $("#cache-value").textContent = `${$<HTMLInputElement>("#cache").value} %`; });
  on("#cache", "change", () => change({ cache: Number($<HTMLInputElement>("#cache").value) }));
  on("#score", "change", () => change({ score: $<HTMLInputElement>("#score").value.trim() }));
  on("#run", "click", () => run(!running));
  on("#step", "click", () => { if (running) run(false); step(1); remember(); drawSoon(); });
  on("#victim", "click", () => { run(false); toVictim(); remember(); });
  on("#again", "click", () => change({}));
  on("#speed", "input", () => { speed = Number($<HTMLInputElement>("#speed").value); tellSpeed(); });
  on("#story-next", "click", () => void openStory(state.story, state.step + 1));
  on("#story-back", "click", () => void openStory(state.story, state.step - 1));
  on("#story-close", "click", () => void openStory("", 0));
  on("#share", "click", () => { remember(); writeAddress(); copy(location.href, "The link is copied."); });
  for (const [name, story] of Object.entries(STORIES)) {
    const button = document.createElement("button");
    button.textContent = story.title;
    button.title = story.paper;
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
  addEventListener("hashchange", () => void openAddress());
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
  connectTimeline();
  const device = servedDevice(location.hash);
  if (device !== null) {
    watchDevice(device);
    document.body.dataset["ready"] = "true";
    return;
  }
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
  performance.mark("drawn");
  document.body.dataset["ready"] = "true";
  requestAnimationFrame(frame);
}

begin().catch((error: unknown) => {
  $("#failure").textContent = `The laboratory cannot start: ${(error as Error).message}`;
});
