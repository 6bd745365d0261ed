// The cluster as a heat map: a cell a node on one canvas, by mouse, keyboard and ear.
import { h, table, cores, nodeLink, dark } from "./build.js";

// Of a row of a frame: see the model's frame().
export const NAME = 0, CPU = 1, MEMORY = 2, LENT = 3, ASKED = 4, CAPACITY = 5, PRESSURE = 6, CAUSE = 7, STATE = 8;
const WAYS = [
  { key: "used", label: "CPU used", value: (r) => r[CPU] / 1000, ends: ["#e3ecf8", "#0b4489", "#202b38", "#7db9ff"] },
  { key: "memory", label: "memory used", value: (r) => r[MEMORY] / 1000, ends: ["#efe9f8", "#5a3a9e", "#2a2538", "#bda2f5"] },
  { key: "lent", label: "CPU lent", value: (r) => (r[CAPACITY] > 0 ? r[LENT] / r[CAPACITY] : 0), ends: ["#e4f3e9", "#0e6a36", "#1d2b24", "#6fe09a"] },
  { key: "pressure", label: "pressure", value: (r) => r[PRESSURE] / 1000, ends: ["#fbeee2", "#a3210f", "#33261f", "#ff8a5c"] },
];
const PRESSED = 8, SLICE = 6, NOTHING = 65535;

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
function ramp(way) {
  const [from, to] = (dark.matches ? way.ends.slice(2) : way.ends.slice(0, 2)).map(parts);
  return Array.from({ length: 64 }, (_, i) => `rgb(${from.map((f, c) => Math.round(f + ((to[c] - f) * i) / 63)).join(" ")})`);
}

export function clusterView(rows) {
  let way = WAYS.find((w) => w.key === sessionStorage.getItem("koord.way")) ?? WAYS[0];
  let at = 0, columns = 1, cell = 16, asked = false, laidPlaces = "", laidColours = "", next = 0;
  let painted = new Uint16Array(), shades = [];
  const canvas = h("canvas", { class: "heat", tabindex: 0, role: "application", "aria-roledescription": "heat map of nodes",
    "aria-label": "Nodes: arrow keys go from node to node, Enter opens one", "aria-describedby": "said" });
  const said = h("p", { class: "said", id: "said", "aria-live": "polite" });
  const scale = h("canvas", { width: 120, height: 12, "aria-hidden": "true" });
  const pressed = h("section", { "aria-label": "Nodes under most pressure" });
  const choice = h("fieldset", {}, h("legend", {}, "Colour"), WAYS.map((w) => h("label", {},
    h("input", { type: "radio", name: "way", value: w.key, checked: w === way, on: { change: () => { way = w; sessionStorage.setItem("koord.way", w.key); draw(); } } }), ` ${w.label}`)),
    h("span", { class: "scale" }, "0%", scale, "100%; struck through: not ready"));
  const element = h("div", {}, h("section", { "aria-label": "Heat map" }, h("h2", {}, "Nodes"), choice, canvas, said), pressed);

  function speak(row) {
    said.textContent = row ? `${row[NAME]}: ${row[STATE]}, CPU ${Math.round(row[CPU] / 10)}%, memory ${Math.round(row[MEMORY] / 10)}%, ` +
      `lends ${cores(row[LENT])} cores, ${cores(row[ASKED])} asked for, pressure ${Math.round(row[PRESSURE] / 10)}% (${row[CAUSE]})` : "";
  }
  // Cells whose colour or state is another than the one that is painted, for SLICE ms a frame; the rest in the frames after it.
  function draw() {
    asked = false;
    const began = performance.now();
    lay();
    const pen = canvas.getContext("2d"), gap = cell > 12 ? 2 : 1, focused = document.activeElement === canvas ? at : -1;
    const alarm = dark.matches ? "#ff8a80" : "#b3261e";
    for (let seen = 0; seen < rows.length; ++seen, ++next) {
      if (next >= rows.length) next = 0;
      const row = rows[next], ready = row[STATE] === "ready";
      const shade = Math.min(63, Math.max(0, Math.round(way.value(row) * 63))), wanted = shade + (ready ? 0 : 64) + (next === focused ? 128 : 0);
      if (painted[next] === wanted) continue;
      if (performance.now() - began > SLICE) { later(); break; }
      painted[next] = wanted;
      const x = (next % columns) * cell, y = Math.floor(next / columns) * cell;
      pen.clearRect(x, y, cell - gap, cell - gap);  // a neighbour's first line of pixels may be shared
      pen.fillStyle = shades[shade];
      pen.fillRect(x, y, cell - gap, cell - gap);
      if (!ready) {  // not by colour alone
        pen.strokeStyle = alarm;
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(x + 1, y + 1);
        pen.lineTo(x + cell - gap - 1, y + cell - gap - 1);
        pen.stroke();
      }
      if (next === focused) {
        pen.strokeStyle = dark.matches ? "#ffffff" : "#000000";
        pen.lineWidth = 2;
        pen.strokeRect(x + 1, y + 1, cell - gap - 2, cell - gap - 2);
      }
    }
    performance.measure("koord heat map", { start: began, end: performance.now() });
  }
  // Where the cells are, and their colours; what has to be painted for it.
  function lay() {
    const width = Math.max(element.clientWidth - 34, 200), ratio = devicePixelRatio || 1;
    cell = Math.min(44, Math.max(7, Math.floor(Math.sqrt((width * Math.max(innerHeight * 0.6, 240)) / Math.max(rows.length, 1)))));
    columns = Math.max(1, Math.floor(width / cell));
    const height = Math.max(1, Math.ceil(rows.length / columns)) * cell, colours = `${way.key} ${dark.matches}`, places = [width, height, cell, ratio].join();
    const pen = canvas.getContext("2d");
    if (places !== laidPlaces) {
      canvas.width = Math.round(width * ratio);  // which empties it
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    if (colours !== laidColours) {
      shades = ramp(way);
      const mark = scale.getContext("2d");
      shades.forEach((shade, i) => { mark.fillStyle = shade; mark.fillRect((i * 120) / 64, 0, 3, 12); });
    }
    const anew = places !== laidPlaces || colours !== laidColours;
    if (!anew && painted.length === rows.length) return;
    for (let i = rows.length; i < painted.length; ++i) pen.clearRect((i % columns) * cell, Math.floor(i / columns) * cell, cell, cell);
    const before = painted;
    painted = new Uint16Array(rows.length).fill(NOTHING);
    if (!anew) painted.set(before.subarray(0, rows.length));
    [laidPlaces, laidColours, next] = [places, colours, 0];
  }
  function mostPressed() {
    const most = [];
    for (const row of rows) {
      if (row[PRESSURE] === 0 && row[STATE] === "ready") continue;
      if (most.length === PRESSED && row[PRESSURE] <= most[PRESSED - 1][PRESSURE]) continue;
      const place = most.findIndex((other) => other[PRESSURE] < row[PRESSURE]);
      most.splice(place < 0 ? most.length : place, 0, row);
      most.length = Math.min(most.length, PRESSED);
    }
    return most;
  }
  function list() {
    const most = mostPressed();
    pressed.replaceChildren(h("h2", {}, "Under most pressure"), most.length === 0 ? h("p", { class: "quiet" }, "No node has reported usage.") :
      table("The highest of CPU and memory in use; 100% where the kubelet says so, or batch pods ask for more than is lent.", [
        ["Node", (r) => h("a", { href: nodeLink(r[NAME]) }, r[NAME])], ["State", (r) => r[STATE]], ["Pressure", (r) => `${Math.round(r[PRESSURE] / 10)}%`, true], ["Of", (r) => r[CAUSE]],
        ["CPU", (r) => `${Math.round(r[CPU] / 10)}%`, true], ["Memory", (r) => `${Math.round(r[MEMORY] / 10)}%`, true],
        ["Lent, cores", (r) => cores(r[LENT]), true], ["Asked, cores", (r) => cores(r[ASKED]), true]], most));
  }
  const place = (event) => {
    const column = Math.floor(event.offsetX / cell), i = Math.floor(event.offsetY / cell) * columns + column;
    return column < columns && rows[i] ? i : -1;
  };
  const open = (i) => { if (rows[i]) location.hash = nodeLink(rows[i][NAME]); };
  canvas.addEventListener("mousemove", (event) => speak(rows[place(event)]));
  canvas.addEventListener("click", (event) => open(place(event)));
  canvas.addEventListener("focus", () => { draw(); speak(rows[at]); });
  canvas.addEventListener("blur", draw);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -at, End: rows.length - 1 - at }[event.key];
    if (event.key === "Enter") open(at);
    if (step === undefined) return;
    event.preventDefault();
    at = Math.min(Math.max(at + step, 0), Math.max(rows.length - 1, 0));
    draw();
    speak(rows[at]);
  });
  const later = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
  canvas.addEventListener("contextrestored", () => { laidPlaces = laidColours = ""; later(); });
  const sized = new ResizeObserver(later);
  sized.observe(element);
  dark.addEventListener("change", later);
  return { element, frame() { later(); list(); }, end() { sized.disconnect(); dark.removeEventListener("change", later); } };
}
