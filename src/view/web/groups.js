// Quotas, gangs and reservations; and who waits, and why.
import { h, table, ask, cores, bytes, podLink } from "./build.js";

const amount = (a) => (a ? `${cores(a.cpuCores ?? 0)} / ${bytes(a.memoryBytes ?? 0)}` : "-");
function share(quota) {
  const most = quota.mayUse?.cpuCores ?? quota.min?.cpuCores ?? 0;
  return most > 0 ? h("meter", { min: 0, max: 1, high: 0.95, value: Math.min(1, (quota.used?.cpuCores ?? 0) / most), "aria-label": `CPU that ${quota.name} uses of what it may` }) : "-";
}
const since = (time) => {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  return seconds < 120 ? `${Math.round(seconds)} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
};
const part = (title, ...inside) => h("section", { "aria-label": title }, h("h2", {}, title), inside);
const nothing = (text) => h("p", { class: "quiet" }, text);

function live(problem, show) {
  const element = h("div", {}, h("p", { class: "quiet" }, "..."));
  let shown = "", ended = false;
  return { element, every: 3, end() { ended = true; }, async frame() {
    try {
      const document = await ask("data/groups");
      if (ended) return;
      const text = JSON.stringify({ ...document, view: { ...document.view, time: "" } });
      problem("");
      if (text === shown) return;  // what has the focus keeps it
      shown = text;
      element.replaceChildren(...show(document));
    } catch (error) { if (!ended) problem(error.message); }
  } };
}

export function groupsView(problem) {
  return live(problem, ({ view, unread }) => [
    part("Quotas", (view.quotas ?? []).length === 0 ? nothing(unread.quotas ?? "There are none.") : table("Cores and memory; what a quota may use moves with what others ask for.", [
      ["Quota", (q) => q.name], ["Parent", (q) => q.parent ?? ""], ["Min", (q) => amount(q.min), true], ["Used", (q) => amount(q.used), true], ["May use now", (q) => amount(q.mayUse), true],
      ["CPU, used of that", (q) => share(q)],
      ["Lent, cores", (q) => cores(q.lentCpuCores ?? 0), true], ["Borrowed, cores", (q) => cores(q.borrowedCpuCores ?? 0), true], ["Waiting pods", (q) => q.waiting ?? 0, true]], view.quotas)),
    part("Gangs", (view.gangs ?? []).length === 0 ? nothing(unread.gangs ?? "There are none.") : table("Pods that are placed together.", [
      ["Gang", (g) => g.name], ["State", (g) => g.state], ["Min members", (g) => g.min ?? "-", true], ["Pods", (g) => g.pods ?? 0, true], ["Placed", (g) => g.placed ?? 0, true], ["Waiting", (g) => g.waiting ?? 0, true], ["Why", (g) => g.why ?? ""]], view.gangs)),
    part("Reservations", (view.reservations ?? []).length === 0 ? nothing(unread.reservations ?? "There are none.") : table("Room that is kept.", [
      ["Reservation", (r) => r.name], ["Phase", (r) => r.phase], ["Node", (r) => r.node ?? ""], ["Kept", (r) => amount(r.reserved), true], ["Used", (r) => amount(r.used), true], ["Why it waits", (r) => r.why ?? ""]], view.reservations)),
  ]);
}

export function waitingView(problem) {
  return live(problem, ({ view, unread, waiting, more_waiting: more }) => [
    Object.keys(unread).length > 0 && part("Not known", Object.values(unread).map(nothing)),
    part("Why", (view.waiting ?? []).length === 0 ? nothing("Nobody waits for a node.") : table("In the scheduler's words, most pods first.", [
      ["Pods", (w) => (w.pods === 1 ? "1 pod" : `${w.pods} pods`)], ["Since", (w) => since(w.oldest), true], ["Why", (w) => w.why], ["For example", (w) => (w.examples ?? []).join(", ")]], view.waiting)),
    (view.missing ?? []).length > 0 && part("Named, but not there", table("Waiting pods name these.", [["Name", (m) => m.name], ["Kind", (m) => m.kind], ["Pods", (m) => m.pods, true]], view.missing)),
    waiting.length > 0 && part("Who", table(more > 0 ? `The longest first; ${more} more` : "The longest first; a click asks the scheduler's engine what would have to change.", [
      ["Pod", (p) => h("a", { href: podLink(p.namespace, p.name) }, `${p.namespace}/${p.name}`)], ["Since", (p) => since(p.since), true], ["Why", (p) => p.why]], waiting)),
  ].filter(Boolean));
}
