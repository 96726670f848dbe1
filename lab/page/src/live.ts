/** A device that is being served: what its flash does comes as it happens, and the timeline grows. */

import { $, number } from "./page";
import { KEPT, Kept, open } from "./recording";
import { grow } from "./timeline";

/** What the server tells: a part of a session, as the files of a recorded run, in base64; clients; and news, such as a power cut. */
interface Told {
  session: string;
  operations: string;
  decisions: string;
  left_out: number;
  clients: number;
  told: string[];
}

const NEWS_MAX = 20;
const kept = new Kept();
let leftOut = 0;

/** Return the name of the device that an address asks for; null if it asks for none. */
export const servedDevice = (hash: string): string | null => new URLSearchParams(hash.replace(/^#/, "")).get("live");

/** Show recorded runs, and nothing else: no kernel is needed. */
export function showRecords(title = "What flash did in a recorded run"): void {
  document.body.classList.add("records");
  document.title = $("#question").textContent = title;
  $<HTMLDetailsElement>("#recorded-run").open = true;
}

/** Show what a device does, and nothing else. */
export function watchDevice(name: string): void {
  showRecords(`${name}: flash at work`);
  document.body.classList.add("live");
  $("#live").hidden = false;
  const source = new EventSource("operations");
  // One after the other: to open a table takes a while.
  let taken = Promise.resolve();
  source.addEventListener("message", ({ data }) => { taken = taken.then(() => take(JSON.parse(data as string) as Told)); });
  source.addEventListener("error", () => { say("The device is not served any more, or its server does not answer. What has come stays."); });
}

async function take({ session, operations, decisions, left_out, clients, told }: Told): Promise<void> {
  kept.goOn(session);
  for (const part of [operations, decisions].filter(Boolean)) {
    const found = await open(Uint8Array.from(atob(part), (letter) => letter.charCodeAt(0)).buffer);
    if ("victims" in found) kept.addVictims(found.victims);
    else kept.add(found.operations);
  }
  if (operations) grow(kept);
  leftOut += left_out;
  const gone = leftOut > 0 ? ` ${number(leftOut)} came too fast and are left out.` : "";
  say(`${clients === 1 ? "1 client is" : `${number(clients)} clients are`} connected. The newest ${number(KEPT)} operations of flash are kept.${gone}`);
  for (const text of told) {
    const line = document.createElement("li");
    line.textContent = `${new Date().toLocaleTimeString("en-GB")} ${text}`;
    $("#news").prepend(line);
    $("#news").children[NEWS_MAX]?.remove();
  }
}

/** Say it once: it is read aloud. */
function say(text: string): void {
  if ($("#live-state").textContent !== text) $("#live-state").textContent = text;
}
