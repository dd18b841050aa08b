"use strict";
// What both pages share: data, theme, and how a chart is drawn.
const D = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
root.dataset.theme = wantsDark.matches ? "dark" : "light";

const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
// Plotly reads a little HTML in its texts, so that names from elsewhere are escaped.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (value, digits = 5) =>
  value === null || value === undefined ? "not finite" : String(Number(value.toPrecision(digits)));

const charts = {}; // id -> function that gives {data, layout}
const CONFIG = { responsive: true, displayModeBar: false, displaylogo: false };

function axis(more) {
  const line = { gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line") };
  const shown = Object.assign({ automargin: true, tickfont: { size: 12 } }, line, more);
  if (shown.title) shown.title = Object.assign({ standoff: 8, font: { size: 13 } }, shown.title);
  return shown;
}

function layout(more) {
  const narrow = window.innerWidth < 560;
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: narrow ? 12 : 13, color: colour("ink") },
    margin: { l: narrow ? 44 : 60, r: 12, t: 8, b: 44 },
    legend: { orientation: "h", y: narrow ? -0.24 : 1.02, yanchor: narrow ? "top" : "bottom", x: 0, font: { size: 12 } },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
    hovermode: "closest",
    dragmode: narrow ? false : "zoom",
  };
  return Object.assign(base, more);
}

function draw(id) {
  if (!byId(id)) return;
  const figure = charts[id]();
  Plotly.react(byId(id), figure.data, figure.layout, CONFIG);
}

function drawAll() {
  for (const id of Object.keys(charts)) draw(id);
}

byId("theme").addEventListener("click", () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  drawAll();
});
wantsDark.addEventListener("change", (event) => {
  root.dataset.theme = event.matches ? "dark" : "light";
  drawAll();
});
