/** The page: two drives that write the same data, and the controls. */

import { type State, read, write } from "./address";
import { Drive, finished } from "./drive";
import { type Palette, drawChart, palette } from "./draw";
import { compared, label, panels, said, tellCopies, tellCounters } from "./panel";
import { grade } from "./grade";
import { servedDevice, showRecords, watchDevice } from "./live";
import { connectTimeline } from "./timeline";
import { $, number } from "./page";
import { HOLD_MS, SCENE_MS, type Scene, drawScene, isLater, noteReturned, tally } from "./scene";
import { type Choices, SCHEMES, type SchemeName, type Side, WORKLOADS, type WorkloadName, check, scenario } from "./scenario";
import { STORIES } from "./stories";

declare const MODULE: string;
declare const RECORDS: string;

/** Requests a second. The last is as many as the machine can. */
const SPEEDS = [1, 10, 100, 1000, 10_000, Number.POSITIVE_INFINITY] as const;
/** How long the drives run between two scenes, until the reader takes over. */
const BETWEEN_MS = 12_000;
const ADDRESS_MS = 200;
const COUNTERS_MS = 400;
const VICTIM_REQUESTS_MAX = 4000;
/** Requests a second while pages that were dropped may return to flash. */
const LATER_RATE = 450;
/** Requests in a frame at full speed grow and shrink until a frame takes this long. */
const FRAME_MS = 12;
/** Requests that a link asks for are served in slices of a time. */
const SLICE_MS = 50;
const SLICE_REQUESTS = 1000;

const still = matchMedia("(prefers-reduced-motion: reduce)");

interface Shown {
  side: Side;
  drive: Drive;
  canvas: HTMLCanvasElement;
  scene: Scene | null;
}

let module: WebAssembly.Module;
let records: Uint8Array;
let state: State;
let drives: Shown[] = [];
let colours: Palette;
let running = !still.matches;
let speed = 3;
let owed = 0;
let burst = 500;
let shownSince = 0;
/** When the scene of a victim began; 0 without one. */
let sceneFrom = 0;
/** When the next one begins by itself; never, once the reader has taken over. */
let sceneDue = Number.POSITIVE_INFINITY;
let countersFrom = 0;
let hasStopped = false;
let building = 0;
/** Whether something has changed while the drives stand still. */
let drawIsDue = false;
let addressDue: ReturnType<typeof setTimeout> | undefined;

async function unpacked(base64: string): Promise<Uint8Array> {
  const stream = new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Make the drives of the choices anew, at the request of the state. Returns false if others are asked for meanwhile. */
async function rebuild(): Promise<boolean> {
  const turn = ++building;
  const sides: Side[] = state.choices.score ? ["left", "right", "own"] : ["left", "right"];
  const made: Shown[] = [];
  let problem = "";
  for (const side of sides) {
    try {
      const drive = await Drive.open(module, records, scenario(state.choices, side), SCHEMES[state.choices.scheme].family.chart);
      made.push({ side, drive, canvas: $(`#${side} canvas`), scene: null });
    } catch (error) {
      if (side !== "own") throw error;
      problem = problemOf(error);
    }
  }
  await serve(made.map(({ drive }) => drive), state.requests, () => turn === building && !hasStopped);
  if (turn !== building) return false;
  drives = made;
  for (const part of ["#own", "#own-line", "#own-column"]) $(part).hidden = made.length < 3;
  document.body.classList.toggle("two", made.length < 3);
  $("#score-problem").textContent = problem;
  $("#score").setAttribute("aria-invalid", String(problem !== ""));
  [owed, sceneFrom] = [0, 0];
  label(state.choices);
  draw();
  return true;
}

/** Let new drives serve requests. It may take long: the browser draws meanwhile, and the reader may stop it. */
async function serve(drives: readonly Drive[], requests: number, goesOn: () => boolean): Promise<void> {
  hasStopped = false;
  let sliceFrom = performance.now();
  for (let served = 0; served < requests && goesOn(); ) {
    const slice = Math.min(SLICE_REQUESTS, requests - served);
    for (const drive of drives) drive.step(slice);
    served += slice;
    if (performance.now() - sliceFrom < SLICE_MS) continue;
    $("#saved").textContent = `${number(served)} of ${number(requests)} requests are served`;
    $("#stop").hidden = false;
    await new Promise((resume) => setTimeout(resume));
    sliceFrom = performance.now();
  }
  $("#stop").hidden = true;
}

/** Draw all drives, at a time of the scene if there is one. */
function draw(time = HOLD_MS): void {
  if (drives.length === 0) return;
  const { family } = SCHEMES[state.choices.scheme];
  const tells = !running || performance.now() - countersFrom > COUNTERS_MS;
  if (tells) countersFrom = performance.now();
  for (const { side, drive, canvas, scene } of drives) {
    const shown = sceneFrom > 0 ? scene : null;
    const { gc_copies_pages: copied, wasted_pages: wasted } = drive.numbers();
    drawScene(canvas, drive.pages(), drive.held(), { scene: shown, time, lastBlock: drive.lastVictim?.block ?? null, tier: family.tier, colours });
    tellCopies(side, shown ? tally(shown, time) : { copied, wasted }, shown ? "of this block" : "so far");
    if (tells) tellCounters(side, drive, state.choices, !running);
  }
  const [left, right] = [drives[0]!.drive.numbers(), drives[1]!.drive.numbers()];
  $("#saved").textContent = compared(left, right, family.chart);
  $("#requests").textContent = number(right.requests);
  $("#time-value").textContent = number(right.requests);
  if (document.activeElement !== $("#time")) $<HTMLInputElement>("#time").value = String(right.requests);
  const chart = $<SVGSVGElement>("#chart");
  drawChart(chart, drives.map(({ drive }) => drive.course));
  if (!running) {
    const last = drives.map(({ side, drive }) => `${side} ${drive.course.at(-1)?.value.toFixed(2) ?? "nothing yet"}`);
    chart.setAttribute("aria-label", `${$("#chart-title").textContent}, after ${number(right.requests)} requests: ${last.join(", ")}`);
  }
}

/** Put the state into the address: soon, since browsers refuse more than some tens of changes a second. */
function remember(): void {
  state = { ...state, requests: drives[0]?.drive.requests ?? 0 };
  addressDue ??= setTimeout(writeAddress, ADDRESS_MS);
}

function writeAddress(): void {
  clearTimeout(addressDue);
  addressDue = undefined;
  history.replaceState(null, "", write(state));
}

/** Go to a state by its address, which the browser's way back leaves again. */
function go(to: Partial<State>): void {
  // What is due is of the state that is left.
  clearTimeout(addressDue);
  addressDue = undefined;
  const address = write({ ...state, ...to });
  if (location.hash === address) void openAddress();
  else location.hash = address;
}

/** Let all drives serve the next requests. */
function step(requests: number): void {
  for (const { drive } of drives) drive.step(requests);
}

/** Go on until each drive has taken a victim; where GC of the right one is told something, one that is spared a copy, if one comes
 * soon. Their scenes begin. */
function toVictim(): void {
  const isTold = SCHEMES[state.choices.scheme].family.tier !== "";
  // On the left, a page that is copied in vain; on the right one that need not be.
  const shows = ({ side, scene }: Shown): boolean => scene !== null && (!isTold || scene.pages.some(({ fate }) => fate === "dropped" || fate === "from-slot" || (fate === "wasted" && side === "left")));
  for (const one of drives) one.scene = null;
  for (let tries = 0; tries < VICTIM_REQUESTS_MAX && !drives.every((one) => one.scene && (shows(one) || tries > VICTIM_REQUESTS_MAX / 2)); tries++) {
    for (const one of drives) {
      const met = one.drive.watch();
      if (met !== null && (!shows(one) || shows({ ...one, scene: met }))) one.scene = met;
    }
  }
  sceneFrom = performance.now();
  owed = 0;
  $("#spoken").textContent = `Victim. Left: ${said(drives[0]!.drive.lastVictim)}. Right: ${said(drives[1]!.drive.lastVictim)}.`;
}

/** Go on with the scenes of the victims; they stand still where the reader stands still. */
function playScene(now: number): void {
  const time = still.matches || !running ? Math.min(now - sceneFrom + (still.matches ? HOLD_MS : 0), HOLD_MS) : now - sceneFrom;
  if (isLater(time)) {
    serveDue(now, LATER_RATE);
    for (const { scene, drive } of drives) if (scene) noteReturned(scene, drive.pages().words);
  }
  shownSince = now;
  draw(time);
  if (time < SCENE_MS) return;
  sceneFrom = 0;
  if (Number.isFinite(sceneDue)) sceneDue = now + BETWEEN_MS;
}

/** Serve as many requests as are due at a rate. */
function serveDue(now: number, rate: number): void {
  owed = Math.min(owed + ((now - shownSince) / 1000) * rate, rate);
  const whole = Math.floor(owed);
  owed -= whole;
  if (whole > 0) step(whole);
}

function frame(now: number): void {
  requestAnimationFrame(frame);
  if (drives.length === 0) return;
  if (sceneFrom > 0) return playScene(now);
  if (!running) {
    shownSince = now;
    if (drawIsDue) draw();
    drawIsDue = false;
    return;
  }
  if (now > sceneDue) return toVictim();
  const rate = SPEEDS[speed]!;
  const begun = performance.now();
  if (rate === Number.POSITIVE_INFINITY) {
    step(burst);
    const took = performance.now() - begun;
    burst = Math.max(50, Math.min(200_000, Math.round((burst * FRAME_MS) / Math.max(took, 1))));
  } else {
    serveDue(now, rate);
  }
  shownSince = now;
  draw();
}

function run(on: boolean): void {
  running = on;
  $("#run").textContent = on ? "Pause" : "Run";
  if (!on) remember();
  if (sceneFrom === 0) draw();
}

const change = (choices: Partial<Choices>, requests = 0): void => go({ choices: { ...state.choices, ...choices }, requests });

function tell(): void {
  const story = STORIES[state.story];
  $("#story").hidden = story === undefined;
  $("#stories").hidden = story !== undefined;
  document.querySelectorAll(".focus").forEach((one) => one.classList.remove("focus"));
  if (story === undefined) return;
  const step = story.steps[state.step]!;
  $("#story-name").textContent = `${story.title} · ${story.paper}`;
  $("#story-title").textContent = `${state.step + 1} of ${story.steps.length}: ${step.title}`;
  $("#story-text").textContent = step.text;
  $<HTMLButtonElement>("#story-back").disabled = state.step === 0;
  $("#story-next").textContent = state.step + 1 === story.steps.length ? "Done" : "Next";
  const focused = document.querySelectorAll(`[data-focus="${step.focus}"]`);
  focused.forEach((one) => one.classList.add("focus"));
  // The words stand before what they speak of.
  (focused[0]!.closest(".pair") ?? focused[0]!).before($("#story"));
}

/** Go to a step of a story; after the last one the reader takes over. */
function openStep(name: string, at: number): void {
  const step = STORIES[name]?.steps[at];
  if (step === undefined) go({ requests: drives[0]!.drive.requests, story: "", step: 0 });
  else go({ choices: { ...state.choices, ...step.choices }, requests: step.requests, story: name, step: at });
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

/** Copy a text, and say whether that was done. */
function copy(text: string, done: string): void {
  const tell = (says: string): void => { $("#spoken").textContent = says; };
  const refused = (): void => tell("The browser does not let a page copy: take it from the address bar, or select the text.");
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => tell(done), refused);
  else refused();
}

/** Copy the address of the state. Where the page is a file, or served to this machine alone, that is said. */
function share(): void {
  remember();
  writeAddress();
  const isHere = location.protocol === "file:" || ["127.0.0.1", "localhost"].includes(location.hostname);
  copy(location.href, isHere ? "The link is copied. It opens on this machine only; from # on it repeats the state on any copy of this page." : "The link is copied.");
}

/** Show the state of the address. */
async function openAddress(): Promise<void> {
  const wasRunning = running;
  state = read(location.hash);
  running = false;
  tell();
  if (!(await rebuild())) return;
  const step = STORIES[state.story]?.steps[state.step];
  run(!still.matches && (step ? step.runs === true : wasRunning && (state.requests === 0 || !location.hash)));
  if (step?.focus === "victims" || !location.hash) toVictim();
  if (step) $("#story").scrollIntoView({ block: "nearest" });
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
  on("#step", "click", () => { if (running) run(false); sceneFrom = 0; step(1); remember(); drawIsDue = true; });
  on("#victim", "click", () => { run(false); toVictim(); remember(); });
  on("#again", "click", () => change({}));
  on("#stop", "click", () => { hasStopped = true; });
  on("#time", "change", () => { run(false); change({}, Number($<HTMLInputElement>("#time").value)); });
  on("#speed", "input", () => { speed = Number($<HTMLInputElement>("#speed").value); tellSpeed(); });
  on("#story-next", "click", () => openStep(state.story, state.step + 1));
  on("#story-back", "click", () => openStep(state.story, state.step - 1));
  on("#story-close", "click", () => openStep("", 0));
  on("#share", "click", share);
  for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => { sceneDue = Number.POSITIVE_INFINITY; });
  for (const [name, story] of Object.entries(STORIES)) {
    const button = document.createElement("button");
    button.textContent = story.title;
    button.title = story.paper;
    button.addEventListener("click", () => openStep(name, 0));
    $("#stories").append(button);
  }
  document.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && target.matches("button, summary")) return;
    const keys: Record<string, string> = { " ": "#run", ArrowRight: "#step", v: "#victim", r: "#again" };
    const button = keys[event.key];
    if (button === undefined) return;
    event.preventDefault();
    $<HTMLButtonElement>(button).click();
  });
  addEventListener("hashchange", () => void openAddress());
  const recolour = (): void => { colours = palette(document.documentElement); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("resize", () => draw());
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
  } else if (!MODULE) {
    showRecords();
  } else {
    await beginLab();
  }
  document.body.dataset["ready"] = "true";
}

async function beginLab(): Promise<void> {
  connect();
  tellSpeed();
  const [code, recorded] = await Promise.all([unpacked(MODULE), RECORDS ? unpacked(RECORDS) : new Uint8Array()]);
  module = await WebAssembly.compile(code as BufferSource);
  records = recorded;
  if (records.length === 0) $<HTMLSelectElement>("#workload").querySelector('[value="database"]')?.remove();
  const isOpening = !location.hash;
  await openAddress();
  shownSince = performance.now();
  if (isOpening) sceneDue = shownSince + SCENE_MS + BETWEEN_MS;
  performance.mark("drawn");
  requestAnimationFrame(frame);
}

begin().catch((error: unknown) => {
  $("#failure").textContent = `The laboratory cannot start: ${(error as Error).message}`;
});
