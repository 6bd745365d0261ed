// A node: its tiers and pods over the last half hour.
import { h, table, ask, cores, bytes, percent, colour, podLink, dark } from "./build.js";

const COLOURS = { "koord-prod": "prod", "koord-mid": "mid", "koord-batch": "batch", "koord-free": "free", none: "none", system: "system" };
const LINES = 8;
const minutes = (seconds) => (seconds > -60 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

function chart(canvas, stacked, series, unit) {
  const ink = colour("quiet"), line = colour("line");
  return new Chart(canvas, { type: "line", data: { datasets: series }, options: {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true, interaction: { mode: "index", intersect: false },
    elements: { point: { radius: 0, hitRadius: 6 }, line: { borderWidth: 1.5 } },
    plugins: { legend: { position: "bottom", labels: { color: ink, boxWidth: 12 } } },
    scales: { x: { type: "linear", ticks: { color: ink, callback: minutes, maxTicksLimit: 7 }, grid: { color: line } },
      y: { stacked, beginAtZero: true, title: { display: true, text: unit, color: ink }, ticks: { color: ink }, grid: { color: line } } } } });
}

export function nodeView(name, problem) {
  const head = h("section", { "aria-label": "The node" }, h("h2", {}, name));
  const pictures = [], charts = h("div", { class: "pair" }), pods = h("section", { "aria-label": "Its pods" });
  const figures = h("section", { "aria-label": "Now" }), element = h("div", {}, head, charts, figures, pods);
  let last = null, ended = false;
  function picture(label) {
    const canvas = h("canvas", { role: "img", "aria-label": label });
    charts.append(h("section", {}, h("h2", {}, label), h("div", { class: "chart" }, canvas)));
    return canvas;
  }
  const cpu = picture("CPU by tier, the last half hour"), memory = picture("Memory by tier, the last half hour"), most = picture("Pods that used most CPU");
  function draw() {
    if (!last) return;
    const { history, tiers } = last, points = (values, size = 1) => values.map((v, i) => ({ x: history.seconds[i], y: v / size }));
    const area = (rows, size) => tiers.map((tier, i) => ({ label: tier, data: points(rows[i], size), fill: true, borderColor: colour(COLOURS[tier]), backgroundColor: colour(COLOURS[tier]) + "b0", stack: "tiers", at: i }))
      .filter((s) => rows[s.at].some((v) => v > 0)).map((s, i) => ({ ...s, fill: i === 0 ? "origin" : "-1" }));
    const lent = { label: "lent to batch", data: points(history.lent), borderColor: colour("lent"), borderDash: [5, 4], fill: false, stack: "lent" };
    const strokes = [[], [6, 3], [2, 3]], inks = ["prod", "batch", "system", "free", "alarm", "none", "lent", "mid"];
    const pods = [...history.pods].sort((a, b) => Math.max(...b.cpu) - Math.max(...a.cpu)).slice(0, LINES).map((pod, i) => ({
      label: pod.name, data: points(pod.cpu), borderColor: colour(inks[i % inks.length]), borderDash: strokes[i % 3], fill: false }));
    const all = [[cpu, true, [...area(history.cpu), lent], "cores"], [memory, true, area(history.memory, 2 ** 30), "GiB"], [most, false, pods, "cores"]];
    all.forEach(([canvas, stacked, series, unit], i) => {
      if (!pictures[i]) { pictures[i] = chart(canvas, stacked, series, unit); return; }
      pictures[i].data.datasets = series;
      pictures[i].update();
    });
  }
  function again() {
    pictures.splice(0).forEach((p) => p.destroy());
    draw();
  }
  async function frame() {
    try {
      const told = await ask(`data/node?name=${encodeURIComponent(name)}`);
      if (ended) return;
      last = told;
      problem("");
    } catch (error) {
      if (!ended) problem(error.message);
      return;
    }
    const f = last.figures, has = f.capacity ?? {};  // what is empty is left out
    head.replaceChildren(h("h2", {}, name), h("p", {}, `${last.state}; pressure ${Math.round(last.pressure * 100)}% (${last.cause})`));
    figures.replaceChildren(table("Now", [["Tier", (r) => r[0]], ["Pods", (r) => r[1], true], ["CPU, cores", (r) => r[2], true], ["of the node", (r) => r[3], true], ["Memory", (r) => r[4], true], ["of the node", (r) => r[5], true]], [
        ...(f.tiers ?? []).map((t) => [t.name, t.name === "system" ? "" : t.pods ?? 0, cores(t.used?.cpuCores ?? 0), percent(t.used?.cpuCores ?? 0, has.cpuCores ?? 0), bytes(t.used?.memoryBytes ?? 0), percent(t.used?.memoryBytes ?? 0, has.memoryBytes ?? 0)]),
        ["all", last.pods.length + last.more_pods, cores(f.used?.cpuCores ?? 0), percent(f.used?.cpuCores ?? 0, has.cpuCores ?? 0), bytes(f.used?.memoryBytes ?? 0), percent(f.used?.memoryBytes ?? 0, has.memoryBytes ?? 0)],
        ["lent to batch", "", cores(f.lent?.cpuCores ?? 0), percent(f.lent?.cpuCores ?? 0, has.cpuCores ?? 0), bytes(f.lent?.memoryBytes ?? 0), percent(f.lent?.memoryBytes ?? 0, has.memoryBytes ?? 0)],
        ["asked of it", "", cores(f.asked?.cpuCores ?? 0), `${percent(f.asked?.cpuCores ?? 0, f.lent?.cpuCores ?? 0)} of lent`, bytes(f.asked?.memoryBytes ?? 0), ""]]));
    const used = new Map(last.history.pods.map((p) => [p.name, p.cpu[p.cpu.length - 1] ?? 0]));
    const key = (p) => `${p.namespace}/${p.name}`;
    last.pods.sort((a, b) => (used.get(key(b)) ?? 0) - (used.get(key(a)) ?? 0) || key(a).localeCompare(key(b)));
    pods.replaceChildren(h("h2", {}, "Pods"), table(last.more_pods > 0 ? `and ${last.more_pods} more` : "A click explains why one is here.", [
      ["Pod", (p) => h("a", { href: podLink(p.namespace, p.name) }, key(p))], ["Tier", (p) => p.tier], ["Phase", (p) => p.phase], ["CPU, cores", (p) => (used.has(key(p)) ? used.get(key(p)).toFixed(2) : "-"), true]], last.pods));
    draw();
  }
  dark.addEventListener("change", again);
  return { element, frame, every: 3, end() { ended = true; pictures.splice(0).forEach((p) => p.destroy()); dark.removeEventListener("change", again); } };
}
