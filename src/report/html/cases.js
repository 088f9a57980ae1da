// The overview: one metric at a time, and the table of cases by systems, in an order and by a filter of the reader's choice.

const known = (value) => typeof value === "number";

/** The values that the list shows: those of the metric, or of criteria. */
const shownValues = () => (state.of === null ? metrics[state.metric] : core.criteria[state.of]);

/** The systems in the order of the leaderboard. */
function rankedSystems() {
  const order = metrics[state.metric]?.order ?? [];
  return [...new Set([...order, ...systems.keys()])];
}

/** Of each case the values by system, their mean, spread and the difference of the pair. */
function caseRow(place) {
  const all = shownValues()?.values;
  const values = rankedSystems().map((system) => all?.[system]?.[place] ?? null);
  const numbers = values.filter(known);
  const [first, second] = [state.first, state.second].map((system) => all?.[system]?.[place] ?? null);
  return {
    place,
    values,
    mean: numbers.length ? numbers.reduce((total, value) => total + value, 0) / numbers.length : null,
    spread: numbers.length > 1 ? Math.max(...numbers) - Math.min(...numbers) : null,
    delta: known(first) && known(second) ? first - second : null,
  };
}

/** The cases in which the judge and people differ, where people labeled answers. */
const differing = new Set(core.differ ?? []);

const filters = {
  "": () => true,
  unscored: (row) => row.values.some((value) => Array.isArray(value)),
  differ: (row) => differing.has(row.place),
  missing: (row) => row.values.some((value) => value === null),
};

/** The rows of the table, in order. */
function orderedRows() {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (row) => filters[state.only](row) && words.every((word) => cases[row.place].find.includes(word));
  const rows = cases.map((_, place) => caseRow(place)).filter(found);
  if (state.sort === "order") return rows;
  const down = state.sort.startsWith("-");
  const name = state.sort.replace(/^-/, "");
  // A row without a value is last, in either direction.
  return rows.sort((one, other) => {
    const [a, b] = [one[name], other[name]];
    if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a)) || one.place - other.place;
    return (down ? b - a : a - b) || one.place - other.place;
  });
}

/** The cases in the order shown; the pages of the cases go through them. */
const listedCases = () => orderedRows().map((row) => row.place);

function showCases() {
  const metric = shownValues();
  showWhose();
  for (const name of ["find", "sort", "only", "first", "second"]) if (byId(name).value !== String(state[name])) byId(name).value = state[name];
  const rows = orderedRows();
  const paired = systems.length > 1;
  byId("cases-count").textContent = rows.length === cases.length ? `${cases.length}` : `${rows.length} of ${cases.length}`;
  const numbers = (metric?.values ?? []).flat().filter(known).sort((a, b) => a - b);
  const shares = sharesBelow(numbers);
  const most = rows.reduce((widest, row) => Math.max(widest, Math.abs(row.delta ?? 0)), 0);
  const quantiles = numbers.length ? [0, 0.25, 0.5, 0.75, 1].map((share) => numbers[Math.round(share * (numbers.length - 1))]) : [];
  const swatch = (value) => shaded(make("span", { class: "known" }, figure(value, metric?.unit)), shares.get(value));
  byId("heat-legend").replaceChildren("lowest value, quartiles, highest value:", ...[...new Set(quantiles)].map(swatch), unitNames[metric?.unit] ?? "");
  const scale = { shares, most: most || 1, unit: metric?.unit };
  const columns = rankedSystems();
  const head = [make("th", { scope: "col", class: "question" }, "Case"), ...columns.map((system) => make("th", { scope: "col", class: "value" }, named(system))), paired && make("th", { scope: "col", class: "delta" }, "difference")];
  const body = make("tbody");
  const kinds = ["heat", columns.length > 6 && "many", metric?.fault && "faults"].filter(Boolean).join(" ");
  const table = make("table", { class: kinds, "aria-label": "Values by case and system" },
    make("thead", {}, make("tr", {}, head)), body);
  fillRows(body, rows, (row) => heatRow(row, columns, paired, scale));
  byId("heat").replaceChildren(rows.length ? table : make("p", { class: "empty" }, "No case matches this filter."));
}

/** Says that the values are those of criteria, if they are. */
function showWhose() {
  const box = byId("cases-of");
  box.hidden = state.of === null;
  if (box.hidden) return;
  const back = make("button", { type: "button", on: { click: () => go({ of: null, sort: initial.sort }, false) } }, `Show ${metrics[state.metric]?.key ?? "the metric"}`);
  box.replaceChildren(make("span", {}, shownValues().fault ? "How far each answer has the fault: " : "Credit for: ", make("b", {}, shownValues().name)), " ", back);
}

/** Of each of the sorted values, the share of the others below it, ties by half: its color, whatever the distribution. */
function sharesBelow(sorted) {
  const shares = new Map();
  for (let from = 0, to = 0; from < sorted.length; from = to) {
    while (sorted[to] === sorted[from]) to += 1;
    shares.set(sorted[from], sorted.length > 1 ? (from + to - 1) / 2 / (sorted.length - 1) : 0.5);
  }
  return shares;
}

function shaded(element, share) {
  element.style.setProperty("--v", share.toFixed(3));
  return element;
}

function heatRow(row, columns, paired, scale) {
  const entry = cases[row.place];
  const cell = (value) => {
    if (known(value)) return shaded(make("td", { class: "known" }, figure(value, scale.unit)), scale.shares.get(value));
    if (!Array.isArray(value)) return make("td", { class: "missing", title: state.of === null ? "no answer" : "no answer, or not judged" }, "–");
    const title = `unscored: between ${figure(value[0], scale.unit)} and ${figure(value[1], scale.unit)}`;
    return make("td", { class: "unscored", title }, value.length > 2 ? figure(value[2], scale.unit) : "?");
  };
  const link = make("a", { href: address(caseTarget(row.place, null)), title: `${entry.question}\n${entry.id}` }, entry.question || entry.id);
  const tr = make("tr", { "data-place": row.place }, make("th", { scope: "row", class: "question" }, link), row.values.map(cell));
  if (paired) {
    const change = row.delta > 0 ? "plus" : row.delta < 0 ? "minus" : "";
    tr.append(shaded(make("td", { class: `change ${change}` }, signed(row.delta, scale.unit)), Math.abs(row.delta ?? 0) / scale.most));
  }
  return tr;
}

/** The page of a case, with this system among those shown. */
const caseTarget = (place, system) => ({ case: place, part: shownPart(place), systems: firstSystems(system) });

/** The component of a case whose values are shown; a criterion of several cases may have another name in each. */
const shownPart = (place) => shownValues()?.renamed?.[place] ?? shownValues()?.part ?? null;

/** A cell leads to the case with the answer of its system. */
function openCell(event) {
  const cell = event.target.closest("td:not(.change)");
  if (!cell) return;
  const system = rankedSystems()[cell.cellIndex - 1];
  go(caseTarget(Number(cell.parentElement.dataset.place), system), false);
}

// --- rows are made as they come into sight ---

/** Rows that are made at once: a page of 25,000 cases would take seconds to make them all. */
const rowsAtOnce = 400;

/** What makes the rows that are not in the table yet. */
let moreRows = () => {};

/** Fills the body of a table with a row for each of the list, the first of them now. */
function fillRows(body, list, makeRow) {
  moreRows = (wanted) => {
    while (body.childElementCount < Math.min(wanted, list.length)) {
      const from = body.childElementCount;
      body.append(...list.slice(from, from + rowsAtOnce).map(makeRow));
    }
  };
  moreRows(1);
}

const sight = new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) moreRows(byId("heat").querySelectorAll("tbody tr").length + 1);
}, { rootMargin: "1500px" });

/** The systems whose answers are shown first: the best ones, with the one that was chosen. */
function firstSystems(chosen) {
  const best = rankedSystems().slice(0, 4);
  if (chosen !== null && !best.includes(chosen)) best[best.length - 1] = chosen;
  return best;
}

function showMetric() {
  const metric = metrics[state.metric];
  for (const section of document.querySelectorAll("[data-metric]")) section.hidden = section.dataset.metric !== metric?.key;
  if (metric) byId("metric").value = metric.key;
  for (const link of document.querySelectorAll("[data-key]")) {
    const place = placeOf(metrics.map((other) => other.key), link.dataset.key);
    link.href = address({ metric: place, of: null });
    link.ariaCurrent = String(place === state.metric && state.of === null);
  }
}

async function copy({ currentTarget: button }) {
  const source = byId(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    byId("copied").textContent = "Copied.";
  } catch {
    source.hidden = false;
    getSelection().selectAllChildren(source);
    byId("copied").textContent = "Selected below: copy it with the keyboard.";
  }
}

function startOverview() {
  byId("differ").hidden = byId("differ").disabled = !core.differ;
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", copy);
  for (const id of ["first", "second"]) {
    byId(id).append(...shortNames.map((name, place) => make("option", { value: place }, name)));
    byId(id).addEventListener("change", (event) => go({ [id]: Number(event.target.value) }, true));
    byId(id).parentElement.hidden = systems.length < 2;
  }
  byId("metric").addEventListener("change", (event) => {
    const metric = placeOf(metrics.map((other) => other.key), event.target.value) ?? core.first;
    const [first, second] = metrics[metric]?.order ?? [];
    go({ metric, of: null, first: first ?? 0, second: second ?? first ?? 0 }, false);
  });
  byId("heat").addEventListener("click", openCell);
  sight.observe(byId("heat-end"));
  addEventListener("beforeprint", () => moreRows(cases.length));
  byId("find").addEventListener("input", (event) => go({ find: event.target.value }, true));
  for (const id of ["sort", "only"]) byId(id).addEventListener("change", (event) => go({ [id]: event.target.value }, true));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}
