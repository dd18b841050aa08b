"use strict";
// The page about a comparison: a list of cells, and the curves of the one that is chosen.
const COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]; // Okabe and Ito
const DASHES = ["dash", "dot", "dashdot", "longdash", "solid"];
const chosen = { cell: 0, kind: "gap" };

function look(name) {
  const place = D.methods.indexOf(name);
  if (place === 0) return { color: colour("ink"), dash: "solid", width: 3 };
  return { color: COLOURS[(place - 1) % COLOURS.length], dash: DASHES[(place - 1) % DASHES.length], width: 1.8 };
}

charts.curves = () => {
  const cell = D.cells[chosen.cell];
  const data = [];
  const first = cell.methods[0];
  if (chosen.kind === "gap") {
    const band = { x: cell.calls, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    data.push(Object.assign({ y: first.low }, band));
    data.push(Object.assign({ y: first.high, fill: "tonexty", fillcolor: "rgba(128,140,160,.22)" }, band));
  }
  for (const one of cell.methods) {
    data.push({
      x: cell.calls,
      y: chosen.kind === "gap" ? one.gap : one.targets,
      name: plain(one.name),
      mode: "lines",
      line: look(one.name),
      hovertemplate: "%{y:.3g} after %{x} calls<extra>" + plain(one.name) + "</extra>",
    });
  }
  const y = chosen.kind === "gap" ? { type: "log", exponentformat: "power", title: { text: "median best gap" } }
    : { title: { text: "share of targets reached" }, range: [0, 1.02] };
  return { data, layout: layout({ xaxis: axis({ type: "log", dtick: 1, title: { text: "calls" } }), yaxis: axis(y) }) };
};

function choose(index) {
  chosen.cell = index;
  const cell = D.cells[index];
  const starts = cell.starts > 1 ? " × " + cell.starts + " starts" : "";
  byId("cell-told").textContent =
    `${cell.name} (${cell.protocol}): ${cell.tasks} tasks${starts}, ${cell.budget} calls each, seed ${cell.seed}`;
  for (const button of document.querySelectorAll("[data-cell]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.cell) === index));
  }
  const order = [...cell.methods].sort((a, b) => (a.end ?? Infinity) - (b.end ?? Infinity));
  byId("ends").tBodies[0].replaceChildren(...order.map((one) => {
    const row = document.createElement("tr");
    for (const text of [one.name, one.end === null ? "–" : short(one.end, 4), short(one.targets.at(-1), 3)]) {
      row.insertCell().textContent = text;
    }
    return row;
  }));
  draw("curves");
}

for (const button of document.querySelectorAll("[data-cell]")) {
  button.addEventListener("click", () => choose(Number(button.dataset.cell)));
}
for (const kind of ["gap", "targets"]) {
  byId("show-" + kind).addEventListener("click", () => {
    chosen.kind = kind;
    byId("show-gap").setAttribute("aria-pressed", String(kind === "gap"));
    byId("show-targets").setAttribute("aria-pressed", String(kind === "targets"));
    draw("curves");
  });
}
byId("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const item of document.querySelectorAll("#cells li")) {
    item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
  }
});
choose(0);
