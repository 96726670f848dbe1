/** What all pictures use: the colours, the pages of flash; and the courses of a measure. */

import type { Point } from "./drive";

/** What a page of flash is to the reader; "told" is waste, of which flash was told early. */
export type PageKind = "free" | "invalid" | "told" | "valid" | "same" | "newer";
const KINDS: readonly PageKind[] = ["free", "invalid", "told", "valid", "same", "newer"];

/** What a page's word of the kernel says. See `Lab` in lab/core/src/lab.rs. */
export function kindOf(word: number): PageKind {
  const state = word & 3;
  if (state !== 2) return state === 0 ? "free" : state === 1 ? "invalid" : "told";
  const elsewhere = (word >> 2) & 3;
  return elsewhere === 0 ? "valid" : elsewhere === 1 ? "same" : "newer";
}

/** Whether GC knows that another tier holds the page. */
export const isMarked = (word: number): boolean => (word & 0x30) !== 0;

/** The colours of the page, as its style has them now. */
export interface Palette {
  ink: string;
  soft: string;
  grid: string;
  paper: string;
  kinds: Record<PageKind, string>;
  hatch: string;
  victim: string;
  lines: readonly string[];
}

export function palette(root: Element): Palette {
  const style = getComputedStyle(root);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, colour(`--page-${kind}`)])) as Record<PageKind, string>;
  return {
    ink: colour("--ink"),
    soft: colour("--soft"),
    grid: colour("--grid"),
    paper: colour("--paper"),
    kinds,
    hatch: colour("--hatch"),
    victim: colour("--worse"),
    lines: [colour("--series-0"), colour("--series-1"), colour("--series-3")],
  };
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

/** Paint a page of flash. Kinds differ by a mark as well: newer data has a dot, the same data a bar, early waste a ring. */
export function paintPage(context: CanvasRenderingContext2D, kind: PageKind, marked: boolean, { x, y, size }: { x: number; y: number; size: number }, colours: Palette): void {
  const inner = size - Math.max(0.6, size * 0.08);
  context.fillStyle = colours.kinds[kind];
  context.fillRect(x, y, inner, inner);
  context.fillStyle = colours.hatch;
  if (kind === "newer") context.fillRect(x + inner * 0.34, y + inner * 0.34, inner * 0.32, inner * 0.32);
  if (kind === "same") context.fillRect(x + inner * 0.2, y + inner * 0.42, inner * 0.6, inner * 0.16);
  context.lineWidth = Math.max(0.7, size * 0.1);
  if (kind === "told") {
    context.strokeStyle = colours.kinds.newer;
    context.strokeRect(x + inner * 0.25, y + inner * 0.25, inner * 0.5, inner * 0.5);
  }
  if (!marked) return;
  context.strokeStyle = colours.hatch;
  context.beginPath();
  context.moveTo(x, y + inner);
  context.lineTo(x + inner, y);
  context.stroke();
}

/** Paint pages by their words. */
export function paintPages(context: CanvasRenderingContext2D, words: Uint32Array, place: (at: number) => { x: number; y: number; size: number }, colours: Palette): void {
  words.forEach((word, at) => paintPage(context, kindOf(word), isMarked(word), place(at), colours));
}

/** A line of the chart. */
export interface Line {
  name: string;
  course: readonly Point[];
}

/** Draw the courses of the measure, from 0 up. The lines are told apart by colour and by dash. */
export function drawChart(canvas: HTMLCanvasElement, lines: readonly Line[], colours: Palette): void {
  const { context, width, height } = fit(canvas);
  const [left, right, top, bottom] = [34, 8, 10, 22];
  const all = lines.flatMap((line) => line.course);
  const most = Math.max(2, ...all.map((point) => point.value)) * 1.08;
  const first = all.length > 0 ? Math.min(...all.map((point) => point.requests)) : 0;
  const last = Math.max(first + 1000, ...all.map((point) => point.requests));
  const x = (requests: number): number => left + ((requests - first) / (last - first)) * (width - left - right);
  const y = (value: number): number => height - bottom - (value / most) * (height - top - bottom);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  const step = most > 6 ? 2 : 1;
  for (let value = 0; value <= most; value += step) {
    context.strokeStyle = colours.grid;
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - right, y(value));
    context.stroke();
    context.fillStyle = colours.soft;
    context.textAlign = "right";
    context.fillText(String(value), left - 6, y(value));
  }
  context.textAlign = "right";
  context.fillText(`${last.toLocaleString("en")} requests`, width - right, height - 8);
  lines.forEach((line, number) => {
    context.strokeStyle = colours.lines[number]!;
    context.lineWidth = 2;
    context.setLineDash([[], [7, 4], [2, 3]][number]!);
    context.beginPath();
    line.course.forEach((point, index) => {
      if (index === 0) context.moveTo(x(point.requests), y(point.value));
      else context.lineTo(x(point.requests), y(point.value));
    });
    context.stroke();
  });
  context.setLineDash([]);
}
