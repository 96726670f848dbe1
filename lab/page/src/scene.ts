/** A victim of GC as a scene: the way of each of its pages, to a new block or to the cache, and then the drive whole. */

import { type Palette, type PageKind, type Place, fit, isMarked, kindOf, paintPage, paintPages } from "./draw";
import type { Victim } from "./kernel";

/** What becomes of a page of a victim: it is copied, copied in vain, taken from its slot, dropped to its slot, or left as waste, early
 * so or not. */
export type Fate = "copied" | "wasted" | "from-slot" | "dropped" | "spared" | "left";

interface ScenePage {
  lpn: number;
  kind: PageKind;
  isMarked: boolean;
  fate: Fate;
  /** The place of its slot among those of the cache; -1 if the cache does not hold it. */
  slot: number;
}

/** When the pages go, when all have gone, when the dropped ones may return, when the victim is erased, and when the view goes out, in ms. */
const GO_MS = 700;
const GONE_MS = 3600;
const LATER_MS = 4600;
const ERASE_MS = 5300;
const OUT_MS = 5800;
export const SCENE_MS = 6400;
const FLIGHT_MS = 450;
/** When a scene stands still that a reader asked for. */
export const HOLD_MS = GONE_MS;

/** Whether the drive is seen whole at a time, or is about to be. */
export const isWhole = (time: number): boolean => time > OUT_MS;
export const isLater = (time: number): boolean => time > LATER_MS && !isWhole(time);

/** Make a scene of a victim, with the words of its pages before the request, and those of the cache as it was, one for each slot in use. */
export function sceneOf(victim: Victim, before: Uint32Array, held: Uint32Array) {
  const places = new Map(Array.from(held, (word, place) => [word >>> 8, place]));
  const answers = new Map(victim.pages.map((page) => [page.index, page]));
  const pages = Array.from(before, (word, index): ScenePage => {
    const [answer, lpn, was] = [answers.get(index), word >>> 8, kindOf(word)];
    const slot = was === "free" || was === "invalid" ? -1 : places.get(lpn) ?? -1;
    const page = { lpn, kind: was, isMarked: isMarked(word), slot };
    if (answer === undefined) return { ...page, fate: was === "told" && slot >= 0 ? "spared" : "left" };
    if (answer.answer === "dropped" || answer.answer === "moved-in") return { ...page, fate: "dropped" };
    if (answer.answer === "from-buffer") return { ...page, kind: "newer", fate: "from-slot" };
    return { ...page, kind: answer.held === 2 ? "newer" : answer.held === 1 ? "same" : "valid", fate: answer.held === 2 ? "wasted" : "copied" };
  });
  /** The logical pages that were dropped, and are in flash again. */
  const returned = new Set<number>();
  return { victim, pages, held, returned };
}
export type Scene = ReturnType<typeof sceneOf>;

/** Note which of the dropped pages are in flash again. */
export function noteReturned({ pages, returned }: Scene, words: Uint32Array): void {
  const inFlash = new Set(Array.from(words).filter((word) => (word & 3) === 2).map((word) => word >>> 8));
  for (const { fate, lpn } of pages) if (fate === "dropped" && inFlash.has(lpn)) returned.add(lpn);
}

/** How far each page has gone at a time, from 0 to 1, in the order of the block. */
function progress({ pages }: Scene, time: number): number[] {
  const moving = pages.filter(({ fate }) => fate !== "left").length;
  let turn = 0;
  return pages.map(({ fate }) => {
    if (fate === "left") return 0;
    const begins = GO_MS + ((GONE_MS - GO_MS - FLIGHT_MS) * turn++) / Math.max(1, moving - 1);
    return Math.min(1, Math.max(0, (time - begins) / FLIGHT_MS));
  });
}

/** The copies of a scene until a time, and those of them that were in vain. */
export function tally(scene: Scene, time: number): { copied: number; wasted: number } {
  const done = progress(scene, time).map((far, at) => (far === 1 ? scene.pages[at]!.fate : "left"));
  const wasted = done.filter((fate) => fate === "wasted").length;
  return { copied: wasted + done.filter((fate) => fate === "copied" || fate === "from-slot").length, wasted };
}

/** A field of squares, row by row. */
type Field = Place & { across: number };
const cellOf = ({ x, y, size, across }: Field, at: number): Place => ({ x: x + (at % across) * size, y: y + Math.floor(at / across) * size, size });
const between = (one: Place, other: Place, share: number): Place => ({
  x: one.x + (other.x - one.x) * share, y: one.y + (other.y - one.y) * share, size: one.size + (other.size - one.size) * share,
});
const eased = (share: number): number => share * share * (3 - 2 * share);

/** Fit a number of squares into a field. */
function fitted(count: number, x: number, y: number, width: number, height: number, sizeMax: number): Field {
  let best = { x, y, size: 0, across: 1 };
  for (let across = 1; across <= count; across++) {
    const size = Math.min(sizeMax, width / across, height / Math.ceil(count / across));
    const isEven = count % across === 0;
    if (size > best.size * (isEven ? 0.9 : 1)) best = { x, y, size, across };
  }
  return best;
}

const LABEL = 18;

/** Where all parts of the picture are. The drive whole leaves room for `bars` above it. */
function layout(width: number, height: number, blocks: number, perBlock: number, slots: number, bars: number) {
  const cacheHeight = slots > 0 ? Math.min(height * 0.28, Math.max(50, width * 0.16)) : 0;
  const cache = fitted(slots, 0, height - cacheHeight + LABEL, width, cacheHeight - LABEL, width / 42);
  const upper = height - cacheHeight - (slots > 0 ? 14 : 0);
  const side = Math.ceil(Math.sqrt(perBlock));
  const isTall = upper > width * 0.75;
  const large = isTall ? Math.min(width, (upper - 2 * LABEL) * 0.66) / side : Math.min(width * 0.45, upper - LABEL) / side;
  const victim: Field = { x: isTall ? (width - large * side) / 2 : 0, y: LABEL, size: large, across: side };
  const below = LABEL + large * side + LABEL + 4;
  const copies: Field = isTall
    ? fitted(perBlock, 0, below, width, upper - below, large)
    : { x: width - large * side, y: LABEL, size: large, across: side };
  const drive = fitted(blocks, 0, bars + LABEL, width, upper - bars - LABEL, width);
  return { cache, victim, copies, drive, isTall };
}

/** Draw a scene at a time; without one, the drive whole. `lastBlock` has a frame. */
export function drawScene(
  canvas: HTMLCanvasElement,
  { words, perBlock }: { words: Uint32Array; perBlock: number },
  heldNow: Uint32Array,
  { scene, time, lastBlock, tier, colours, bars }: { scene: Scene | null; time: number; lastBlock: number | null; tier: string; colours: Palette; bars: number },
): void {
  const { context, width, height } = fit(canvas);
  const blocks = words.length / perBlock;
  const held = scene?.held ?? heldNow;
  const places = layout(width, height, blocks, perBlock, tier ? held.length : 0, bars);
  const out = scene === null ? 1 : eased(Math.min(1, Math.max(0, (time - OUT_MS) / (SCENE_MS - OUT_MS))));
  const blockPlace = (block: number): Field => {
    const { x, y, size } = cellOf(places.drive, block);
    const side = Math.ceil(Math.sqrt(perBlock));
    return { x: x + 2, y: y + 2, size: (size - 4) / side, across: side };
  };
  if (out > 0) {
    context.globalAlpha = out;
    label(context, "the whole drive, block by block", 0, places.drive.y - 5, colours);
    for (let block = 0; block < blocks; block++) {
      if (out === 1 || block !== scene!.victim.block) paintPages(context, words.subarray(block * perBlock, (block + 1) * perBlock), (at) => cellOf(blockPlace(block), at), colours);
    }
    if (lastBlock !== null) {
      const { x, y, size, across } = blockPlace(lastBlock);
      context.strokeStyle = colours.victim;
      context.lineWidth = 2;
      context.strokeRect(x - 1.5, y - 1.5, size * across + 2.4, size * across + 2.4);
    }
  }
  context.globalAlpha = 1;
  if (tier) {
    label(context, tier, 0, places.cache.y - 5, colours);
    paintPages(context, held.map((word) => (scene?.returned.has(word >>> 8) ? 0 : 2 | word)), (at) => cellOf(places.cache, at), colours);
  }
  if (scene !== null && out < 1) {
    context.globalAlpha = 1 - out;
    drawVictim(context, scene, time, { ...places, victim: { ...between(places.victim, blockPlace(scene.victim.block), out), across: places.victim.across } }, colours);
  }
  context.globalAlpha = 1;
}

function drawVictim(context: CanvasRenderingContext2D, scene: Scene, time: number, { victim, copies, cache, isTall }: ReturnType<typeof layout>, colours: Palette): void {
  const [isErased, alpha] = [time > ERASE_MS, context.globalAlpha];
  label(context, isErased ? "erased: empty again" : "the block it cleans next", victim.x, victim.y - 5, colours);
  const far = progress(scene, time);
  const { copied } = tally(scene, time);
  const later = scene.returned.size > 0 ? `, ${scene.returned.size} written back later` : "";
  const free = scene.pages.length - copied - scene.returned.size;
  const [short, long] = time < GONE_MS ? ["↓ copies in a new block", "copies in a new block"] : [`↓ ${copied} copied${later}, ${free} free`, `${copied} copies${later}, ${free} free`];
  label(context, isTall ? short : long, copies.x, copies.y - 5, colours);
  scene.pages.forEach((_, at) => paintPage(context, time >= GONE_MS && at >= copied ? "room" : "free", false, cellOf(copies, at), colours));
  if (!isTall) label(context, "→", (victim.x + victim.size * victim.across + copies.x) / 2 - 8, copies.y + (copies.size * copies.across) / 2, colours, 1.5);
  let copy = 0;
  scene.pages.forEach((page, at) => {
    const [home, share] = [cellOf(victim, at), eased(far[at]!)];
    const slot = page.slot < 0 ? home : cellOf(cache, page.slot);
    const isCopied = page.fate === "copied" || page.fate === "wasted" || page.fate === "from-slot";
    const target = isCopied ? cellOf(copies, copy++) : page.fate === "dropped" ? slot : home;
    const isAway = share > 0 && page.fate !== "spared" && page.fate !== "left";
    context.globalAlpha = alpha * (isAway ? 0.25 : 1);
    paintPage(context, isErased ? "free" : page.kind, page.isMarked && !isErased, home, colours);
    context.globalAlpha = alpha;
    // Without cooperation no word goes from the cache to flash.
    if (share > 0 && page.slot >= 0 && page.fate !== "copied" && page.fate !== "wasted") arrow(context, slot, home, page.fate, isErased ? 0.12 : share < 1 ? 0.9 : 0.4, colours);
    if (isAway && (isCopied || share < 1)) paintPage(context, page.kind, page.isMarked, between(page.fate === "from-slot" ? slot : home, target, share), colours);
  });
  // What was dropped and is written again rises from its slot, to the end of the new block.
  let last = scene.pages.length;
  for (const page of scene.pages) {
    if (page.fate !== "dropped" || !scene.returned.has(page.lpn)) continue;
    const target = cellOf(copies, --last);
    arrow(context, cellOf(cache, page.slot), target, "dropped", 0.9, colours);
    paintPage(context, "same", true, target, colours);
  }
}

function arrow(context: CanvasRenderingContext2D, from: Place, to: Place, fate: Fate, alpha: number, colours: Palette): void {
  context.save();
  context.globalAlpha *= alpha;
  context.strokeStyle = fate === "dropped" ? colours.kinds.same : colours.kinds.newer;
  context.lineWidth = 1.5;
  const [x, y] = [to.x + to.size / 2, to.y + to.size / 2];
  const [dx, dy] = [x - from.x - from.size / 2, y - from.y - from.size / 2];
  context.translate(x, y);
  context.rotate(Math.atan2(dy, dx));
  context.stroke(new Path2D(`M${-Math.hypot(dx, dy)} 0H0M-9 -5L0 0L-9 5`));
  context.restore();
}

function label(context: CanvasRenderingContext2D, text: string, x: number, y: number, colours: Palette, size = 0.82): void {
  context.font = `${size * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = colours.soft;
  context.fillText(text, x, y, context.canvas.clientWidth - x);
}
