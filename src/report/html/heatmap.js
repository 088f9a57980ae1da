// Cases by systems: every value as a cell, in an order and by a filter of the reader's choice.

const heat = { built: "", rows: [], at: [0, 0] };

const known = (value) => typeof value === "number";

/** What is shown of each case: values by system, their mean, spread and the difference of the pair. */
function caseRows() {
  const metric = metrics[state.metric];
  const columns = shownSystems();
  const row = (entry, place) => {
    const values = columns.map((system) => metric?.values?.[system]?.[place] ?? null);
    const numbers = values.filter(known);
    const sum = numbers.reduce((total, value) => total + value, 0);
    const [first, second] = [state.first, state.second].map((system) => metric?.values?.[system]?.[place] ?? null);
    return {
      place,
      values,
      mean: numbers.length ? sum / numbers.length : null,
      spread: numbers.length > 1 ? Math.max(...numbers) - Math.min(...numbers) : null,
      delta: known(first) && known(second) ? first - second : null,
    };
  };
  return cases.map(row);
}

/** The systems that have a column, in the order of the leaderboard. */
function shownSystems() {
  const order = metrics[state.metric]?.order ?? systems.map((_, place) => place);
  const all = [...order, ...systems.keys()].filter((place, at, list) => list.indexOf(place) === at);
  return state.case === null && state.systems ? all.filter((place) => state.systems.includes(place)) : all;
}

const tests = {
  "": () => true,
  unscored: (row) => row.values.some((value) => Array.isArray(value)),
  absent: (row) => row.values.some((value) => value === null),
};

function orderedRows() {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = caseRows().filter((row) => tests[state.only](row) && words.every((word) => cases[row.place].find.includes(word)));
  const down = state.sort.startsWith("-");
  const name = state.sort.replace(/^-/, "");
  const system = name.startsWith("system:") ? shownSystems().indexOf(placeOf(systems, name.slice(7))) : -1;
  const key = (row) => (name.startsWith("system:") ? row.values[system] : row[name]);
  if (name === "order") return rows;
  // What has no value stands last, in either direction.
  return rows.sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a)) || one.place - other.place;
    return (down ? b - a : a - b) || one.place - other.place;
  });
}

/** The rows in the order shown; the pages of the cases go through them. */
function listedCases() {
  return orderedRows().map((row) => row.place);
}

function showHeat() {
  const metric = metrics[state.metric];
  syncControls();
  const fingerprint = JSON.stringify([state.metric, state.systems, state.find, state.sort, state.only, state.first, state.second]);
  if (heat.built === fingerprint) return;
  heat.built = fingerprint;
  const columns = shownSystems();
  const rows = orderedRows();
  const paired = systems.length > 1;
  byId("cases-count").textContent = rows.length === cases.length ? `${cases.length}` : `${rows.length} of ${cases.length}`;
  const numbers = (metric?.values ?? []).flat().filter(known);
  const low = numbers.length ? numbers.reduce((a, b) => Math.min(a, b)) : 0;
  const high = numbers.length ? numbers.reduce((a, b) => Math.max(a, b)) : 1;
  const most = rows.reduce((widest, row) => Math.max(widest, Math.abs(row.delta ?? 0)), 0);
  showLegend(metric, low, high, paired);
  const scale = { low, width: high - low || 1, most: most || 1, unit: metric?.unit };
  const body = make("tbody", {}, rows.map((row, at) => heatRow(row, at, columns, paired, scale)));
  const table = make("table", { class: columns.length > 6 ? "heat many" : "heat", role: "grid", "aria-label": "Values by case and system", "aria-rowcount": rows.length + 1 }, heatHead(columns, paired), body);
  heat.rows = [...body.rows];
  byId("heat").replaceChildren(rows.length ? table : make("p", { class: "empty" }, "No case meets this filter."));
  heat.at = [Math.min(heat.at[0], Math.max(rows.length - 1, 0)), Math.min(heat.at[1], columns.length)];
  const cell = heatCell(...heat.at);
  if (cell) cell.tabIndex = 0;
}

function showLegend(metric, low, high, paired) {
  const parts = [figure(low, metric?.unit), make("span", { class: "ramp" }), `${figure(high, metric?.unit)} ${unitNames[metric?.unit] ?? ""}`];
  if (paired) parts.push(`· Δ is ${shortNames[state.first]} minus ${shortNames[state.second]}`);
  parts.push("· choose a case to read its answers");
  byId("heat-legend").replaceChildren(...parts.map((part) => make("span", {}, part)));
}

function heatHead(columns, paired) {
  const sorted = (name) => (state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : "none");
  const head = (system) => {
    const name = `system:${systems[system]}`;
    const next = state.sort === name ? "order" : name;
    return make("th", { scope: "col", role: "columnheader", class: "value", "aria-sort": state.sort === name ? "ascending" : "none" },
      make("button", { type: "button", title: `Sort by ${systems[system]}, lowest first`, on: { click: () => go({ sort: next }, true) } }, named(system), state.sort === name ? " ↑" : ""));
  };
  const delta = make("th", { scope: "col", role: "columnheader", class: "delta", "aria-sort": sorted("delta") },
    make("button", { type: "button", title: "Sort by difference", on: { click: () => go({ sort: state.sort === "-delta" ? "delta" : "-delta" }, true) } }, "Δ", state.sort === "-delta" ? " ↓" : state.sort === "delta" ? " ↑" : ""));
  return make("thead", {}, make("tr", { role: "row" }, make("th", { scope: "col", role: "columnheader", class: "question" }, "Case"), columns.map(head), paired && delta));
}

function heatRow(row, at, columns, paired, scale) {
  const entry = cases[row.place];
  const words = entry.question || entry.id;
  const cell = (value, column) => {
    const name = systems[columns[column]];
    const td = make("td", { role: "gridcell", tabindex: "-1" });
    if (known(value)) {
      const share = (value - scale.low) / scale.width;
      td.className = share > 0.55 ? "known high" : "known";
      td.style.setProperty("--v", share.toFixed(3));
      td.textContent = figure(value, scale.unit);
      td.setAttribute("aria-label", `${name}: ${td.textContent}`);
    } else if (Array.isArray(value)) {
      td.className = "lacks";
      td.textContent = "?";
      td.title = `unscored: between ${figure(value[0], scale.unit)} and ${figure(value[1], scale.unit)}`;
      td.setAttribute("aria-label", `${name}: ${td.title}`);
    } else {
      td.className = "absent";
      td.textContent = "–";
      td.title = "no answer";
      td.setAttribute("aria-label", `${name}: no answer`);
    }
    return td;
  };
  const tr = make("tr", { role: "row", "aria-rowindex": at + 2 },
    make("th", { scope: "row", role: "rowheader", tabindex: "-1", title: words === entry.id ? "" : `${words}\n${entry.id}`, class: "question" }, words),
    row.values.map(cell));
  if (paired) {
    const td = make("td", { role: "gridcell", class: "change" }, signed(row.delta, scale.unit));
    if (row.delta) {
      td.classList.add(row.delta > 0 ? "plus" : "minus");
      td.style.setProperty("--v", (Math.abs(row.delta) / scale.most).toFixed(3));
    }
    tr.append(td);
  }
  tr.dataset.place = row.place;
  return tr;
}

// --- the pointer and the keyboard in the grid ---

const heatCell = (row, column) => heat.rows[row]?.cells[column];

function focusCell(row, column) {
  const old = heatCell(...heat.at);
  heat.at = [Math.max(0, Math.min(row, heat.rows.length - 1)), Math.max(0, Math.min(column, shownSystems().length))];
  if (old) old.tabIndex = -1;
  const cell = heatCell(...heat.at);
  if (!cell) return;
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function openCell(cell) {
  const row = cell.closest("tr[data-place]");
  if (!row || cell.classList.contains("change")) return;
  heat.at = [heat.rows.indexOf(row), cell.cellIndex];
  casePage.before = state.systems;
  const clicked = cell.cellIndex > 0 ? shownSystems()[cell.cellIndex - 1] : null;
  go({ case: Number(row.dataset.place), systems: firstSystems(clicked) }, false);
}

/** The systems whose answers are shown at first: the best ones, the one that was chosen among them. */
function firstSystems(clicked) {
  const best = shownSystems().slice(0, 4);
  if (clicked !== null && !best.includes(clicked)) best[best.length - 1] = clicked;
  return best;
}

function startHeat() {
  const box = byId("heat");
  box.addEventListener("click", (event) => {
    const cell = event.target.closest("tbody td, tbody th");
    if (cell) openCell(cell);
  });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-15, 0], PageDown: [15, 0] };
  box.addEventListener("keydown", (event) => {
    const cell = event.target.closest("tbody td, tbody th");
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = heat.at;
    if (event.key === "Enter" || event.key === " ") openCell(cell);
    else if (steps[event.key]) focusCell(row + steps[event.key][0], column + steps[event.key][1]);
    else if (event.key === "Home") focusCell(0, column);
    else if (event.key === "End") focusCell(heat.rows.length - 1, column);
    else return;
    event.preventDefault();
  });
  box.addEventListener("focusin", (event) => {
    const cell = event.target.closest("tbody td[tabindex], tbody th[tabindex]");
    if (cell && cell !== heatCell(...heat.at)) {
      const old = heatCell(...heat.at);
      if (old) old.tabIndex = -1;
      heat.at = [heat.rows.indexOf(cell.parentElement), cell.cellIndex];
      cell.tabIndex = 0;
    }
  });
  startControls();
}

function startControls() {
  const option = (place) => make("option", { value: place, title: systems[place] }, shortNames[place]);
  for (const id of ["first", "second"]) {
    byId(id).append(...systems.map((_, place) => option(place)));
    byId(id).addEventListener("change", (event) => go({ [id]: Number(event.target.value) }, true));
  }
  for (const label of document.querySelectorAll(".controls .delta")) label.hidden = systems.length < 2;
  byId("find").addEventListener("input", (event) => go({ find: event.target.value }, true));
  for (const id of ["sort", "only"]) byId(id).addEventListener("change", (event) => go({ [id]: event.target.value }, true));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  const box = byId("shown-systems");
  box.hidden = systems.length < 2;
  systems.forEach((_, place) => {
    const input = make("input", { type: "checkbox", value: place, on: { change: () => {
      const chosen = [...box.querySelectorAll("input")].filter((other) => other.checked).map((other) => Number(other.value));
      go({ systems: chosen.length && chosen.length < systems.length ? chosen : null }, true);
    } } });
    box.append(make("label", {}, input, " ", named(place)));
  });
}

/** The controls say what the address says. */
function syncControls() {
  if (byId("find").value !== state.find) byId("find").value = state.find;
  const sort = byId("sort");
  sort.querySelector("option.system")?.remove();
  if (state.sort.startsWith("system:")) sort.append(make("option", { value: state.sort, class: "system" }, `by ${shortNames[placeOf(systems, state.sort.slice(7))] ?? "?"}, lowest first`));
  sort.value = state.sort;
  byId("only").value = state.only;
  byId("first").value = state.first;
  byId("second").value = state.second;
  const shown = shownSystems();
  for (const input of byId("shown-systems").querySelectorAll("input")) input.checked = shown.includes(Number(input.value));
}
