/** The timeline of a recorded run: its drawing, and how a reader moves in it. */

import { $, number } from "./page";
import { CAUSES, type Kept, type Operations, READ, type Victims, meanwhile, open, paint, slow, summary } from "./recording";

const NAMES = [...CAUSES.map((cause) => `${cause.replace("_", " ")} programs`), "erases", "reads"];
const COLOURS = [...CAUSES.map((cause) => cause.replace("_", "-")), "erase", "read"];
/** A step of the wheel or of a key, as a share of what is seen. */
const ZOOM = 1.25;
const MOVE = 0.15;

let operations: Operations | null = null;
let victims: Victims | null = null;
/** The row of the operation that is looked at; -1 without one. */
let looked = -1;
let frame: number | undefined;
let [from, to, first, whole] = [0, 1, 0, 1];
/** When the power of a served device was cut. */
let cuts: readonly number[] = [];
/** Whether the newest operations of a served device are seen, and how much of them. */
let following = false;
let followed = 2e9;

export function connectTimeline(): void {
  const canvas = $<HTMLCanvasElement>("#timeline");
  $("#recording").addEventListener("change", (event) => void take([...((event.target as HTMLInputElement).files ?? [])]));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1 / ZOOM : ZOOM, event.offsetX / canvas.clientWidth); }, { passive: false });
  canvas.addEventListener("pointermove", (event) => { if (event.buttons === 1) move(-event.movementX / canvas.clientWidth); });
  canvas.addEventListener("keydown", (event) => {
    const acts: Record<string, () => void> = { "+": () => zoom(1 / ZOOM, 0.5), "-": () => zoom(ZOOM, 0.5), ArrowLeft: () => move(-MOVE), ArrowRight: () => move(MOVE), End: () => follow(true) };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  for (const button of document.querySelectorAll<HTMLButtonElement>("#slow button")) button.addEventListener("click", () => look(Number(button.value)));
  $("#follow").addEventListener("click", () => follow(!following));
  $("#closer").addEventListener("click", () => zoom(1 / ZOOM ** 3, 0.5));
  $("#farther").addEventListener("click", () => zoom(ZOOM ** 3, 0.5));
  addEventListener("resize", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  $("#timeline-legend").innerHTML = NAMES.map((name, at) => `<li><i style="background: var(--cause-${COLOURS[at]!})"></i>${name}</li>`).join("");
}

/** Take files: operations, decisions or both. */
async function take(files: readonly File[]): Promise<void> {
  $("#recording-problem").textContent = "";
  for (const file of files) {
    try {
      const found = await open(await file.arrayBuffer());
      if ("victims" in found) victims = found.victims;
      else operations = found.operations;
    } catch (error) {
      $("#recording-problem").textContent = `${file.name}: ${(error as Error).message}`;
    }
  }
  if (operations === null) {
    if (victims !== null) $("#recording-problem").textContent = "These are decisions of GC: the file of operations is needed as well.";
    return;
  }
  whole = operations.end.reduce((last, end) => Math.max(last, end), 1);
  [from, to] = [0, whole];
  looked = -1;
  $("#recorded").hidden = false;
  show();
}

/** Show what a served device has done until now: the newest, unless the reader looks at something else. */
export function grow(kept: Kept): void {
  const isFirst = operations === null;
  operations = kept.operations();
  ({ victims, cuts, newest: whole } = kept);
  const oldest = operations.start[0] ?? 0;
  if (looked >= 0 && oldest > first) looked = -1;
  first = oldest;
  $("#recorded").hidden = false;
  if (following || isFirst) follow(true);
  else show();
  if (isFirst && matchMedia("(prefers-reduced-motion: reduce)").matches) follow(false);
}

function follow(on: boolean): void {
  following = on;
  $("#follow").textContent = on ? "Pause" : "Follow the newest";
  if (on) [from, to] = [Math.max(first, whole - followed), whole];
  show();
}

/** See this much from a time on, as far as there is something. */
function see(begin: number, length: number): void {
  const span = Math.min(whole - first, Math.max(1000, length));
  from = Math.min(whole - span, Math.max(first, begin));
  to = from + span;
  if (following) follow(false);
  show();
}

function zoom(by: number, at: number): void {
  const span = (to - from) * by;
  if (!following) return see(from + (to - from - span) * at, span);
  // At first less is there than may be seen.
  followed = Math.max(1000, by < 1 ? span : followed * by);
  follow(true);
}

const move = (by: number): void => see(from + (to - from) * by, to - from);

/** Look at the host's operation that is slower than a share of those that are seen: all of it, with as much before it. */
function look(quantile: number): void {
  if (operations === null) return;
  const row = slow(operations, quantile, from, to);
  if (row < 0) return;
  looked = row;
  const [begins, ends] = [operations.start[row]!, operations.end[row]!];
  const span = 2 * (ends - begins);
  see(ends - Math.max(1000, span) * 0.9, span);
}

/** Say what an operation waited for. */
function why(recorded: Operations, row: number): string {
  const { start, end, what, block, blocks, dies } = recorded;
  const die = dies > 1 ? ` of die ${Math.floor((block[row]! * dies) / blocks)}` : "";
  const others = told(meanwhile(recorded, row));
  return ` The frame: a ${what[row] === READ ? "read" : "program"} of the host in block ${block[row]!}${die}, ${ms(end[row]! - start[row]!)} ms. ${dies > 1 ? "The die" : "Flash"} did meanwhile: ${others || "nothing else"}.`;
}

/** Say how often each kind of operation happened. */
const told = (counts: Uint32Array): string => Array.from(counts, (count, at) => (count > 0 ? `${number(count)} ${NAMES[at]}` : "")).filter(Boolean).join(", ");

const ms = (time: number): string => (time / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });

/** Draw anew with the next frame. */
function show(): void {
  frame ??= requestAnimationFrame(draw);
}

function draw(): void {
  frame = undefined;
  if (operations === null) return;
  const canvas = $<HTMLCanvasElement>("#timeline");
  const [width, height] = [Math.round(canvas.clientWidth * devicePixelRatio), Math.round(canvas.clientHeight * devicePixelRatio)];
  if (width === 0) return;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  paint(new Uint32Array(image.data.buffer), width, height, operations, from, to, colours());
  const context = canvas.getContext("2d")!;
  context.putImageData(image, 0, 0);
  mark(context, operations, width, height);
  const { counts, victims: picked, valid, removable } = summary(operations, victims, from, to);
  const choices = picked > 0 ? ` GC picked ${number(picked)} victims with ${(valid / picked).toFixed(1)} valid pages each, of which it knew ${(removable / picked).toFixed(1)} as held elsewhere.` : "";
  const text = `${ms(from)} to ${ms(to)} ms: ${told(counts) || "nothing"}.${choices}${looked >= 0 ? why(operations, looked) : ""}`;
  $("#timeline-says").textContent = text;
  canvas.setAttribute("aria-label", `Operations of flash, ${text}`);
}

/** Draw a line between dies, and a frame around the operation that is looked at. */
function mark(context: CanvasRenderingContext2D, { start, end, block, blocks, dies }: Operations, width: number, height: number): void {
  const style = getComputedStyle(document.documentElement);
  context.fillStyle = style.getPropertyValue("--line");
  for (let die = 1; die < dies; die++) context.fillRect(0, Math.round((die * height) / dies), width, 1);
  const across = (time: number): number => ((time - from) * width) / (to - from);
  context.fillStyle = context.strokeStyle = style.getPropertyValue("--worse");
  for (const cut of cuts) context.fillRect(across(cut) - devicePixelRatio, 0, 2 * devicePixelRatio, height);
  if (looked < 0) return;
  context.lineWidth = 2 * devicePixelRatio;
  const [left, right] = [across(start[looked]!), across(end[looked]!)];
  context.strokeRect(left - 3, (block[looked]! * height) / blocks - 3, right - left + 6, height / blocks + 6);
}

/** The colours of the style as pixels. */
function colours(): Uint32Array {
  const style = getComputedStyle(document.documentElement);
  return Uint32Array.from({ length: READ + 1 }, (_, at) => {
    const [red, green, blue] = [1, 3, 5].map((place) => Number.parseInt(style.getPropertyValue(`--cause-${COLOURS[at]!}`).trim().slice(place, place + 2), 16));
    return ((255 << 24) | (blue! << 16) | (green! << 8) | red!) >>> 0;
  });
}
