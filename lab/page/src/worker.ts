/** The worker, as the page sees it. */

import { wrap } from "comlink";
import type * as flash from "./flash";

declare const WORK: string;

export const worker = wrap<typeof flash>(new Worker(URL.createObjectURL(new Blob([WORK], { type: "text/javascript" }))));
