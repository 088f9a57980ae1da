// The overview: one metric at a time, and the table of cases by systems, in an order and by a filter of the reader's choice.

const known = (value) => typeof value === "number";

/** The systems in the order of the leaderboard. */
function rankedSystems() {
  const order = metrics[state.metric]?.order ?? [];
  return [...new Set([...order, ...systems.keys()])];
}

/** Of each case the values by system, their mean, spread and the difference of the pair. */
function caseRow(place) {
  const all = metrics[state.metric]?.values;
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

const filters = {
  "": () => true,
  unscored: (row) => row.values.some((value) => Array.isArray(value)),
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
  const metric = metrics[state.metric];
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
  const head = [make("th", { scope: "col", class: "question" }, "Case"), ...columns.map((system) => make("th", { scope: "col", class: "value" }, named(system))), paired && make("th", { scope: "col", class: "delta" }, "Δ")];
  const table = make("table", { class: columns.length > 6 ? "heat many" : "heat", "aria-label": "Values by case and system" },
    make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows.map((row) => heatRow(row, columns, paired, scale))));
  byId("heat").replaceChildren(rows.length ? table : make("p", { class: "empty" }, "No case matches this filter."));
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
  const cell = (value, column) => {
    const open = () => go({ case: row.place, systems: firstSystems(columns[column]) }, false);
    if (known(value)) {
      return shaded(make("td", { class: "known", on: { click: open } }, figure(value, scale.unit)), scale.shares.get(value));
    }
    if (!Array.isArray(value)) return make("td", { class: "missing", title: "no answer", on: { click: open } }, "–");
    const title = `unscored: between ${figure(value[0], scale.unit)} and ${figure(value[1], scale.unit)}`;
    return make("td", { class: "unscored", title, on: { click: open } }, "?");
  };
  const link = make("a", { href: address({ case: row.place, systems: firstSystems(null) }), title: `${entry.question}\n${entry.id}` }, entry.question || entry.id);
  const tr = make("tr", {}, make("th", { scope: "row", class: "question" }, link), row.values.map(cell));
  if (paired) {
    const change = row.delta > 0 ? "plus" : row.delta < 0 ? "minus" : "";
    tr.append(shaded(make("td", { class: `change ${change}` }, signed(row.delta, scale.unit)), Math.abs(row.delta ?? 0) / scale.most));
  }
  return tr;
}

/** The systems whose answers are shown first: the best ones, with the one that was chosen. */
function firstSystems(chosen) {
  const best = rankedSystems().slice(0, 4);
  if (chosen !== null && !best.includes(chosen)) best[best.length - 1] = chosen;
  return best;
}

function showMetric() {
  const metric = metrics[state.metric];
  for (const section of document.querySelectorAll("section.metric")) section.hidden = section.dataset.metric !== metric?.key;
  if (metric) byId("metric").value = metric.key;
  for (const link of document.querySelectorAll("[data-key]")) {
    const place = placeOf(metrics.map((other) => other.key), link.dataset.key);
    link.href = address({ metric: place });
    link.ariaCurrent = String(place === state.metric);
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
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", copy);
  for (const id of ["first", "second"]) {
    byId(id).append(...shortNames.map((name, place) => make("option", { value: place }, name)));
    byId(id).addEventListener("change", (event) => go({ [id]: Number(event.target.value) }, true));
    byId(id).parentElement.hidden = systems.length < 2;
  }
  byId("metric").addEventListener("change", (event) => {
    const metric = placeOf(metrics.map((other) => other.key), event.target.value) ?? core.first;
    const [first, second] = metrics[metric]?.order ?? [];
    go({ metric, first: first ?? 0, second: second ?? first ?? 0 }, false);
  });
  byId("find").addEventListener("input", (event) => go({ find: event.target.value }, true));
  for (const id of ["sort", "only"]) byId(id).addEventListener("change", (event) => go({ [id]: event.target.value }, true));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
}
