// What `koord explain` says: of a pod that there is, or of one that is pasted in.
import { h, table, ask, nodeLink } from "./build.js";

const MOST = 256 * 1024;
const EXAMPLE = `apiVersion: v1
kind: Pod
metadata:
  name: try
spec:
  schedulerName: koord-scheduler
  priorityClassName: koord-batch
  containers:
  - name: main
    image: busybox
    resources:
      requests: {kubernetes.io/batch-cpu: "4000", kubernetes.io/batch-memory: 8Gi}
      limits: {kubernetes.io/batch-cpu: "4000", kubernetes.io/batch-memory: 8Gi}
`;
const some = (list) => (list ?? []).length > 0;

function answer(view) {
  const node = (name) => h("a", { href: nodeLink(name) }, name);
  return [
    h("section", { "aria-label": "The answer" }, h("h2", {}, view.pod), (view.summary ?? []).map((line) => h("p", {}, line)), view.message && h("p", { class: "quiet" }, view.message)),
    some(view.refused) && h("section", {}, h("h2", {}, "Who refuses it"), table("The first filter that does, node by node.", [
      ["Plugin", (r) => r.plugin], ["Nodes", (r) => r.nodes, true], ["Why", (r) => (r.reasons ?? []).join("; ")], ["For example", (r) => (r.examples ?? []).join(", ")]], view.refused)),
    some(view.remedies) && h("section", {}, h("h2", {}, "It would fit if"), h("ul", {}, view.remedies.map((r) => h("li", {}, `${r.sentence}: on ${r.nodes} ${r.nodes === 1 ? "node" : "nodes"}`, some(r.examples) && ` (${r.examples.join(", ")})`)))),
    some(view.best) && h("section", {}, h("h2", {}, "Nodes that would do"), table(`${view.feasible ?? 0} of ${view.nodes ?? 0} nodes; the best first.`, [
      ["Node", (b) => node(b.node)], ["Score", (b) => b.total ?? 0, true], ["Of which", (b) => (b.plugins ?? []).map((p) => `${p.plugin} ${p.score ?? 0} x ${p.weight ?? 0}`).join(", ")]], view.best)),
    (view.preemption ?? []).filter((p) => p.node).map((p) => h("section", {}, h("h2", {}, "It would preempt"), h("p", {}, "on ", node(p.node)),
      table("Who would go", [["Pod", (v) => v.pod], ["Priority", (v) => v.priority ?? 0, true]], p.victims ?? []))),
    some(view.notes) && h("section", {}, h("h2", {}, "Notes"), h("ul", {}, view.notes.map((n) => h("li", {}, n)))),
  ].flat().filter(Boolean);
}

// `current`: whether somebody still waits for it.
async function patient(element, problem, question, current) {
  element.replaceChildren(h("p", { class: "quiet", role: "status" }, "asking the scheduler's engine ..."));
  try {
    const view = await question();
    if (!current()) return;
    element.replaceChildren(...answer(view));
    problem("");
  } catch (error) {
    if (!current()) return;
    element.replaceChildren();
    problem(error.message);
  }
}

export function explainView(namespace, name, problem) {
  const element = h("div", { id: "answer" });
  let ended = false;
  patient(element, problem, () => ask(`data/explain?namespace=${encodeURIComponent(namespace)}&name=${encodeURIComponent(name)}`), () => !ended);
  return { element, frame() {}, end() { ended = true; } };
}

export function whatIfView(problem) {
  const said = h("div", { id: "answer", "aria-live": "polite" });
  let questions = 0, ended = false;
  const text = h("textarea", { id: "pod", spellcheck: "false", maxlength: MOST, "aria-describedby": "how" });
  text.value = EXAMPLE;
  const go = h("button", { type: "button", on: { click: () => {
    if (new Blob([text.value]).size > MOST) { problem("the pod has more than 256 KiB"); return; }
    const mine = ++questions;
    patient(said, problem, () => ask("data/what-if", { method: "POST", headers: { "Content-Type": "application/yaml" }, body: text.value }), () => !ended && mine === questions);
  } } }, "Ask");
  return { element: h("div", {}, h("section", { "aria-label": "What would happen if" }, h("h2", {}, "What would happen if this pod came now?"),
    h("p", { id: "how", class: "quiet" }, "A manifest of a pod, or of what makes pods by a template. Nothing is created: an engine of the scheduler's kind is asked."),
    h("label", { for: "pod" }, "The manifest"), text, h("p", {}, go)), said), frame() {}, end() { ended = true; } };
}
