/** The drawings: a drive as its blocks and pages, the last victim, and the courses of a measure. */

import type { Point } from "./drive";
import type { Victim } from "./kernel";

/** What a page of flash is to the reader. */
export type PageKind = "free" | "invalid" | "valid" | "same" | "newer";
const KINDS: readonly PageKind[] = ["free", "invalid", "valid", "same", "newer"];

/** What a page's byte of the kernel says. See `Lab` in lab/core/src/lab.rs. */
export function kindOf(byte: number): PageKind {
  const state = byte & 3;
  if (state !== 2) return state === 0 ? "free" : "invalid";
  const elsewhere = (byte >> 2) & 3;
  return elsewhere === 0 ? "valid" : elsewhere === 1 ? "same" : "newer";
}

/** Whether GC knows that another tier holds the page. */
export const isMarked = (byte: number): boolean => (byte & 0x30) !== 0;

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
function fit(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } {
  const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio];
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

function hatch(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.moveTo(x, y + size);
  context.lineTo(x + size, y);
}

/** Draw all blocks of a drive, each a square of its pages; the last victim has a frame. */
export function drawDrive(
  canvas: HTMLCanvasElement,
  { bytes, perBlock }: { bytes: Uint8Array; perBlock: number },
  victim: number | null,
  colours: Palette,
): void {
  const { context, width } = fit(canvas);
  const blocks = bytes.length / perBlock;
  const [across, side] = [Math.ceil(Math.sqrt(blocks)), Math.ceil(Math.sqrt(perBlock))];
  const pitch = width / across;
  const cell = (pitch - 4) / side;
  const places: Record<PageKind, Path2D> = {
    free: new Path2D(), invalid: new Path2D(), valid: new Path2D(), same: new Path2D(), newer: new Path2D(),
  };
  context.beginPath();
  for (let page = 0; page < bytes.length; page++) {
    const [block, index] = [Math.floor(page / perBlock), page % perBlock];
    const x = (block % across) * pitch + 2 + (index % side) * cell;
    const y = Math.floor(block / across) * pitch + 2 + Math.floor(index / side) * cell;
    const kind = kindOf(bytes[page]!);
    places[kind].rect(x, y, cell - 0.6, cell - 0.6);
    if (isMarked(bytes[page]!)) hatch(context, x, y, cell - 0.6);
  }
  for (const kind of KINDS) {
    context.fillStyle = colours.kinds[kind];
    context.fill(places[kind]);
  }
  context.strokeStyle = colours.hatch;
  context.lineWidth = Math.max(0.7, cell * 0.14);
  context.stroke();
  if (victim !== null) {
    context.strokeStyle = colours.victim;
    context.lineWidth = 2;
    context.strokeRect((victim % across) * pitch + 0.5, Math.floor(victim / across) * pitch + 0.5, pitch - 1.6, pitch - 1.6);
  }
}

/** Draw the pages of a victim: those that are copied, those that are not. `shown` is the share of them that is done, from 0 to 1. */
export function drawVictim(canvas: HTMLCanvasElement, victim: Victim | null, perBlock: number, shown: number, colours: Palette): void {
  const { context, width } = fit(canvas);
  const side = Math.ceil(Math.sqrt(perBlock));
  const cell = width / side;
  const answers = new Map(victim?.pages.map(({ index, answer }) => [index, answer]));
  const done = victim === null ? 0 : Math.round(victim.pages.length * shown);
  const doneOnes = new Set(victim?.pages.slice(0, done).map(({ index }) => index));
  for (let index = 0; index < perBlock; index++) {
    const [x, y] = [(index % side) * cell, Math.floor(index / side) * cell];
    const answer = answers.get(index);
    const gone = answer === "dropped" && doneOnes.has(index);
    context.fillStyle = victim === null ? colours.kinds.free : answer === undefined ? colours.kinds.invalid : gone ? colours.paper : answer === "dropped" || answer === "moved-in" ? colours.kinds.same : answer === "copied" ? colours.kinds.valid : colours.kinds.newer;
    context.fillRect(x, y, cell - 1.5, cell - 1.5);
    if (answer === undefined) continue;
    if (answer !== "copied") {
      context.beginPath();
      hatch(context, x, y, cell - 1.5);
      context.strokeStyle = gone ? colours.grid : colours.hatch;
      context.stroke();
    }
    if (answer !== "dropped" && doneOnes.has(index)) arrow(context, x, y, cell, colours.paper);
  }
}

/** Draw that a page goes to another block. */
function arrow(context: CanvasRenderingContext2D, x: number, y: number, cell: number, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  const [left, right, middle, size] = [x + cell * 0.22, x + cell * 0.75, y + cell * 0.5, cell * 0.22];
  context.moveTo(right, middle);
  context.lineTo(right - size, middle - size);
  context.lineTo(right - size, middle + size);
  context.fill();
  context.fillRect(left, middle - cell * 0.06, right - size - left, cell * 0.12);
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
