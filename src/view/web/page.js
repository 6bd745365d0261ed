// The page: the stream, the views by the address' fragment.
import { h, cores, bytes, percent } from "./build.js";
import { clusterView, NAME } from "./heat.js";
import { nodeView } from "./node.js";
import { groupsView, waitingView } from "./groups.js";
import { explainView, whatIfView } from "./answer.js";

const main = document.getElementById("main"), link = document.getElementById("link"), totals = document.getElementById("totals"), alarm = document.getElementById("problem");
const rows = [], places = new Map();  // by name; where each is
let view = null, frames = 0;

// Rows that are there stay where they are: only nodes that come or go move others.
function take(frame) {
  const came = [], gone = new Set(frame.gone);
  if (frame.whole) {
    const there = new Set(frame.rows.map((row) => row[NAME]));
    for (const row of rows) if (!there.has(row[NAME])) gone.add(row[NAME]);
  }
  for (const row of frame.rows) {
    gone.delete(row[NAME]);
    if (places.has(row[NAME])) rows[places.get(row[NAME])] = row;
    else came.push(row);
  }
  if (came.length === 0 && gone.size === 0) return;
  const all = rows.filter((row) => !gone.has(row[NAME])).concat(came);
  if (came.length > 0) all.sort((a, b) => (a[NAME] < b[NAME] ? -1 : a[NAME] > b[NAME] ? 1 : 0));
  rows.length = 0;
  places.clear();
  for (const row of all) places.set(row[NAME], rows.push(row) - 1);
}

function problem(text) {
  alarm.textContent = text;
  alarm.hidden = text === "";
}

function sums(frame) {
  const [cpu, memory] = frame.capacity, [used, usedMemory] = frame.used;
  const facts = [["Nodes ready", `${frame.ready} of ${frame.nodes}`], ["CPU used", `${cores(used)} of ${cores(cpu)} cores (${percent(used, cpu)})`],
    ["Memory used", `${bytes(usedMemory)} of ${bytes(memory)} (${percent(usedMemory, memory)})`], ["Lent to batch", `${cores(frame.lent[0])} cores, ${cores(frame.asked[0])} asked for`],
    ["Batch uses", `${cores(frame.tiers[2])} cores`], ["Pods that wait", frame.waiting]];
  totals.replaceChildren(...facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

const stream = new EventSource("data/stream");
stream.addEventListener("cluster", (event) => {
  const frame = JSON.parse(event.data);
  take(frame);
  link.textContent = `live, ${frame.time}`;
  sums(frame);
  if (view && frames++ % (view.every ?? 1) === 0) view.frame();
});
stream.addEventListener("error", () => { link.textContent = stream.readyState === EventSource.CLOSED ? "the stream has ended: reload the page" : "reconnecting"; });

function show() {
  const [, kind = "cluster", ...words] = location.hash.split("/").map((word) => { try { return decodeURIComponent(word); } catch { return word; } });
  if (location.hash !== "" && !location.hash.startsWith("#/")) return;  // the skip link
  view?.end();
  problem("");
  if (kind === "node") view = nodeView(words[0] ?? "", problem);
  else if (kind === "groups") view = groupsView(problem);
  else if (kind === "waiting") view = waitingView(problem);
  else if (kind === "explain") view = explainView(words[0] ?? "", words[1] ?? "", problem);
  else if (kind === "what-if") view = whatIfView(problem);
  else view = clusterView(rows);
  main.replaceChildren(view.element);
  for (const each of document.querySelectorAll("nav a")) {
    if (each.hash === `#/${kind}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  document.title = `koord: ${[kind, ...words].join(" ")}`;
  view.frame();
}
addEventListener("hashchange", () => { show(); main.focus(); });
show();
