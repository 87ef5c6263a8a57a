"use strict";
// Draws a recorded trace; its format is described in Slidewise's docs/traces.md.

const trace = JSON.parse(document.getElementById("trace").textContent);
const recordings = trace.recordings;
const last = recordings[0].steps.length - 1;
const byId = (id) => document.getElementById(id);
const unique = (list) => [...new Set(list)];
const SVG = "http://www.w3.org/2000/svg";
const HIGH = 34, COIN = 16, LEVEL = 26, LEFT = 58;
const PLAY = "M4 2.5v11L13 8z", PAUSE = "M4 3h3v10H4zM9 3h3v10H9z";

const state = { step: 0, operator: recordings[0].operator, algorithms: [], two: false, timer: null, address: null };

function element(name, attributes = {}, ...children) {
  const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const served = () => recordings.filter((one) => one.operator === state.operator);
const recordingOf = (algorithm) => served().find((one) => one.algorithm === algorithm);

// ---- where things lie ----------------------------------------------------------------------------------------

function partials(shape) {
  const nodes = shape.nodes || [];
  const held = (shape.cells || []).flatMap((cell) => cell.fields);
  return [...held, ...nodes.flatMap((node) => [node, ...(node.cells || [])]), ...shape.extra];
}

// What is the same for all steps of a recording: the size of a cell, and that of the stage.
function measure(recording) {
  if (recording.size) return recording.size;
  const texts = recording.steps.flatMap((step) => partials(step.shape).map((held) => held.text));
  const longest = Math.max(1, ...texts.map((text) => text.length));
  const wide = Math.max(46, longest * 8.6 + 14);
  const columns = Math.max(...recording.steps.map((step) => Math.max(step.window.length, step.shape.columns || 0))) + 1;
  const fields = Math.max(1, ...recording.steps.flatMap((step) => (step.shape.cells || []).map((cell) => cell.fields.length)));
  const levels = 1 + Math.max(0, ...recording.steps.flatMap((step) => (step.shape.nodes || []).map((node) => node.level)));
  const rowsInNodes = recording.steps.some((step) => (step.shape.nodes || []).some((node) => node.cells));
  const coins = recording.steps.some((step) => (step.shape.cells || []).some((cell) => cell.coin));
  const extra = Math.max(...recording.steps.map((step) => step.shape.extra.length));
  const level = HIGH + LEVEL + (rowsInNodes ? HIGH - 6 : 0);
  const top = HIGH + 8 + (coins ? COIN : 0);
  const body = recording.kind === "tree" ? levels * level - LEVEL : fields * HIGH;
  const extraTop = top + body + 30;
  recording.size = { wide, columns, fields, levels, level, top, body, extraTop, width: LEFT + columns * wide + 20 };
  recording.size.height = extraTop + (extra ? HIGH + 24 : 0);
  return recording.size;
}

// The cells, edges, names and coins of a step; a key tells which cell of another step is the same one.
function layout(recording, step) {
  const size = measure(recording), cells = [], edges = [], names = [], coins = [], frames = [];
  const x = (column) => LEFT + column * size.wide;
  const put = (key, column, y, part, held, width = size.wide) => cells.push({ key, x: column, y, part, held, width });
  names.push({ text: "window", y: HIGH / 2 });
  for (const cell of step.shape.cells || []) {
    cell.fields.forEach((held, i) => {
      put(`c${step.window[cell.at].row}:${i}`, x(cell.at), size.top + i * HIGH, cell.part, held);
      names[i + 1] = { text: held.name || "slots", y: size.top + (i + 0.5) * HIGH };
    });
    if (cell.coin) coins.push({ x: x(cell.at + 0.5), y: size.top - COIN / 2 - 1 });
  }
  const places = {};
  const bottom = size.top + size.body;
  for (const node of step.shape.nodes || []) {
    const y = bottom - HIGH - node.level * size.level;
    if (node.cells) {
      const first = node.cells[0].at, count = node.cells.at(-1).at - first + 1;
      places[node.id] = { x: x(first), y, width: count * size.wide };
      frames.push({ x: x(first) - 3, y: y - 3, width: count * size.wide + 6, height: HIGH + 6 });
      for (const cell of node.cells) put(`r${cell.rows[0][0]}`, x(cell.at), y, cell.part, cell);
      if (node.text) put(`n${node.id}`, x(first + count / 2) - size.wide / 2, y - HIGH + 2, node.part, node);
    } else {
      places[node.id] = { x: x((node.from + node.to) / 2), y, width: size.wide };
      put(`n${node.id}`, x((node.from + node.to) / 2), y, node.part, node);
    }
  }
  for (const node of step.shape.nodes || []) {
    const child = places[node.id], parent = places[node.parent];
    if (!parent) continue;
    const from = child.x + child.width / 2;
    const to = Math.min(Math.max(from, parent.x + 8), parent.x + parent.width - 8);
    edges.push({ x1: to, y1: parent.y + HIGH, x2: from, y2: child.y - (node.cells ? 3 : 0) });
  }
  const gap = Math.max(size.wide + 8, 76);
  step.shape.extra.forEach((held, i) => {
    put(`x${held.name}`, LEFT + i * gap, size.extraTop + 18, held.part, held);
    names.push({ text: held.name, x: LEFT + i * gap + size.wide / 2, y: size.extraTop + 9 });
  });
  const pointers = {};
  for (const [name, place] of Object.entries(step.shape.pointers)) (pointers[place] ||= []).push(name);
  return { cells, edges, names, coins, frames, pointers, x, bottom, size };
}

// ---- one panel -----------------------------------------------------------------------------------------------

class Panel {
  constructor(at) {
    this.at = at;
    this.kept = new Map();
    this.choice = element("select", { "aria-label": `Algorithm ${at + 1}`, class: "algorithm" });
    this.choice.addEventListener("change", () => { state.algorithms[at] = this.choice.value; draw(); });
    this.title = element("h2");
    this.facts = element("p", { class: "facts" });
    this.stage = element("div", { class: "stage" });
    this.detail = element("p", { class: "detail" });
    this.made = element("p", { class: "made" });
    this.why = element("p", { class: "why" });
    const head = element("header", {}, this.title, this.choice);
    this.root = element("section", { class: "panel" }, head, this.facts, this.why, this.stage, this.detail, this.made);
    this.svg = element("svg:svg", { role: "group", "aria-label": "The structure" });
    this.below = element("svg:g");
    this.above = element("svg:g");
    this.svg.append(this.below, this.above);
    this.stage.append(this.svg);
    this.stage.addEventListener("keydown", (event) => this.walk(event));
  }

  draw() {
    const recording = recordingOf(state.algorithms[this.at]);
    if (recording !== this.recording) {
      this.recording = recording;
      this.above.replaceChildren();
      this.kept.clear();
      this.held = null;
    }
    this.choice.replaceChildren(...served().map((one) => element("option", { value: one.algorithm }, one.algorithm)));
    this.choice.value = recording.algorithm;
    this.title.textContent = recording.class;
    const step = (this.step = recording.steps[state.step]);
    this.say(step);
    const laid = layout(recording, step);
    // A structure that is a little too wide is drawn smaller, but on a phone it is scrolled.
    const room = innerWidth > 640 ? this.stage.clientWidth / laid.size.width : 1;
    const scale = Math.max(0.75, Math.min(1, room));
    this.svg.setAttribute("width", laid.size.width * scale);
    this.svg.setAttribute("height", laid.size.height * scale);
    this.svg.setAttribute("viewBox", `0 0 ${laid.size.width} ${laid.size.height}`);
    this.background(laid, step);
    this.cells(laid);
    const still = this.held && this.kept.get(this.held);
    this.point(still ? still.held : null, still ? this.held : null);
  }

  say(step) {
    const operation = step.operation;
    const did = operation ? `${operation.name} ${operation.value}` : "the empty window";
    const facts = [element("span", { class: "did" }, `(${step.label}) ${did}`)];
    for (const one of step.cases) facts.push(element("span", { class: "case" }, one));
    facts.push(element("span", { class: "count" }, plural(step.calls.length, "call")));
    const whole = step.partial.text && step.partial.text !== step.answer ? ` of ${step.partial.text}` : "";
    facts.push(element("span", { class: "answer" }, `answer ${step.answer || "–"}${whole}`));
    this.facts.replaceChildren(...facts);
    this.why.textContent = step.cases.map((one) => `${one}: ${this.recording.cases[one]}`).join(" · ");
    const calls = step.calls.map((call) =>
      `${call.left.text} ${call.inverse ? "minus" : "⊗"} ${call.right.text} = ${call.gives.text || "–"}`);
    const more = calls.length - 6;
    if (more > 1) calls.splice(6, more, `and ${more} more`);
    this.made.textContent = calls.length ? `Calls: ${calls.join(", ")}` : operation ? "No call was made." : "";
  }

  // Everything that is not a cell is drawn anew.
  background(laid, step) {
    const { x, size } = laid, drawn = [];
    for (const frame of laid.frames) drawn.push(element("svg:g", { class: "frame" }, element("svg:rect", { ...frame, rx: 7 })));
    for (const edge of laid.edges) drawn.push(element("svg:line", { ...edge, class: "edge" }));
    this.rows = new Map();
    step.window.forEach((row, i) => {
      const box = element("svg:rect", { x: x(i) + 1, y: 2, width: size.wide - 2, height: HIGH - 4, rx: 5 });
      const text = element("svg:text", { x: x(i + 0.5), y: HIGH / 2 + 5 }, row.value);
      const group = element("svg:g", { class: "row" }, box, text);
      this.rows.set(row.row, group);
      drawn.push(group);
    });
    for (const name of laid.names.filter(Boolean)) {
      const place = name.x === undefined ? { x: LEFT - 8, "text-anchor": "end" } : { x: name.x, "text-anchor": "middle" };
      drawn.push(element("svg:text", { ...place, y: name.y + 4, class: "name" }, name.text));
    }
    for (const coin of laid.coins) drawn.push(element("svg:circle", { cx: coin.x, cy: coin.y, r: 5, class: "coin" }));
    for (const [place, names] of Object.entries(laid.pointers)) {
      const text = names.join(names.some((name) => name.length > 1) ? " " : "");
      const mark = element("svg:text", { x: x(Number(place)) + 3, y: laid.bottom + 17 }, text);
      drawn.push(element("svg:g", { class: "pointer" }, mark));
    }
    this.below.replaceChildren(...drawn);
  }

  // Cells that were there before move to their new place; others come and go.
  cells(laid) {
    const now = new Set(laid.cells.map((cell) => cell.key));
    for (const [key, kept] of this.kept) {
      if (now.has(key)) continue;
      kept.group.remove();
      this.kept.delete(key);
    }
    laid.cells.forEach((cell, i) => {
      const kept = this.kept.get(cell.key) || this.make(cell.key);
      const { group, box, text } = kept;
      kept.held = cell.held;
      group.setAttribute("class", `cell ${cell.part}`);
      group.style.transform = `translate(${cell.x}px, ${cell.y}px)`;
      box.setAttribute("width", cell.width - 2);
      text.setAttribute("x", cell.width / 2);
      text.textContent = cell.held.text || "–";
      group.setAttribute("aria-label", this.words(cell.held));
      group.setAttribute("tabindex", this.held ? (this.held === cell.key ? 0 : -1) : i ? -1 : 0);
      this.above.append(group.parentNode === this.above && this.above.children[i] === group ? "" : group);
    });
    if (this.held && !now.has(this.held) && this.above.firstElementChild) {
      this.above.firstElementChild.setAttribute("tabindex", 0);
    }
  }

  make(key) {
    const box = element("svg:rect", { x: 1, y: 1, height: HIGH - 2, rx: 5 });
    const text = element("svg:text", { y: HIGH / 2 + 5 });
    const group = element("svg:g", { role: "img", "data-key": key }, box, text);
    const kept = { group, box, text, held: null };
    group.addEventListener("pointerenter", () => this.point(kept.held, key));
    group.addEventListener("pointerleave", () => { if (document.activeElement !== group) this.point(null, null); });
    group.addEventListener("focus", () => this.point(kept.held, key));
    group.addEventListener("blur", () => this.point(null, null));
    group.addEventListener("click", () => group.focus());
    this.kept.set(key, kept);
    return kept;
  }

  rowsOf(held) {
    return held.rows.flatMap(([first, end]) => Array.from({ length: end - first + 1 }, (_, i) => first + i));
  }

  words(held) {
    const rule = this.recording.rules[held.rule];
    if (!held.rows.length) return rule;
    const runs = held.rows.map(([first, end]) => (first === end ? `row ${first}` : `rows ${first} to ${end}`));
    const values = new Map(this.step.window.map((row) => [row.row, row.value]));
    const inside = this.rowsOf(held).map((row) => values.get(row) ?? "gone").join(" ");
    return `${held.text} covers ${runs.join(", then ")} (${inside}). ${rule}`;
  }

  // Say which rows a cell covers, and mark them.
  point(held, key) {
    this.held = key;
    for (const [other, kept] of this.kept) kept.group.classList.toggle("pointed", other === key);
    const covered = new Set(held ? this.rowsOf(held) : []);
    for (const [row, group] of this.rows) group.classList.toggle("covered", covered.has(row));
    this.detail.textContent = held ? this.words(held) : "Point at a cell to see which rows it covers.";
  }

  walk(event) {
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const cells = [...this.above.children];
    const at = cells.indexOf(document.activeElement);
    if (!down || at < 0) return;
    event.preventDefault();
    const next = cells[(at + down + cells.length) % cells.length];
    cells.forEach((cell) => cell.setAttribute("tabindex", cell === next ? 0 : -1));
    next.focus();
  }
}

// ---- the bars ------------------------------------------------------------------------------------------------

const charts = { of: [], room: 0, wide: 0 };

function bars() {
  const shown = panels().map((panel) => panel.recording), room = byId("bars").clientWidth;
  if (room !== charts.room || shown.length !== charts.of.length || shown.some((one, i) => one !== charts.of[i])) {
    const most = Math.max(1, ...shown.flatMap((one) => one.steps.map((step) => step.calls.length + step.query.length)));
    charts.of = shown;
    charts.room = room;
    charts.wide = Math.max(9, Math.min(34, Math.floor((room - 40) / (last + 1))));
    byId("bars").replaceChildren(...shown.map((recording) => chart(recording, most, charts.wide)));
  }
  for (const figure of byId("bars").children) {
    figure.querySelector(".now")?.classList.remove("now");
    figure.querySelectorAll(".bar")[state.step].classList.add("now");
    const now = 26 + state.step * charts.wide;
    const seen = now >= figure.scrollLeft && now + charts.wide <= figure.scrollLeft + figure.clientWidth;
    if (!seen) figure.scrollLeft = now - figure.clientWidth / 2;
  }
}

function chart(recording, most, wide) {
  const high = 90, tall = (count) => (count / most) * (high - 6);
  const svg = element("svg:svg", { width: 34 + (last + 1) * wide, height: high + 22, role: "img" });
  svg.setAttribute("aria-label", `Calls of combine by ${recording.class}`);
  svg.append(element("svg:text", { x: 0, y: 12 }, most), element("svg:text", { x: 0, y: high + 4 }, 0));
  recording.steps.forEach((step, i) => {
    const x = 26 + i * wide, calls = step.calls.length, asked = step.query.length;
    const bar = element("svg:g", { class: "bar", "data-step": i },
      element("svg:title", {}, `(${step.label}) ${plural(calls, "call")}, and ${asked} for the query`),
      element("svg:rect", { class: "hit", x, y: 0, width: wide, height: high }),
      element("svg:rect", { class: "step", x: x + 1, y: high - tall(calls), width: wide - 2, height: tall(calls) }),
      element("svg:rect", { class: "query", x: x + 1, y: high - tall(calls + asked), width: wide - 2, height: tall(asked) }));
    const named = wide >= 14 || i % 5 === 0;
    if (named) bar.append(element("svg:text", { x: x + wide / 2, y: high + 14, "text-anchor": "middle" }, step.label));
    bar.addEventListener("click", () => move(i));
    svg.append(bar);
  });
  const worst = Math.max(...recording.steps.map((step) => step.calls.length));
  const caption = element("figcaption", {}, element("b", {}, recording.class), `: at most ${plural(worst, "call")} in one step`);
  return element("figure", { class: "bars" }, caption, svg);
}

// ---- the whole page ------------------------------------------------------------------------------------------

const both = [new Panel(0), new Panel(1)];
const panels = () => (state.two ? both : both.slice(0, 1));

function settle() {
  const names = served().map((one) => one.algorithm);
  state.algorithms = [0, 1].map((i) => (names.includes(state.algorithms[i]) ? state.algorithms[i] : names[Math.min(i, names.length - 1)]));
}

function draw() {
  settle();
  byId("panels").className = state.two ? "two" : "";
  const roots = panels().map((panel) => panel.root);
  if (byId("panels").children.length !== roots.length) byId("panels").replaceChildren(...roots);
  panels().forEach((panel) => panel.draw());
  bars();
  const step = both[0].step;
  byId("slider").value = state.step;
  byId("slider").setAttribute("aria-valuetext", `step ${step.label}`);
  byId("where").textContent = `(${step.label}) ${state.step} of ${last}`;
  byId("first").disabled = byId("back").disabled = state.step === 0;
  byId("last").disabled = byId("forward").disabled = state.step === last;
  const playing = state.timer !== null;
  byId("play").setAttribute("aria-label", playing ? "Pause" : "Play");
  byId("play").querySelector("path").setAttribute("d", playing ? PAUSE : PLAY);
}

function go(step) {
  state.step = Math.max(0, Math.min(last, step));
  draw();
  clearTimeout(state.address);
  state.address = setTimeout(() => history.replaceState(null, "", `#step=${state.step}`), 300); // browsers ration this
  if (state.timer === null) byId("said").textContent = both[0].facts.textContent;
}

function pause() {
  clearInterval(state.timer);
  state.timer = null;
}

function play() {
  pause();
  if (state.step === last) state.step = 0;
  state.timer = setInterval(() => {
    if (state.step + 1 >= last) pause();
    go(state.step + 1);
  }, Number(byId("pace").value));
}

function move(step) {
  pause();
  go(step);
}

byId("first").addEventListener("click", () => move(0));
byId("back").addEventListener("click", () => move(state.step - 1));
byId("forward").addEventListener("click", () => move(state.step + 1));
byId("last").addEventListener("click", () => move(last));
byId("play").addEventListener("click", () => { state.timer === null ? play() : pause(); draw(); });
byId("pace").addEventListener("change", () => { if (state.timer !== null) play(); });
byId("slider").addEventListener("input", () => move(Number(byId("slider").value)));
byId("operator").addEventListener("change", () => { state.operator = byId("operator").value; draw(); });
byId("compare").addEventListener("change", () => { state.two = byId("compare").checked; draw(); });
addEventListener("resize", draw);
addEventListener("hashchange", () => go(stepOfAddress()));
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, input")) return;
  if (event.key === " " && event.target.closest("button")) return;
  const keys = {
    ArrowLeft: () => move(state.step - 1),
    ArrowRight: () => move(state.step + 1),
    Home: () => move(0),
    End: () => move(last),
    " ": () => byId("play").click(),
  };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

function stepOfAddress() {
  const found = /^#step=(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : 0;
}

byId("operations").textContent = trace.operations;
byId("slider").max = last;
byId("operator").append(...unique(recordings.map((one) => one.operator)).map((name) => element("option", { value: name }, name)));
state.two = byId("compare").checked = unique(recordings.map((one) => one.algorithm)).length > 1;
byId("compare").disabled = recordings.length < 2;
byId("operator").value = state.operator;
state.step = Math.min(last, stepOfAddress());
draw();
