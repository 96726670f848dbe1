/** What all pictures use: the colours, the pages of flash; and the courses of a measure. */

import type { Point } from "./drive";

/** What a page of flash is to the reader; "told" is waste, of which flash was told early, and "room" stays free after a cleaning. */
const KINDS = ["free", "invalid", "told", "valid", "same", "newer", "room"] as const;
export type PageKind = (typeof KINDS)[number];

/** What a page's word of the kernel says. See `Lab` in lab/core/src/lab.rs. */
export function kindOf(word: number): PageKind {
  const state = word & 3;
  if (state !== 2) return state === 0 ? "free" : state === 1 ? "invalid" : "told";
  const elsewhere = (word >> 2) & 3;
  return elsewhere === 0 ? "valid" : elsewhere === 1 ? "same" : "newer";
}

/** Whether GC knows that another tier holds the page. */
export const isMarked = (word: number): boolean => (word & 0x30) !== 0;

/** Return the colours of the page, as its style has them now. */
export function palette(root: Element) {
  const style = getComputedStyle(root);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, colour(`--page-${kind}`)])) as Record<PageKind, string>;
  return { soft: colour("--soft"), kinds, hatch: colour("--hatch"), victim: colour("--worse") };
}
export type Palette = ReturnType<typeof palette>;

/** Where a page is in a picture. */
export interface Place {
  x: number;
  y: number;
  size: number;
}

/** Fit a canvas to its place, at the screen's own resolution; returns its context, and its size in CSS pixels. */
export function fit(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } {
  const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** Paint a page of flash. Kinds differ by a mark as well: newer data has a dot, the same data a bar, early waste a ring, room a frame. */
export function paintPage(context: CanvasRenderingContext2D, kind: PageKind, marked: boolean, { x, y, size }: Place, colours: Palette): void {
  const inner = size - Math.max(0.6, size * 0.08);
  context.fillStyle = colours.kinds[kind === "room" ? "free" : kind];
  context.fillRect(x, y, inner, inner);
  context.fillStyle = colours.hatch;
  if (kind === "newer") context.fillRect(x + inner * 0.34, y + inner * 0.34, inner * 0.32, inner * 0.32);
  if (kind === "same") context.fillRect(x + inner * 0.2, y + inner * 0.42, inner * 0.6, inner * 0.16);
  context.lineWidth = Math.max(0.7, size * 0.1);
  if (kind === "told" || kind === "room") {
    const inset = inner * (kind === "told" ? 0.25 : 0.08);
    context.strokeStyle = colours.kinds[kind === "told" ? "newer" : kind];
    context.strokeRect(x + inset, y + inset, inner - 2 * inset, inner - 2 * inset);
  }
  if (!marked) return;
  context.strokeStyle = colours.hatch;
  context.beginPath();
  context.moveTo(x, y + inner);
  context.lineTo(x + inner, y);
  context.stroke();
}

/** Paint pages by their words. */
export function paintPages(context: CanvasRenderingContext2D, words: Uint32Array, place: (at: number) => Place, colours: Palette): void {
  words.forEach((word, at) => paintPage(context, kindOf(word), isMarked(word), place(at), colours));
}

/** Draw the courses of the measure as lines of an SVG, from 0 up; they are told apart by colour and by dash, which are the style's. */
export function drawChart(svg: SVGSVGElement, courses: readonly (readonly Point[])[]): void {
  const all = courses.flat();
  const [top, last] = [Math.max(2, ...all.map(({ value }) => value)), Math.max(1000, ...all.map(({ requests }) => requests))];
  const first = Math.min(last, ...all.map(({ requests }) => requests));
  const line = (course: readonly Point[]): string => course.map(({ requests, value }) => `${(1000 * (requests - first)) / (last - first || 1)},${100 - (100 * value) / top}`).join(" ");
  const steps = Array.from({ length: Math.floor(top) + 1 }, (_, value) => `<path d="M0 ${100 - (100 * value) / top}h1000"/>`).join("");
  svg.innerHTML = steps + courses.map((course, at) => `<polyline class="course-${at}" points="${line(course)}"/>`).join("");
  svg.nextElementSibling!.textContent = `from 0 to ${top.toFixed(1)}, a line for each whole number; after ${last.toLocaleString("en")} requests`;
}
