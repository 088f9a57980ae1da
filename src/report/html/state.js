// Data of the page, and the state in its address.

const core = JSON.parse(byId("core").textContent);
const systems = core.systems.map((system) => system.label);
const shortNames = core.systems.map((system) => system.short);
const cases = core.cases.map(([id, question]) => ({ id, question, find: `${question}\n${id}`.toLowerCase() }));
const metrics = core.metrics;

/** The short name of a system; the whole of it is in the title. */
const named = (system) => make("span", { class: "sys", title: systems[system] }, make("bdi", {}, shortNames[system].split(/(?<=[_/])/).flatMap((piece, at) => (at ? [make("wbr"), piece] : [piece]))));

/** A number in the unit of a metric or component: shares in percent. */
function figure(value, unit) {
  if (value === null || value === undefined) return "–";
  const text = unit === "grade" ? value.toFixed(2) : unit === "count" ? (Number.isInteger(value) ? String(value) : value.toFixed(1)) : (100 * value).toFixed(1);
  return /^-[0.]+$/.test(text) ? text.slice(1) : text.replace("-", "−");
}

const signed = (value, unit) => (value === null ? "–" : (value > 0 && /[1-9]/.test(figure(value, unit)) ? "+" : "") + figure(value, unit));

/** Names of units. */
const unitNames = { share: "%", net: "%", grade: "grades from 1 to 5", count: "counts" };

/** The unit of a component by its kind. */
const unitOf = (kind) => (kind === "aspect" ? "grade" : kind === "count" ? "count" : "share");

// --- the address ---

// `of`: the values of criteria that the list of cases shows in place of the metric. `part`: the component that is open in a case.
// `lost`: a case that the address names and the page does not have.
const state = { metric: core.first, of: null, part: null, case: null, lost: null, systems: null, find: "", sort: "order", only: "", first: 0, second: 0 };
const initial = { find: "", sort: "order", only: "" };

function placeOf(list, wanted) {
  const place = list.indexOf(wanted);
  return place < 0 ? null : place;
}

/** Reads the part behind `#`; what it does not name has its default, and what is invalid is ignored. */
function readAddress() {
  const given = new Map(location.hash.slice(1).split("&").map((part) => [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)]));
  const decoded = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return "";
    }
  };
  const text = (name) => decoded(given.get(name) ?? "");
  const list = (name) => (given.get(name) ?? "").split(",").map((part) => placeOf(systems, decoded(part))).filter((place) => place !== null);
  state.metric = placeOf(metrics.map((metric) => metric.key), text("metric")) ?? core.first;
  state.of = placeOf(core.criteria.map((_, place) => String(place)), text("of"));
  state.part = given.has("part") ? text("part") : null;
  state.case = given.has("case") ? placeOf(cases.map((entry) => entry.id), text("case")) : null;
  state.lost = given.has("case") && state.case === null ? text("case") : null;
  const chosen = list("systems");
  state.systems = chosen.length ? chosen : null;
  state.find = text("find");
  state.only = ["unscored", "missing", "differ"].includes(text("only")) ? text("only") : "";
  const [first, second] = list("pair");
  const order = metrics[state.metric]?.order ?? [];
  state.first = first ?? order[0] ?? 0;
  state.second = second ?? order[1] ?? order[0] ?? 0;
  const sort = text("sort");
  state.sort = ["order", "mean", "-mean", "-spread", "delta", "-delta"].includes(sort) ? sort : "order";
}

/** The address of a state: this one with changes. */
function address(changes) {
  const next = { ...state, ...changes };
  const parts = [];
  const add = (name, value) => parts.push(`${name}=${value}`);
  if (next.case !== null) add("case", encodeURIComponent(cases[next.case].id));
  if (next.case !== null && next.part) add("part", encodeURIComponent(next.part));
  if (next.of !== null) add("of", next.of);
  if (next.systems) add("systems", next.systems.map((place) => encodeURIComponent(systems[place])).join(","));
  if (next.metric !== core.first) add("metric", encodeURIComponent(metrics[next.metric].key));
  for (const name of ["find", "sort", "only"]) {
    if (next[name] !== initial[name]) add(name, encodeURIComponent(next[name]));
  }
  const order = metrics[next.metric]?.order ?? [];
  if (next.first !== (order[0] ?? 0) || next.second !== (order[1] ?? order[0] ?? 0)) {
    add("pair", [next.first, next.second].map((place) => encodeURIComponent(systems[place])).join(","));
  }
  return `#${parts.join("&")}`;
}

/** Goes to a state: a new entry of the history, or the present one changed (filters, so that back goes back a page). */
function go(changes, replace) {
  const target = address(changes);
  const here = location.hash || "#";
  if (target !== here) {
    // An address without a part behind `#` is kept as such.
    const url = target === "#" ? location.href.split("#")[0] : target;
    if (replace) history.replaceState(history.state, "", url);
    else {
      // Where a reader who comes back was.
      history.replaceState({ ...history.state, scroll: scrollY }, "");
      history.pushState({ inside: true }, "", url);
    }
  }
  show();
}

/** The block of a case. Names in it are anything, so they are looked up in maps. */
function caseBlock(place) {
  const element = byId(`case-${place}`);
  const block = element ? JSON.parse(element.textContent) : { systems: [] };
  const measures = new Map(block.measures ?? []);
  for (const score of block.systems.flatMap((entry) => entry?.scores ?? [])) {
    const known = measures.get(score.scorer);
    // Of a component of every system the place is given, of a comparison of two answers all that it has.
    const whole = ([key, value, said]) => (typeof key === "number" ? [known[key][0], { ...known[key][1], value, ...said }] : [key, value]);
    score.parts = new Map(score.parts.map(whole));
    score.sums = new Map(score.sums);
  }
  for (const entry of block.systems) if (entry) entry.people = new Map((entry.people ?? []).map((own) => [own.item, own]));
  block.preferences ??= [];
  block.snippets = new Map(Object.entries(block.snippets ?? {}));
  return block;
}
