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
  version: string;
  title: string;
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
  /** Schemes with those between, of whose runs the shares follow, and the option of a sweep over them. */
  between: { schemes: string[]; vary: string }[];
  /** What their intervals and tests are. */
  method: string[];
  kinds: Kind[];
  lines: string[];
  scenarios: number[][];
  hashes: string[];
  /** The labels of the runs without their seeds. */
  points: string[];
  series: string[];
  details: Shape[];
  runs: Facts[];
  scales: Partial<Record<Unit, Scale[]>>;
  /** Null where the runs are not those of a search. */
  search: Search | null;
  units: Record<string, number>;
  /** Layers of charts, with holes; and what their looks and ticks are made of. */
  charts: {
    lines: object[]; steps: object[]; bars: object[]; config: object;
    dashes: number[][]; markers: string[]; labels: Record<string, string>;
  };
}

declare function vegaEmbed(holder: HTMLElement, spec: object, options: object): Promise<{ view: any }>;


/** The ends of an interval, and the p-value of a test. */
type Interval = [number, number, number];

interface Why {
  key: string;
  from: Code;
  to: Code;
  runs: Run[];
  base: number;
  whole: number;
  shares: Record<string, number>;
}

interface Difference {
  key: string;
  from: Code;
  to: Code;
  /** The values of the other keys. */
  where: string;
  runs: Run[];
  measures: { path: string; baseline: number; mean: number; pairs: number; seeds: Interval | null; slices: Interval | null }[];
}

/** A factor, and the name of the unit. */
type Scale = [number, string];

interface Objective { path: string; label: string; unit: Unit; minimised: boolean }

interface Trial { number: number; found: number[]; allowed: boolean; front: boolean }

interface Search {
  objectives: Objective[];
  subject_to: string[];
  /** Their codes are those of the trials. */
  keys: Key[];
  trials: Trial[];
  failed: number;
  importance: Record<string, number>[];
}

interface Key {
  path: string;
  label: string;
  unit: string;
  texts: string[];
  numbers: number[] | null;
  codes: Code[];
  along: string[];
  /** Whether each run has a part of a system on which the key acts; not of a search. */
  acts?: boolean[];
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

/** Numbers of all, read and write times, of windows; the length of a window in ns; of erase bins; of sizes. */
type Shape = [number, number, number, number, number, number, number];

interface Times { ns: number[]; through: number[] }

interface Details extends Record<Kind, Times> {
  windows: number;
  windowNs: number;
  series: Record<string, Numbers>;
  erases: { from: number[]; blocks: number[] };
  divided: Record<"atNs" | "clean" | "dirty" | "allowed", number[]>;
}

// ---- Charts ----

interface Look {
  place?: number; ramp?: number; cause?: string; dash?: number; symbol?: number; fill?: number;
  /** Whether no line joins its points. */
  points?: boolean;
}

interface Point {
  x: number;
  y: number | null;
  from?: number;
  low?: number;
  high?: number;
  text?: string;
  /** How many runs it is the mean of. */
  n?: number;
  /** Whether no line comes from the point before, whose runs are not alike in all else. */
  apart?: boolean;
}

interface Line { name: string; look: Look; points: Point[]; step?: boolean; area?: boolean; markers?: boolean; shift?: number }

interface Tick { at: number; text: string }

interface Axis {
  label: string;
  unit?: Unit;
  low: number;
  high: number;
  log?: boolean;
  /** Whether its ends are made round. */
  nice?: boolean;
  ticks?: Tick[];
  /** Whether it has lines across the chart; without a word, the look says so. */
  grid?: boolean;
  /** The expression of the text of a tick, other than that of its unit. */
  labels?: string;
  /** Where a value is on the axis, if elsewhere than at itself. */
  place?: (value: number) => number;
  show: (value: number) => string;
}

/** `from` is where the first part begins; `text` stands behind the last. */
interface BarRow { label: string; from?: number; text?: string; parts: { name: string; look: Look; value: number }[] }

interface Legend { name: string; look: Look; fixed?: boolean }

interface DataTable { columns: string[]; rows: (string | number | null | undefined)[][] }

interface ChartBase { legend?: Legend[]; summary?: string; table: () => DataTable; zoomable?: boolean; at?: Frame }

interface LineChart extends ChartBase { x: Axis; y: Axis; lines: Line[]; bars?: undefined }

interface BarChart extends ChartBase {
  bars: { rows: BarRow[]; x: Axis; show: (value: number) => string };
  hits?: Hit[];
}

type Chart = LineChart | BarChart;

/** A sentence where there is nothing to draw. */
type Drawing = Chart | string;

type Zoom = [number, number] | null;

/** Where a drawn chart is, and its scales: `value` is what an offset across shows. */
interface Frame { left: number; top: number; w: number; h: number; px: (x: number) => number; py: (y: number) => number; value: (px: number) => number }

interface Hit { x0: number; x1: number; y0: number; y1: number; row: BarRow; part: BarRow["parts"][number] }

type Make = (zoom: Zoom, hidden: Set<string>) => Drawing;

interface Colours {
  ink: string;
  soft: string;
  line: string;
  grid: string;
  paper: string;
  series: string[];
  ramp: string[];
  cause: Record<string, string>;
}

interface FigureOptions {
  title: string;
  make: Make;
  note?: string;
  height?: (width: number, chart: Chart) => number;
  legend?: boolean;
  small?: boolean;
  onPick?: (() => void) | null;
  metric?: Metric | null;
}
