/** The timeline of a recorded run: its drawing, and how a reader moves in it. */

import { $, number } from "./page";
import { CAUSES, type Operations, READ, type Victims, open, paint, summary } from "./recording";

const NAMES = [...CAUSES.map((cause) => `${cause.replace("_", " ")} programs`), "erases", "reads"];
const COLOURS = ["host", "evict", "gc", "refresh", "wear-levelling", "destage", "metadata", "erase", "read"];
/** A step of the wheel or of a key, as a share of what is seen. */
const ZOOM = 1.25;
const MOVE = 0.15;

let operations: Operations | null = null;
let victims: Victims | null = null;
let frame: number | undefined;
let [from, to, whole] = [0, 1, 1];

export function connectTimeline(): void {
  const canvas = $<HTMLCanvasElement>("#timeline");
  $("#recording").addEventListener("change", (event) => void take([...((event.target as HTMLInputElement).files ?? [])]));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 1 / ZOOM : ZOOM, event.offsetX / canvas.clientWidth); }, { passive: false });
  canvas.addEventListener("pointermove", (event) => { if (event.buttons === 1) move(-event.movementX / canvas.clientWidth); });
  canvas.addEventListener("keydown", (event) => {
    const acts: Record<string, () => void> = { "+": () => zoom(1 / ZOOM, 0.5), "-": () => zoom(ZOOM, 0.5), ArrowLeft: () => move(-MOVE), ArrowRight: () => move(MOVE) };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
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
  if (operations === null) return;
  whole = operations.end.reduce((last, end) => Math.max(last, end), 1);
  [from, to] = [0, whole];
  $("#recorded").hidden = false;
  show();
}

function zoom(by: number, at: number): void {
  const span = Math.min(whole, Math.max(1000, (to - from) * by));
  from = Math.min(whole - span, Math.max(0, from + (to - from - span) * at));
  to = from + span;
  show();
}

function move(by: number): void {
  const span = to - from;
  from = Math.min(whole - span, Math.max(0, from + span * by));
  to = from + span;
  show();
}

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
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  const { counts, victims: picked, valid, removable } = summary(operations, victims, from, to);
  const told = Array.from(counts, (count, at) => (count > 0 ? `${number(count)} ${NAMES[at]}` : "")).filter(Boolean).join(", ");
  const choices = picked > 0 ? ` GC picked ${number(picked)} victims with ${(valid / picked).toFixed(1)} valid pages each, of which it knew ${(removable / picked).toFixed(1)} as held elsewhere.` : "";
  const text = `${ms(from)} to ${ms(to)} ms: ${told || "nothing"}.${choices}`;
  $("#timeline-says").textContent = text;
  canvas.setAttribute("aria-label", `Operations of flash, ${text}`);
}

/** The colours of the style as pixels. */
function colours(): Uint32Array {
  const style = getComputedStyle(document.documentElement);
  return Uint32Array.from({ length: READ + 1 }, (_, at) => {
    const [red, green, blue] = [1, 3, 5].map((place) => Number.parseInt(style.getPropertyValue(`--cause-${COLOURS[at]!}`).trim().slice(place, place + 2), 16));
    return ((255 << 24) | (blue! << 16) | (green! << 8) | red!) >>> 0;
  });
}
