/** The numbers of a served device: now, over the last minute, and their course. */

import { $ } from "./page";

/** A number as the server tells it once a second; see `_Numbers` in python/coflash/report/live.py. */
export interface Tile {
  label: string;
  now: string;
  minute: string;
  course: (number | null)[];
}

/** Show the numbers. */
export function tellNumbers(tiles: readonly Tile[]): void {
  $("#dashboard").hidden = false;
  $("#dashboard").replaceChildren(...tiles.map(({ label, now, minute, course }) => {
    const most = Math.max(...course.map((value) => value ?? 0)) || 1;
    const points = course.flatMap((value, at) => (value === null ? [] : `${(100 * at) / Math.max(1, course.length - 1)},${29 - (28 * value) / most}`));
    const place = document.createElement("div");
    place.innerHTML = `<dt>${label}</dt><dd><strong>${now}</strong> <small>now</small></dd><dd>${minute} <small>in the last minute</small></dd>
      <dd><svg viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true"><polyline class="course-0" points="${points.join(" ")}"/></svg></dd>`;
    return place;
  }));
}
