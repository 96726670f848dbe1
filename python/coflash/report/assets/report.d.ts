// What the page is given (`payload.py` writes it), and what its charts are made of.

/** The place of a run in every column. */
type Run = number;
/** The place of a value among the values of a key. */
type Code = number;
type Unit = "ns" | "bytes" | "share" | "ratio" | "" | "count" | "pages" | "blocks" | "requests" | "1/s" | "bytes/s" | "J" | "nJ" | "years";
type Better = "less" | "more" | "neither";
type Kind = "all" | "read" | "write";
type Numbers = (number | null)[];

interface Data {
  baseline: string;
  /** The value to which the first comparison goes; empty for the last one. */
  target: string;
  labels: string[];
  keys: Key[];
  metrics: Metric[];
  sections: Section[];
  causes: Record<string, string>;
  /** Whether traces are replayed, which are the same for every seed. */
  replayed: boolean;
  /** Paired differences between runs that are alike in all but one key; none where there are many runs. */
  differences: Difference[];
  /** Exact shares of differences of flash programs. */
  whys: Why[];
  /** Schemes with those between, of whose runs the shares follow, and how a sweep over them is had. */
  between: { schemes: string[]; said: string }[];
  /** What their intervals and tests are. */
  method: string[];
  /** The bounds of Student's t for 95 %, by degrees of freedom from 1 on. */
  t: number[];
  kinds: Kind[];
  lines: string[];
  scenarios: number[][];
  hashes: string[];
  /** The labels of the runs without their seeds. */
  points: string[];
  /** What is shown over time; `path` names it in files. */
  courses: { title: string; unit: Unit; path: string }[];
  details: Details[];
  /** What is shown at first: the keys of axis and lines by their places, and the runs that are drawn. */
  first: { over: number | null; by: number | null; runs: Run[] };
  runs: Facts[];
  scales: Partial<Record<Unit, Scale[]>>;
  /** Null where the runs are not those of a search. */
  search: Search | null;
  units: Record<string, number>;
  /** Layers of charts, with holes; and what their looks and ticks are made of. */
  charts: {
    lines: object[]; steps: object[]; courses: object[]; bars: object[]; config: object;
    dashes: number[][]; markers: string[]; labels: Record<string, string>;
  };
}

declare function vegaEmbed(holder: HTMLElement, spec: object, options: object): Promise<{ view: any }>;


interface Step {
  label: string;
  by: number;
}

interface Why {
  key: string;
  from: Code;
  to: Code;
  runs: Run[];
  base: number;
  whole: number;
  shares: Record<string, number>;
}

/** `rows` are texts: a measure, its baseline, the difference, and its intervals; `title` says of which runs. */
interface Difference { key: string; from: Code; to: Code; runs: Run[]; title: string; rows: string[][] }

/** A factor, and the name of the unit. */
type Scale = [number, string];

/** The charts of a search, those of its keys apart, with the title of these. */
interface Search { about: string; charts: Titled[]; slices: Titled[]; title: string }

type Titled = Chart & { title: string; note: string };

interface Key {
  path: string;
  label: string;
  texts: string[];
  numbers: number[] | null;
  /** Where its values are on an axis. */
  places: number[];
  codes: Code[];
  /** Whether each run has a part of a system on which the key acts. */
  acts: boolean[];
  values?: undefined;
}

interface Metric {
  path: string;
  label: string;
  unit: Unit;
  about: string;
  better: Better;
  headline: boolean;
  /** The most that a value may be off, as a share of it; 0 where it is exact. */
  bin_width: number;
  values: Numbers;
  codes?: undefined;
  numbers?: undefined;
}

type Column = Key | Metric;

interface Section {
  title: string;
  about: string;
  path: string;
  /** What the measures take for granted: a text for each run. */
  assumed: { label: string; texts: string[] }[];
  measures: { path: string; label: string; about: string; unit: Unit; better: Better; values: Numbers; shares: Numbers | null }[];
}

interface Facts {
  workload: string;
  replay: string;
  inputs: [string, string][];
  remarks: string[];
  coflash: string;
  revision: number;
  seed: number;
  pace: number;
  memory: number | null;
}

/** Packed columns: of times, the times and the requests up to each; the courses in the order of `Data.courses`. */
interface Details extends Record<Kind, string[]> {
  window_ns: number;
  courses: string[];
  erases: string[];
  divided: string[];
}

// ---- Charts ----

/** `dash` of a line, `shape` of its markers, `fill` the opacity of an area. */
interface Look { color: string; dash?: number[]; shape?: string; fill?: number }

type Cell = string | number | null | undefined;

/**
 * What is drawn: a point of a line, or a bar. Other fields are for the data alone.
 * An interval goes from `low` to `high`; an area, or a bar, begins at `from`; `part` is that of a line in pieces.
 */
interface Row {
  name: string;
  x?: number | null;
  y?: number | null;
  low?: number;
  high?: number;
  from?: number;
  part?: number | string;
  /** Its value as text, if other than that of the axis. */
  text?: string;
  /** Of a bar: its row, the name of that, its length and its end, and whether there is room for it. */
  row?: number;
  label?: string;
  value?: number;
  to?: number;
  shown?: boolean;
  /** Where it is read. */
  stop?: number;
  [field: string]: any;
}

interface Axis {
  label: string;
  unit?: Unit;
  log?: boolean;
  /** Whether it begins at zero. */
  zero?: boolean;
  /** Whether its ends are made round. */
  nice?: boolean;
  ticks?: { at: number; text: string }[];
  /** Its greatest value; without a word that of the data. */
  most?: number;
  /** Whether it has lines across the chart; without a word, the look says so. */
  grid?: boolean;
  /** The expression of the text of a tick, other than that of its unit. */
  labels?: string;
  /** Whether a small share is read as 1 in 200, say. */
  odds?: boolean;
}

/** Bars have no `y`. `fields` are the columns of its data, and the fields of its rows. */
interface Chart {
  kind: "lines" | "steps" | "courses" | "bars";
  rows: Row[];
  looks: Record<string, Look>;
  x: Axis;
  y?: Axis;
  fields: Record<string, string>;
  zoomable?: boolean;
}

/** The mean of some runs, at a value of the axis and of the key of the lines. */
interface Point extends Row { y: number; members: Run[]; line: Code; code: Code; runs: number }

/** A sentence where there is nothing to draw. */
type Drawing = Chart | string;

type Zoom = [number, number] | null;

type Make = () => Drawing;

/** A cell of a table: a text, a text with its class, or an element. */
type TableCell = string | [string, string] | HTMLElement;

interface FigureOptions {
  title: string;
  make: Make;
  note?: string;
  height?: (width: number, rows: Row[]) => number;
  legend?: boolean;
  small?: boolean;
  onPick?: (() => void) | null;
  metric?: Metric | null;
}
