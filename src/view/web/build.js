// Elements from data: every text goes in as text, never as markup.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return element;
}

// Columns: [heading, cell of a row, is a number]. The first column heads its row. A narrow window shows a row as a list, for which
// each cell has its heading with it; the roles say what that layout would make a screen reader forget.
export function table(caption, columns, rows) {
  const kind = (column) => (column[2] ? { class: "number" } : {});
  return h("table", { role: "table" }, h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((c) => h("th", { scope: "col", role: "columnheader", ...kind(c) }, c[0])))),
    h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, columns.map((c, at) =>
      at === 0 ? h("th", { scope: "row", role: "rowheader" }, c[1](row)) : h("td", { role: "cell", "data-label": c[0], ...kind(c) }, c[1](row)))))));
}

export const cores = (amount) => (amount >= 100 ? amount.toFixed(0) : amount.toFixed(1));
export function bytes(amount) {
  for (const [unit, size] of [["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 1024]])
    if (amount >= size) return `${(amount / size).toFixed(amount >= 100 * size ? 0 : 1)} ${unit}`;
  return String(Math.round(amount));
}
export const percent = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)}%` : "-");
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const podLink = (namespace, name) => `#/explain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
export const nodeLink = (name) => `#/node/${encodeURIComponent(name)}`;
export const dark = matchMedia("(prefers-color-scheme: dark)");

export async function ask(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
  return answer.json();
}
