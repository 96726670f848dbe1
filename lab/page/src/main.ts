/** The page: the bench of two drives that write the same data, its controls, and the stories. */

import { type State, read, write } from "./address";
import { Bench, still } from "./bench";
import { labelPage } from "./panel";
import { grade } from "./grade";
import { servedDevice, showRecords, watchDevice } from "./live";
import { connectTimeline } from "./timeline";
import { $, number } from "./page";
import { SCENE_MS } from "./scene";
import { type Choices, SCHEMES, type SchemeName, WORKLOADS, type WorkloadName, check, scenario } from "./scenario";
import { STORIES } from "./stories";
import { showStory, storyBenches } from "./story";
import { worker } from "./worker";

declare const MODULE: string;
declare const RECORDS: string;

/** Requests a second. The last is as many as the machine can. */
const SPEEDS = [1, 10, 100, 1000, 10_000, Number.POSITIVE_INFINITY] as const;
/** How long the drives run at first until a scene begins by itself. */
const FIRST_RUN_MS = 12_000;
const ADDRESS_MS = 200;

let bench: Bench;
let state: State;
let hasStopped = false;
let addressDue: ReturnType<typeof setTimeout> | undefined;

/** Make the drives of the choices anew, at the request of the state. Returns false if others are asked for meanwhile. */
async function rebuild(): Promise<boolean> {
  hasStopped = false;
  labelPage(state.choices);
  const problem = await bench.begin(state.choices, state.requests, (served) => {
    $("#saved").textContent = `${number(served)} of ${number(state.requests)} requests are served`;
    $("#stop").hidden = false;
    return !hasStopped;
  });
  if (problem === null) return false;
  const two = bench.drives.length < 3;
  $("#stop").hidden = true;
  for (const part of ["#own", "#own-line", "#own-column"]) $(part).hidden = two;
  document.body.classList.toggle("two", two);
  tellProblem(problem);
  $("#score").setAttribute("aria-invalid", String(problem !== ""));
  bench.draw();
  return true;
}

/** Put the state into the address: soon, since browsers refuse more than some tens of changes a second. */
function remember(): void {
  state = { ...state, requests: bench.requests };
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

function frame(now: number): void {
  requestAnimationFrame(frame);
  for (const one of [bench, ...storyBenches()]) one.frame(now);
}

/** Run, or stand still: at the last request that is under way, which the address then has. */
async function run(on: boolean): Promise<void> {
  $("#run").textContent = on ? "Pause" : "Run";
  const before = state;
  await bench.run(on);
  if (!on && state === before) remember();
}

const change = (choices: Partial<Choices>, requests = 0): void => go({ choices: { ...state.choices, ...choices }, requests });

async function gradeScore(): Promise<void> {
  await run(false);
  $("#score-problem").textContent = "";
  try {
    await grade($<HTMLInputElement>("#score").value.trim() || "1 - u");
  } catch (error) {
    $("#grades").hidden = true;
    tellProblem((error as Error).message);
  }
}

/** Say what is wrong with a score. */
function tellProblem(problem: string): void {
  $("#score-problem").textContent = problem.replace(/^.*?gc\.victim[^:]*: /s, "");
}

/** Write the program that compares the requests so far with a native run, which answers the requests under way as well. */
async function writeCheck(): Promise<void> {
  await run(false);
  const requests = Math.max(1, state.requests);
  const metrics = await worker.finished(scenario(state.choices, "right", requests));
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
  const wasRunning = bench.running;
  state = read(location.hash);
  bench.running = false;
  if (!(await rebuild())) return;
  void run(!still.matches && !state.story && wasRunning && (state.requests === 0 || !location.hash));
  if (!location.hash) await bench.toVictim();
  showStory(state);
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
  on("#grade", "click", () => void gradeScore());
  on("#copy-toml", "click", () => copy($<HTMLTextAreaElement>("#toml").value, "The scenario is copied."));
  on("#make-check", "click", () => void writeCheck());
  on("#cache", "input", () => { $("#cache-value").textContent = `${$<HTMLInputElement>("#cache").value} %`; });
  on("#cache", "change", () => change({ cache: Number($<HTMLInputElement>("#cache").value) }));
  on("#score", "change", () => change({ score: $<HTMLInputElement>("#score").value.trim() }));
  on("#run", "click", () => void run(!bench.running));
  on("#step", "click", () => { if (bench.running) void run(false); void bench.step(1).then(remember); });
  on("#victim", "click", () => { void run(false); void bench.toVictim().then(remember); });
  on("#again", "click", () => change({}));
  on("#stop", "click", () => { hasStopped = true; });
  on("#time", "change", () => { void run(false); change({}, Number($<HTMLInputElement>("#time").value)); });
  on("#speed", "input", tellSpeed);
  on("#story-close", "click", () => go({ requests: bench.requests, story: "", step: 0 }));
  on("#share", "click", share);
  for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => { bench.sceneDue = Number.POSITIVE_INFINITY; });
  for (const [name, story] of Object.entries(STORIES)) {
    const button = document.createElement("button");
    button.textContent = story.title;
    button.title = story.paper;
    button.addEventListener("click", () => go({ requests: bench.requests, story: name, step: 0 }));
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
  const recolour = (): void => [bench, ...storyBenches()].forEach((one) => { one.recolour(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  addEventListener("resize", recolour);
}

function tellSpeed(): void {
  const rate = bench.rate = SPEEDS[Number($<HTMLInputElement>("#speed").value)]!;
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
  bench = new Bench($("#bench"));
  bench.running = !still.matches;
  connect();
  tellSpeed();
  const hasDatabase = await worker.bring(MODULE, RECORDS);
  if (!hasDatabase) $<HTMLSelectElement>("#workload").querySelector('[value="database"]')?.remove();
  const isOpening = !location.hash;
  await openAddress();
  if (isOpening) bench.sceneDue = performance.now() + SCENE_MS + FIRST_RUN_MS;
  performance.mark("drawn");
  requestAnimationFrame(frame);
}

begin().catch((error: unknown) => {
  $("#failure").textContent = `The laboratory cannot start: ${(error as Error).message}`;
});
