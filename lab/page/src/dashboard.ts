/** The numbers of a served device: now, over the last minute, and their course. */

import { $ } from "./page";

/** A number as the server tells it once a second; see `Tiles` in python/coflash/cli/live_display.py. */
export interface Tile {
  label: string;
  now: string;
  minute: string;
  course: number[];
}

/** Show the numbers. */
export function tellNumbers(tiles: readonly Tile[]): void {
  $("#dashboard").hidden = false;
  $("#dashboard").innerHTML = tiles.map(({ label, now, minute, course }) => {
    const most = Math.max(...course) || 1;
    const points = course.map((value, at) => `${(100 * at) / Math.max(1, course.length - 1)},${29 - (28 * value) / most}`);
    return `<div><dt>${label}</dt><dd><strong>${now}</strong> <small>now</small></dd><dd>${minute} <small>in the last minute</small></dd>
      <dd><svg viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true"><polyline class="course-0" points="${points.join(" ")}"/></svg></dd></div>`;
  }).join("");
}
