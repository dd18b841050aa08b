"use strict";
// The page about one run. What is chosen: a reading (the slider), a stage on the timeline, a stage's shaping, a minimum.
const MODES = ["settle", "refine", "escape"];
const SYMBOLS = { converged: "circle", hopeless: "x", revisit: "diamond", stall: "square", clock: "triangle-up", budget: "star" };
const flat = D.view.labels.length === 1;
const chosen = { row: D.calls.length - 1, rows: [], segment: null, stage: 0, minimum: null, since: 0 };
const rows = D.calls.length;

const px = (i) => D.view.points[i][0];
const py = (i) => (flat ? D.value[i] : D.view.points[i][1]);
const minimumAt = (one) => (flat ? [one.at[0], one.fun] : one.at);
const placed = rows > 0 && D.view.points[0][0] !== null;

// ---------------------------------------------------------------- progress

const FLOOR = 1e-14;
const known = D.minimum !== null;
const lowest = Math.min(...D.best.filter((v) => v !== null), ...D.rivals.flatMap((one) => one.best).filter((v) => v !== null));
const shownValue = (v) => (v === null ? null : known ? Math.max(v - D.minimum, FLOOR) : v);

function cursor() {
  const call = D.calls[chosen.row] ?? 0;
  const line = { color: colour("mark"), width: 1.2, dash: "dot" };
  const shapes = [{ type: "line", xref: "x", yref: "paper", x0: call, x1: call, y0: 0, y1: 1, line }];
  if (chosen.segment !== null) {
    const stage = D.segments[chosen.segment];
    const box = { type: "rect", xref: "x", yref: "paper", x0: stage.after, x1: stage.call, y0: 0, y1: 1 };
    shapes.push(Object.assign(box, { fillcolor: colour(stage.mode), opacity: 0.16, line: { width: 0 }, layer: "below" }));
  }
  return shapes;
}

function steepEnough(values) {
  const finite = values.filter((v) => v !== null);
  return Math.min(...finite) > 0 && Math.max(...finite) > 50 * Math.min(...finite);
}

charts.progress = () => {
  const data = [];
  for (const mode of MODES) {
    const mine = [...D.mode.keys()].filter((i) => D.mode[i] === mode);
    if (!mine.length) continue;
    data.push({
      x: mine.map((i) => D.calls[i]),
      y: mine.map((i) => shownValue(D.value[i])),
      customdata: mine,
      mode: "markers",
      type: "scatter",
      name: mode,
      marker: { size: 4, color: colour(mode), opacity: 0.55 },
      hovertemplate: "call %{x}: %{y:.4g}<extra>" + mode + "</extra>",
    });
  }
  D.rivals.forEach((one, i) => {
    const line = { color: ["#999999", "#cc79a7", "#e69f00"][i % 3], dash: ["dash", "dot", "dashdot"][i % 3], width: 1.8 };
    data.push({ x: one.calls, y: one.best.map(shownValue), mode: "lines", name: plain(one.name), line, hovertemplate: "%{y:.4g}" });
  });
  data.push({
    x: D.calls,
    y: D.best.map(shownValue),
    mode: "lines",
    name: "best so far",
    line: { color: colour("ink"), width: 2.6, shape: "hv" },
    hovertemplate: "best %{y:.4g}<extra></extra>",
  });
  const log = known || steepEnough(D.best);
  const y = { title: { text: known ? "value − minimum" : "value" }, type: log ? "log" : "linear" };
  if (log) y.exponentformat = "power";
  if (!log) {
    const late = D.value.filter((v) => v !== null).sort((a, b) => a - b);
    const high = late[Math.floor(0.8 * (late.length - 1))];
    y.range = [lowest - 0.06 * (high - lowest || 1), high + 0.06 * (high - lowest || 1)];
  }
  return { data, layout: layout({ xaxis: axis({ title: { text: "calls" }, rangemode: "tozero" }), yaxis: axis(y), shapes: cursor() }) };
};

// ---------------------------------------------------------------- landscape

// Heights are shown by the logarithm of the distance from the lowest, so that one steep wall does not hide the basins.
function depth(z) {
  const finite = z.flat().filter((v) => v !== null).sort((a, b) => a - b);
  if (!finite.length) return z;
  const low = finite[0];
  const unit = 0.15 * (finite[Math.floor(0.5 * (finite.length - 1))] - low) || 1;
  return z.map((row) => row.map((v) => (v === null ? null : Math.log1p((v - low) / unit))));
}

function relief(grid, name) {
  return {
    type: "contour",
    x: grid.x,
    y: grid.y,
    z: depth(grid.z),
    text: grid.z.map((row) => row.map((v) => (v === null ? "" : short(v, 4)))),
    hovertemplate: "%{x:.3g}, %{y:.3g}<br>" + name + " = %{text}<extra></extra>",
    colorscale: [[0, colour("low")], [1, colour("high")]],
    ncontours: 18,
    line: { width: 0.5, color: colour("line") },
    contours: { coloring: "fill" },
    showscale: false,
    connectgaps: false,
  };
}

function planeAxes() {
  const [u, v] = D.view.area;
  const x = axis({ title: { text: D.view.labels[0] }, range: u, zeroline: false });
  if (flat) return { xaxis: x, yaxis: axis({ title: { text: "value" }, zeroline: false }) };
  const y = axis({ title: { text: D.view.labels[1] }, range: v, zeroline: false });
  const wide = (u[1] - u[0]) / (v[1] - v[0]);
  if (wide > 0.4 && wide < 2.5) Object.assign(y, { scaleanchor: "x", constrain: "domain" });
  x.constrain = "domain";
  return { xaxis: x, yaxis: y };
}

const farthest = Math.max(1e-9, ...D.view.away.filter((v) => v !== null));
const nearness = (i) => 1 - 0.75 * Math.sqrt((D.view.away[i] ?? 0) / farthest);
const PATH = "path", READ = "readings", NOW = "now", STAGED = "stage", FOUND = "minima", CHOSEN = "chosen";

function readingTraces() {
  if (!placed) return [];
  const all = [...Array(rows).keys()];
  return [
    {
      uid: PATH, mode: "lines", x: [], y: [], line: { color: colour("soft"), width: 1 }, opacity: 0.55,
      hoverinfo: "skip", showlegend: false,
    },
    {
      uid: READ, mode: "markers", x: all.map(px), y: all.map(py), customdata: all, showlegend: false,
      text: all.map((i) => `call ${D.calls[i]}, ${D.mode[i]}<br>value ${short(D.value[i])}`),
      hovertemplate: "%{text}<extra></extra>",
      marker: { size: 6, color: D.mode.map((mode) => colour(mode)), opacity: all.map(nearness), line: { width: 0 } },
    },
    {
      uid: STAGED, mode: "markers", x: [], y: [], hoverinfo: "skip", showlegend: false,
      marker: { size: 12, color: "rgba(0,0,0,0)", line: { width: 2, color: colour("mark") } },
    },
  ];
}

charts.landscape = () => {
  const grid = D.view.grid;
  const data = [];
  if (grid && !flat) data.push(Object.assign(relief(grid, "f"), { uid: "relief" }));
  if (grid && flat) data.push({ x: grid.x, y: grid.z, mode: "lines", line: { color: colour("soft") }, hoverinfo: "skip", showlegend: false });
  data.push(...readingTraces());
  data.push({
    uid: FOUND, mode: "markers", showlegend: false,
    x: D.minima.map((one) => minimumAt(one)[0]),
    y: D.minima.map((one) => minimumAt(one)[1]),
    customdata: D.minima.map((one, i) => i),
    text: D.minima.map((one, i) => `minimum ${i + 1}: ${short(one.fun)}<br>${one.visits} visits`),
    hovertemplate: "%{text}<extra></extra>",
    marker: { size: 10, symbol: "diamond-open", color: colour("mark"), line: { width: 1.6 } },
  });
  data.push({
    uid: CHOSEN, mode: "markers", x: [], y: [], hoverinfo: "skip", showlegend: false,
    marker: { size: 20, symbol: "circle-open", color: colour("chosen"), line: { width: 3.5 } },
  });
  data.push({
    uid: NOW, mode: "markers", x: [], y: [], hoverinfo: "skip", showlegend: false,
    marker: { size: 15, color: "#ffd23f", line: { width: 2, color: "#1b2330" } },
  });
  fillMoving(data);
  return { data, layout: layout(Object.assign(planeAxes(), { showlegend: false })) };
};

// The traces of the landscape that follow what is chosen.
function moving() {
  const until = [...Array(chosen.row + 1).keys()];
  const found = {};
  if (placed && D.particles === 1) found[PATH] = { x: until.map(px), y: until.map(py) };
  if (placed) found[STAGED] = { x: chosen.rows.map(px), y: chosen.rows.map(py) };
  if (placed) found[NOW] = { x: [px(chosen.row)], y: [py(chosen.row)] };
  if (chosen.minimum !== null) {
    const [x, y] = minimumAt(D.minima[chosen.minimum]);
    found[CHOSEN] = { x: [x], y: [y] };
  }
  return found;
}

function fillMoving(data) {
  const found = moving();
  for (const trace of data) {
    if (found[trace.uid]) Object.assign(trace, found[trace.uid]);
    if (trace.uid === READ) trace.marker.opacity = D.calls.map((_, i) => (i <= chosen.row ? 1 : 0.18) * nearness(i));
  }
}

function moveLandscape() {
  const shown = byId("landscape").data;
  const found = moving();
  const names = Object.keys(found);
  const places = names.map((uid) => shown.findIndex((trace) => trace.uid === uid));
  Plotly.restyle("landscape", { x: names.map((uid) => found[uid].x), y: names.map((uid) => found[uid].y) }, places);
  const read = shown.findIndex((trace) => trace.uid === READ);
  if (read >= 0) {
    const opacity = D.calls.map((_, i) => (i <= chosen.row ? 1 : 0.18) * nearness(i));
    Plotly.restyle("landscape", { "marker.opacity": [opacity] }, [read]);
  }
}

// ---------------------------------------------------------------- timeline

const TACTICS = [...new Set(D.segments.map((stage) => stage.tactic))];
const stageName = (stage) => [stage.tactic, stage.phase].filter(Boolean).join(", ");
byId("timeline").style.height = `${130 + 26 * (TACTICS.length + new Set(D.segments.filter((one) => one.mode !== "escape" || one.cause === "budget").map((one) => one.cause)).size)}px`;

charts.timeline = () => {
  const data = [];
  for (const tactic of TACTICS) {
    const mine = [...D.segments.keys()].filter((k) => D.segments[k].tactic === tactic);
    data.push({
      type: "bar", orientation: "h", name: plain(tactic), showlegend: false,
      base: mine.map((k) => D.segments[k].after),
      x: mine.map((k) => Math.max(D.segments[k].call - D.segments[k].after, 0.5)),
      y: mine.map(() => plain(tactic)),
      customdata: mine,
      text: mine.map((k) => `calls ${D.segments[k].after + 1} to ${D.segments[k].call}<br>ended: ${plain(D.segments[k].cause)}`),
      textposition: "none",
      hovertext: mine.map((k) => plain(stageName(D.segments[k]))),
      hovertemplate: "%{hovertext}<br>%{text}<extra></extra>",
      marker: { color: mine.map((k) => colour(D.segments[k].mode)), opacity: mine.map((k) => (lit(k) ? 1 : 0.35)) },
    });
  }
  const causes = [...new Set(D.segments.filter(counts).map((stage) => stage.cause))];
  for (const cause of causes) {
    const mine = [...D.segments.keys()].filter((k) => counts(D.segments[k]) && D.segments[k].cause === cause);
    data.push({
      type: "scatter", mode: "markers", name: plain(cause),
      x: mine.map((k) => D.segments[k].call),
      y: mine.map(() => "↳ " + plain(cause)),
      customdata: mine,
      showlegend: false,
      hovertemplate: "call %{x}<extra>" + plain(cause) + "</extra>",
      marker: {
        size: 8, symbol: SYMBOLS[cause] ?? "hexagon", opacity: mine.map((k) => (lit(k) ? 1 : 0.25)),
        color: mine.map((k) => colour(D.segments[k].mode)), line: { width: 0.8, color: colour("card") },
      },
    });
  }
  const order = [...causes.map((cause) => "↳ " + plain(cause)).reverse(), ...TACTICS.map(plain).reverse()];
  const y = axis({ categoryorder: "array", categoryarray: order, type: "category", fixedrange: true });
  const x = axis({ title: { text: "calls" }, rangemode: "tozero" });
  return { data, layout: layout({ barmode: "overlay", bargap: 0.35, xaxis: x, yaxis: y, shapes: cursor() }) };
};

// A move between basins is no event that a sign is worth.
const counts = (stage) => stage.mode !== "escape" || stage.cause === "budget";
const lit = (k) => (chosen.cause ? D.segments[k].cause === chosen.cause && counts(D.segments[k]) : chosen.segment === null || chosen.segment === k);

function rowsOf(stage) {
  const found = [];
  for (let i = stage.first; i <= stage.last; i += D.particles) found.push(i);
  return found;
}

function chooseSegment(k) {
  const stage = D.segments[k];
  Object.assign(chosen, { segment: k, cause: null, rows: rowsOf(stage) });
  pressCauses();
  const reason = document.querySelector(`[data-cause="${CSS.escape(stage.cause)}"]`)?.closest("div").querySelector("dd").textContent ?? "";
  byId("told").textContent =
    `Calls ${stage.after + 1} to ${stage.call}: ${stageName(stage)}. It ended at ${short(stage.value)} (best so far ` +
    `${short(stage.best)}), cause: ${stage.cause}. ${counts(stage) ? reason : ""}`;
  const shaped = D.stages.findIndex((one) => one.call === stage.after);
  if (shaped >= 0) chooseStage(shaped);
  setRow(stage.last);
  draw("timeline");
  draw("progress");
}

function chooseCause(cause) {
  const same = chosen.cause === cause;
  const mine = same ? [] : D.segments.filter((stage) => counts(stage) && stage.cause === cause);
  Object.assign(chosen, { cause: same ? null : cause, segment: null, rows: mine.map((stage) => stage.last) });
  byId("told").textContent = same ? "" : `${mine.length} stages ended so; the reading that ended each is marked.`;
  pressCauses();
  draw("timeline");
  draw("progress");
  moveLandscape();
}

function pressCauses() {
  for (const button of document.querySelectorAll("[data-cause]")) {
    button.setAttribute("aria-pressed", String(button.dataset.cause === chosen.cause));
  }
}

// ---------------------------------------------------------------- shaping

function shaping(stage, x, y) {
  const [sx, sy] = [D.view.stretch[0], D.view.stretch[1] ?? 1];
  const square = (c) => ((x - c[0]) / sx) ** 2 + (flat ? c[1] : ((y - c[1]) / sy) ** 2 + c[2]);
  const last = flat ? 2 : 3;
  let sum = 0.5 * stage.kappa * square(stage.anchor);
  for (const c of stage.memory) sum += c[last] * Math.exp(-0.5 * square(c) / c[last + 1] ** 2);
  for (const c of stage.barrier) sum += c[last] * Math.max(0, 1 - square(c) / c[last + 1] ** 2) ** 2;
  return sum;
}

function grid() {
  if (D.view.grid) return D.view.grid;
  const [u, v] = D.view.area;
  const line = ([a, b]) => [...Array(61).keys()].map((i) => a + ((b - a) * i) / 60);
  if (flat) return { x: line(u), z: line(u).map(() => 0) };
  return { x: line(u), y: line(v), z: line(v).map(() => line(u).map(() => 0)) };
}

charts.shaped = () => {
  const stage = D.stages[chosen.stage];
  const under = grid();
  const name = D.view.grid ? "f + U" : "U";
  const data = [];
  const segment = D.segments.find((one) => one.after === stage.call);
  const mine = segment && placed ? rowsOf(segment) : [];
  if (flat) {
    const added = under.x.map((x, i) => (under.z[i] === null ? null : under.z[i] + shaping(stage, x, 0)));
    data.push({ x: under.x, y: under.z, mode: "lines", name: "true", line: { color: colour("soft"), width: 1.5 } });
    data.push({ x: under.x, y: added, mode: "lines", name: "as shaped", line: { color: colour(stage.mode), width: 2.5 } });
  } else {
    const z = under.z.map((row, j) => row.map((f, i) => (f === null ? null : f + shaping(stage, under.x[i], under.y[j]))));
    data.push(relief({ x: under.x, y: under.y, z }, name));
  }
  data.push({
    mode: "lines+markers", name: "readings", showlegend: false, x: mine.map(px), y: mine.map(py),
    line: { color: colour(stage.mode), width: 1.5 }, marker: { size: 8, color: colour(stage.mode), line: { width: 1, color: colour("card") } },
  });
  if (stage.kappa > 0 && !flat) {
    data.push({
      mode: "markers", name: "anchor", showlegend: false, x: [stage.anchor[0]], y: [stage.anchor[1]],
      hovertemplate: "anchor<extra></extra>",
      marker: { size: 13, symbol: "square-open", color: colour("chosen"), line: { width: 3 } },
    });
  }
  const axes = planeAxes();
  if (flat) {
    const finite = under.z.filter((v) => v !== null);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    axes.yaxis.range = [low - 0.1 * (high - low || 1), high + 0.6 * (high - low || 1)];
  }
  return { data, layout: layout(Object.assign(axes, { showlegend: flat })) };
};

function chooseStage(k) {
  chosen.stage = Math.min(Math.max(k, 0), D.stages.length - 1);
  const stage = D.stages[chosen.stage];
  byId("stage").value = chosen.stage;
  const segment = D.segments.find((one) => one.after === stage.call);
  const name = segment ? stageName(segment) : stage.mode;
  byId("stage-name").textContent = `stage ${chosen.stage + 1} of ${D.stages.length}, from call ${stage.call + 1}: ${name}`;
  const centres = stage.memory.length + stage.barrier.length;
  byId("stage-told").textContent = [
    stage.kappa > 0 ? `Pull to the anchor: κ = ${short(stage.kappa, 3)}.` : "No anchor pulls.",
    centres ? `${stage.memory.length} remembered basins repel, ${stage.barrier.length} are barred.` : "No basin repels.",
  ].join(" ");
  draw("shaped");
}

// ---------------------------------------------------------------- energy

const TERM_COLOURS = { dissipation: "#0072b2", damping_injection: "#56b4e9", port_work: "#009e73", event_work: "#d55e00", clipping: "#cc79a7", discretisation: "#e69f00", noise: "#999999" };

// One step can move far more energy than all others together; the account can leave such steps out.
const size = (i) => Math.max(...Object.values(D.energy).map((values) => Math.abs(values[i])));
const sizes = Object.keys(D.energy).length ? D.calls.map((_, i) => size(i)) : [];
const usual = [...sizes].filter((v) => v > 0).sort((a, b) => a - b);
const HUGE = new Set([...sizes.keys()].filter((i) => sizes[i] > 100 * usual[Math.floor(0.9 * (usual.length - 1))]));
chosen.calm = HUGE.size > 0;

function nameHuge() {
  const calls = [...HUGE].slice(0, 6).map((i) => D.calls[i]).join(", ") + (HUGE.size > 6 ? ", ..." : "");
  byId("huge").hidden = HUGE.size === 0;
  byId("huge").textContent = `${HUGE.size === 1 ? "1 huge step" : `${HUGE.size} huge steps`} left out (call ${calls})`;
}

charts.energy = () => {
  const data = [];
  const kept = [...D.calls.keys()].filter((i) => i >= chosen.since && !(chosen.calm && HUGE.has(i)));
  const x = kept.map((i) => D.calls[i]);
  for (const [term, values] of Object.entries(D.energy)) {
    if (term === "delta_H") continue;
    const parts = kept.map((i) => values[i]);
    for (const [side, part] of [["gained", (v) => Math.max(v, 0)], ["lost", (v) => Math.min(v, 0)]]) {
      let sum = 0;
      const y = parts.map((v) => (sum += part(v)));
      if (sum === 0) continue;
      data.push({
        x, y, stackgroup: side, name: term.replace("_", " "), legendgroup: term, mode: "none", fillcolor: TERM_COLOURS[term],
        showlegend: !data.some((trace) => trace.legendgroup === term), opacity: 0.85,
        hovertemplate: `${term.replace("_", " ")} ${side}: %{y:.4g}<extra></extra>`,
      });
    }
  }
  let total = 0;
  data.push({
    x, y: kept.map((i) => (total += D.energy.delta_H[i])), mode: "lines", name: "change of energy",
    line: { color: colour("ink"), width: 2 }, hovertemplate: "sum %{y:.4g}<extra></extra>",
  });
  const y = axis({ title: { text: "energy (units of f)" }, exponentformat: "power" });
  return { data, layout: layout({ xaxis: axis({ title: { text: "calls" } }), yaxis: y, shapes: cursor() }) };
};

function accountSince(row) {
  chosen.since = Math.min(row, rows - 2);
  byId("since").textContent = chosen.since > 0 ? `since call ${D.calls[chosen.since]}` : "";
  draw("energy");
}

// ---------------------------------------------------------------- minima

charts.scene = () => SCENES[D.scene.kind](D.scene, D.scene.frames[chosen.minimum ?? 0]);

const SCENES = {
  cluster(scene, frame) {
    const [x, y, z] = [0, 1, 2].map((k) => frame.atoms.map((atom) => atom[k]));
    const stick = (k) => frame.bonds.flatMap(([i, j]) => [frame.atoms[i][k], frame.atoms[j][k], null]);
    const hidden = { visible: false };
    const data = [
      { type: "scatter3d", mode: "lines", x: stick(0), y: stick(1), z: stick(2), line: { color: colour("soft"), width: 5 }, hoverinfo: "skip" },
      { type: "scatter3d", mode: "markers", x, y, z, marker: { size: 13, color: colour("refine"), line: { color: colour("card"), width: 1 } }, hovertemplate: "%{x:.3f}, %{y:.3f}, %{z:.3f}<extra></extra>" },
    ];
    const view = { xaxis: hidden, yaxis: hidden, zaxis: hidden, aspectmode: "data" };
    return { data, layout: layout({ scene: view, showlegend: false, dragmode: "turntable", margin: { l: 0, r: 0, t: 0, b: 0 } }) };
  },
  path(scene, frame) {
    const data = [{
      x: frame.path.map((p) => p[0]), y: frame.path.map((p) => p[1]), mode: "lines+markers", name: "trajectory",
      line: { color: colour("refine"), width: 2.5 }, marker: { size: 6 },
    }];
    const end = (name, at, symbol, tint) => data.push({ x: [at[0]], y: [at[1]], name, mode: "markers", marker: { size: 14, symbol, color: tint, line: { width: 1.5, color: colour("mark") } } });
    end("start", frame.path[0], "circle", colour("card"));
    end("goal", scene.goal, "star", "#ffd23f");
    const shapes = scene.hills.flatMap(([x, y, height, width]) => [1, 2].map((k) => ({
      type: "circle", layer: "below", x0: x - k * width, x1: x + k * width, y0: y - k * width, y1: y + k * width,
      fillcolor: colour("escape"), opacity: 0.09 + 0.1 * Math.min(height / 15, 1), line: { width: 0 },
    })));
    const y = axis({ title: { text: "y" }, scaleanchor: "x" });
    return { data, layout: layout({ xaxis: axis({ title: { text: "x" } }), yaxis: y, shapes }) };
  },
  motion(scene, frame) {
    const data = frame.states.map((values, k) => ({
      x: scene.time, y: values, name: plain(scene.names[k]), mode: "lines", line: { color: colour(["refine", "settle"][k]), width: 2.2 },
    }));
    const per = frame.controls.length / (scene.time.length - 1);
    data.push({ x: scene.time, y: frame.controls.filter((_, i) => i % per === 0), name: "control", mode: "lines", line: { shape: "hv", color: colour("escape"), width: 1.6, dash: "dot" } });
    const line = { color: colour("refine"), width: 1, dash: "dash" };
    const shapes = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: scene.target[0], y1: scene.target[0], line }];
    return { data, layout: layout({ xaxis: axis({ title: { text: "time" } }), yaxis: axis({}), shapes }) };
  },
  signal(scene, frame) {
    const x = frame.y.map((_, i) => i + 1);
    const data = [
      { x, y: scene.truth, name: "true signal", mode: "markers", marker: { size: 11, symbol: "circle-open", color: colour("mark"), line: { width: 2 } } },
      { x, y: frame.y, name: "chosen minimum", mode: "lines+markers", line: { color: colour("refine"), width: 1.8 }, marker: { size: 5 } },
    ];
    return { data, layout: layout({ xaxis: axis({ title: { text: "entry" } }), yaxis: axis({ title: { text: "signal" } }) }) };
  },
};

function chooseMinimum(k) {
  chosen.minimum = k;
  const one = D.minima[k];
  for (const row of document.querySelectorAll("[data-minimum]")) {
    row.setAttribute("aria-pressed", String(Number(row.dataset.minimum) === k));
  }
  byId("minimum-told").textContent =
    `Minimum ${k + 1}: value ${short(one.fun, 12)}, ${one.visits === 1 ? "visited once" : `visited ${one.visits} times`}, ` +
    `${k === 0 ? "the best of all" : `${short(one.distance, 4)} from the best`}.`;
  const more = one.size > one.x.length ? `, ... (${one.size} numbers)` : "";
  byId("coordinates").textContent = `x = [${one.x.map((v) => short(v, 17)).join(", ")}${more}]`;
  moveLandscape();
  if (D.scene) draw("scene");
}

// ---------------------------------------------------------------- the slider, and what is clicked

function setRow(row) {
  chosen.row = Math.min(Math.max(row, 0), rows - 1);
  byId("slider").value = chosen.row;
  const i = chosen.row;
  byId("where").textContent = `call ${D.calls[i]} of ${D.calls[rows - 1]} · ${D.mode[i]} · value ${short(D.value[i], 4)} · best ${short(D.best[i], 4)}`;
  moveLandscape();
  const call = D.calls[i];
  for (const id of ["progress", "timeline", "energy"]) {
    if (byId(id)?.data) Plotly.relayout(id, { "shapes[0].x0": call, "shapes[0].x1": call });
  }
}

let waiting = false;
function later(row) {
  chosen.row = row;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    setRow(chosen.row);
  });
}

let playing = null;
function play() {
  if (playing) {
    clearInterval(playing);
    playing = null;
  } else {
    if (chosen.row >= rows - 1) chosen.row = 0;
    const stride = Math.max(1, Math.round(rows / 250));
    playing = setInterval(() => (chosen.row >= rows - 1 ? play() : setRow(chosen.row + stride)), 90);
  }
  byId("play").textContent = playing ? "❚❚" : "▶";
  byId("play").setAttribute("aria-label", playing ? "Pause" : "Play");
}

if (!byId("shaped")) delete charts.shaped;
if (!byId("energy")) delete charts.energy;
if (!D.scene) delete charts.scene;
byId("source").textContent = D.view.source ? `The landscape is drawn from ${D.view.source}.` : flat ? "" : "No landscape is drawn: that would have called your function beyond its budget.";
byId("slider").max = Math.max(rows - 1, 0);
if (byId("huge")) nameHuge();
drawAll();
if (D.stages.length) chooseStage(0);
setRow(rows - 1);

byId("copy").addEventListener("click", async (event) => {
  const button = event.currentTarget;
  getSelection().selectAllChildren(byId("best"));
  try {
    await navigator.clipboard.writeText(byId("best").textContent);
    button.textContent = button.dataset.done;
  } catch {
    button.textContent = document.execCommand("copy") ? button.dataset.done : button.dataset.failed;
  }
});
byId("slider").addEventListener("input", (event) => later(Number(event.target.value)));
byId("play").addEventListener("click", play);
byId("stage")?.addEventListener("input", (event) => chooseStage(Number(event.target.value)));
byId("stage-back")?.addEventListener("click", () => chooseStage(chosen.stage - 1));
byId("stage-on")?.addEventListener("click", () => chooseStage(chosen.stage + 1));
byId("from-now")?.addEventListener("click", () => accountSince(chosen.row));
byId("from-first")?.addEventListener("click", () => accountSince(0));
byId("huge")?.addEventListener("click", (event) => {
  chosen.calm = !chosen.calm;
  event.currentTarget.setAttribute("aria-pressed", String(chosen.calm));
  draw("energy");
});
byId("timeline").on("plotly_click", (event) => chooseSegment(event.points[0].customdata));
byId("progress").on("plotly_click", (event) => Number.isInteger(event.points[0].customdata) && setRow(event.points[0].customdata));
byId("landscape").on("plotly_click", (event) => {
  const point = event.points.find((one) => one.data.uid === FOUND) ?? event.points.find((one) => one.data.uid === READ);
  if (point?.data.uid === FOUND) chooseMinimum(point.customdata);
  if (point?.data.uid === READ) setRow(point.customdata);
});
for (const button of document.querySelectorAll("[data-cause]")) {
  button.addEventListener("click", () => chooseCause(button.dataset.cause));
}
for (const row of document.querySelectorAll("[data-minimum]")) {
  row.addEventListener("click", () => chooseMinimum(Number(row.dataset.minimum)));
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    chooseMinimum(Number(row.dataset.minimum));
  });
}
