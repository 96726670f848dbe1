/** The timeline of a recorded run: its drawing, and how a reader moves in it. */

import { CAUSES, READ } from "./causes";
import type { Look, Picture, Range } from "./flash";
import { $, number } from "./page";
import { worker } from "./worker";

const NAMES = [...CAUSES.map((cause) => `${cause.replace("_", " ")} programs`), "erases", "reads"];
const COLOURS = [...CAUSES.map((cause) => cause.replace("_", "-")), "erase", "read"];
/** A step of the wheel or of a key, as a share of what is seen. */
const ZOOM = 1.25;
const MOVE = 0.15;
const SHOWS_STRIP = "A band for each die, from left to right in time: filled as far up as the die was busy, in the colour of what it did. Go closer to see each operation.";
const SHOWS_BARS = "A bar for each operation, blocks from top to bottom, with a line between dies. A bar begins when the operation may begin, and ends with it: it shows the wait for its die as well.";

/** What there is to see, and what is seen. */
let range: Range | null = null;
let [from, to] = [0, 1];
let looked: Look | null = null;
/** Whether a picture is being painted, and whether another is due. */
let [paints, isDue] = [false, false];
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
  for (const button of document.querySelectorAll<HTMLButtonElement>("#slow button")) button.addEventListener("click", () => void look(Number(button.value)));
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
      range = await worker.takeFile(await file.arrayBuffer());
    } catch (error) {
      $("#recording-problem").textContent = `${file.name}: ${(error as Error).message}`;
      return;
    }
  }
  if (range === null) {
    $("#recording-problem").textContent = files.length > 0 ? "These are decisions of GC: the file of operations is needed as well." : "";
    return;
  }
  [from, to, looked] = [range.first, range.whole, null];
  $("#recorded").hidden = false;
  show();
}

/** Show what a served device has done until now: the newest, unless the reader looks at something else. */
export function grow(grown: Range): void {
  const isFirst = range === null;
  range = grown;
  $("#recorded").hidden = false;
  if (following || isFirst) follow(true);
  if (isFirst && matchMedia("(prefers-reduced-motion: reduce)").matches) follow(false);
}

function follow(on: boolean): void {
  following = on;
  $("#follow").textContent = on ? "Pause" : "Follow the newest";
  if (on && looked !== null) {
    looked = null;
    void worker.letGo();
  }
  if (on) [from, to] = [Math.max(range!.first, range!.whole - followed), range!.whole];
  show();
}

/** See this much from a time on, as far as there is something. */
function see(begin: number, length: number): void {
  if (range === null) return;
  const [first, whole] = looked?.pinned ?? [range.first, range.whole];
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
async function look(quantile: number): Promise<void> {
  if (range === null) return;
  const next = await worker.lookAt(quantile, from, to);
  if (next === null) return;
  looked = next;
  const span = 2 * (looked.ends - looked.begins);
  see(looked.ends - Math.max(1000, span) * 0.9, span);
}

/** Say what an operation waited for. */
function why({ begins, ends, what, block, blocks, dies, counts }: Look): string {
  const die = dies > 1 ? ` of die ${Math.floor((block * dies) / blocks)}` : "";
  return ` The frame: a ${what === READ ? "read" : "program"} of the host in block ${block}${die}, ${ms(ends - begins)} ms. ${dies > 1 ? "The die" : "Flash"} did meanwhile: ${told(counts) || "nothing else"}.`;
}

/** Say how often each kind of operation happened. */
const told = (counts: Uint32Array): string => Array.from(counts, (count, at) => (count > 0 ? `${number(count)} ${NAMES[at]}` : "")).filter(Boolean).join(", ");

const ms = (time: number): string => (time / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });

/** Draw anew, once the picture before is there. */
function show(): void {
  isDue = true;
  if (!paints) requestAnimationFrame(() => void draw());
  paints = true;
}

async function draw(): Promise<void> {
  const canvas = $<HTMLCanvasElement>("#timeline");
  const [width, height] = [Math.round(canvas.clientWidth * devicePixelRatio), Math.round(canvas.clientHeight * devicePixelRatio)];
  const seen = [from, to] as const;
  isDue = false;
  if (range !== null && width > 0) paintPicture(canvas, await worker.picture(...seen, width, height, colours()), ...seen, width, height);
  paints = false;
  if (isDue) show();
}

function paintPicture(canvas: HTMLCanvasElement, { pixels, isClose, counts, victims: picked, valid, removable }: Picture, begins: number, ends: number, width: number, height: number): void {
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d")!;
  context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), width, height), 0, 0);
  mark(context, begins, ends, width, height, isClose);
  const choices = picked > 0 ? ` GC picked ${number(picked)} victims with ${(valid / picked).toFixed(1)} valid pages each, of which it knew ${(removable / picked).toFixed(1)} as held elsewhere.` : "";
  const text = `${ms(begins)} to ${ms(ends)} ms: ${told(counts) || "nothing"}.${choices}${looked ? why(looked) : ""}`;
  $("#timeline-says").textContent = text;
  $("#timeline-shows").textContent = isClose ? SHOWS_BARS : SHOWS_STRIP;
  canvas.setAttribute("aria-label", `Operations of flash, ${text}`);
}

/** Draw a line between dies, power cuts, and a frame around the operation that is looked at. */
function mark(context: CanvasRenderingContext2D, begins: number, ends: number, width: number, height: number, isClose: boolean): void {
  const style = getComputedStyle(document.documentElement);
  const { dies, cuts } = range!;
  context.fillStyle = style.getPropertyValue("--line");
  for (let die = 1; die < dies; die++) context.fillRect(0, Math.round((die * height) / dies), width, 1);
  const across = (time: number): number => ((time - begins) * width) / (ends - begins);
  context.fillStyle = context.strokeStyle = style.getPropertyValue("--worse");
  for (const cut of cuts) context.fillRect(across(cut) - devicePixelRatio, 0, 2 * devicePixelRatio, height);
  if (looked === null) return;
  context.lineWidth = 2 * devicePixelRatio;
  const [left, right, { block, blocks }] = [across(looked.begins), across(looked.ends), looked];
  const [place, rows] = isClose ? [block, blocks] : [Math.floor((block * dies) / blocks), dies];
  context.strokeRect(left - 3, (place * height) / rows - 3, right - left + 6, height / rows + 6);
}

/** The colours of the style as pixels. */
function colours(): Uint32Array {
  const style = getComputedStyle(document.documentElement);
  return Uint32Array.from({ length: READ + 1 }, (_, at) => {
    const [red, green, blue] = [1, 3, 5].map((place) => Number.parseInt(style.getPropertyValue(`--cause-${COLOURS[at]!}`).trim().slice(place, place + 2), 16));
    return ((255 << 24) | (blue! << 16) | (green! << 8) | red!) >>> 0;
  });
}
