// The view in the page's address: the filter and the choices of the charts, so that a link shows the same view.

const VIEW = "#view?";
const first = { metric: view.metric, x: view.x, by: view.by, interval: view.interval, axis: view.axis };

function writeAddress() {
  const parts = new URLSearchParams();
  if (state.search.trim()) parts.set("filter", state.search.trim());
  for (const [key, code] of state.fixed) parts.append("only", `${key.path}=${key.texts[code]}`);
  if (view.metric !== first.metric) parts.set("metric", view.metric.path);
  if (view.x !== first.x || view.by !== first.by) {
    parts.set("over", view.x.path);
    parts.set("by", view.by?.path ?? "");
  }
  if (view.interval !== first.interval) parts.set("interval", view.interval);
  if (view.axis !== first.axis) parts.set("axis", view.axis);
  const text = parts.toString();
  history.replaceState(null, "", text ? VIEW + text : "#");
}

// Parts of an older link that these runs do not have are ignored.
function readAddress() {
  if (!location.hash.startsWith(VIEW)) return;
  const parts = new URLSearchParams(location.hash.slice(VIEW.length));
  const keyAt = (/** @type {string | null} */ path) => keys.find((key) => key.path === path);
  state.search = parts.get("filter") ?? "";
  for (const only of parts.getAll("only")) {
    const at = only.indexOf("=");
    const key = keyAt(only.slice(0, at));
    const code = key ? key.texts.indexOf(only.slice(at + 1)) : -1;
    if (key && code >= 0) state.fixed.set(key, code);
  }
  view.metric = metricAt.get(parts.get("metric") ?? "") ?? view.metric;
  if (parts.has("by")) view.by = keyAt(parts.get("by")) ?? null;
  view.x = keyAt(parts.get("over")) ?? view.x;
  view.interval = parts.get("interval") ?? view.interval;
  view.axis = parts.get("axis") ?? view.axis;
}

// A link to a section of the page leaves the view in the address.
addEventListener("hashchange", () => { if (!location.hash.startsWith(VIEW)) writeAddress(); });
