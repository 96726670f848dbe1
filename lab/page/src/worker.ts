/** The worker, as the page sees it. */

import { wrap } from "comlink";
import type { Acts } from "./work";

declare const WORK: string;

export const worker = wrap<Acts>(new Worker(URL.createObjectURL(new Blob([WORK], { type: "text/javascript" }))));
