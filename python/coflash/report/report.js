"use strict";

const charts = JSON.parse(document.getElementById("charts").textContent);

// What the reader has chosen holds for every chart: a cache size picked at one is meant for all.
const chosen = {};

// On a touch screen a drag scrolls the page, so charts do not zoom, and there is no pointer to rest on their tools.
const coarse = matchMedia("(hover: none)");

const config = {
  displayModeBar: coarse.matches ? false : "hover",
  displaylogo: false,
  responsive: true,
  scrollZoom: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d", "pan2d"],
};

function look() {
  const axis = {
    color: "var(--soft)", gridcolor: "var(--grid)", linecolor: "var(--line)", zeroline: false,
    title: { font: { size: 12 }, standoff: 10 }, automargin: true, fixedrange: coarse.matches,
    ticks: "outside", ticklen: 5, tickcolor: "rgba(0,0,0,0)",
  };
  return {
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "var(--soft)" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 12, b: 8 }, showlegend: false, hovermode: "x unified", dragmode: "zoom",
    hoverlabel: { bgcolor: "var(--paper)", bordercolor: "var(--line)", font: { color: "var(--ink)" } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "var(--line)", activecolor: "var(--soft)" },
    xaxis: axis, yaxis: axis,
  };
}

function merged(base, over) {
  const both = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const nested = value && typeof value === "object" && !Array.isArray(value) && both[key];
    both[key] = nested ? merged(both[key], value) : value;
  }
  return both;
}

// A copy in which every name of a variable is the colour that the style sheet gives it now.
function coloured(value, style) {
  if (typeof value === "string") {
    const name = /^var\((--[\w-]+)\)$/.exec(value);
    return name ? style.getPropertyValue(name[1]).trim() : value;
  }
  if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((item) => coloured(item, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item, style)]));
  }
  return value;
}

function draw(plot) {
  const chart = charts[plot.dataset.chart];
  const style = getComputedStyle(document.documentElement);
  const shown = chart.data.filter((trace) =>
    chart.controls.every((key) => !(key in (trace.meta ?? {})) || trace.meta[key] === chosen[key]));
  Plotly.react(plot, coloured(shown, style), coloured(merged(look(), chart.layout), style), config);
}

function drawAll() {
  document.querySelectorAll(".plot").forEach(draw);
}

// A row of choices for each control of a section's charts; a cache of middling size is the fairest start.
function offerChoices(section, number) {
  const within = [...section.querySelectorAll(".plot")].map((plot) => charts[plot.dataset.chart]);
  for (const key of new Set(within.flatMap((chart) => chart.controls))) {
    const traces = within.flatMap((chart) => chart.data);
    const values = [...new Set(traces.map((trace) => trace.meta?.[key]).filter(Boolean))];
    chosen[key] ??= key === "cache" ? values[Math.floor(values.length / 2)] : values[0];
    const field = document.createElement("fieldset");
    field.innerHTML = "<legend></legend>";
    field.firstChild.textContent = key;
    for (const value of values) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      const text = document.createElement("span");
      Object.assign(input, { type: "radio", name: `${key}-${number}`, value, checked: value === chosen[key] });
      input.dataset.key = key;
      text.textContent = value;
      label.append(input, text);
      field.append(label);
    }
    section.querySelector(".controls").append(field);
  }
}

document.querySelectorAll("section:has(.plot)").forEach(offerChoices);
document.addEventListener("change", ({ target }) => {
  if (!target.dataset.key) return;
  chosen[target.dataset.key] = target.value;
  document.querySelectorAll(`input[data-key="${target.dataset.key}"]`).forEach((input) => {
    input.checked = input.value === target.value;
  });
  drawAll();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
drawAll();
