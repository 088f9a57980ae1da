// The page of a case: the question, each part with its score per system, the answers side by side.

const casePage = { open: new Set(), full: false, shown: null, scroll: 0 };

function showCase() {
  const block = caseBlock(state.case);
  const columns = state.systems ?? firstSystems(null);
  const entry = cases[state.case];
  const isNew = casePage.shown !== state.case;
  if (isNew) casePage.open.clear();
  casePage.shown = state.case;
  const title = make("h1", { tabindex: "-1", dir: "auto" }, entry.question || entry.id);
  byId("case").replaceChildren(caseBar(entry), title, systemChoice(block, columns), ...partTables(block, columns), ...answers(block, columns));
  document.title = `${(entry.question || entry.id).slice(0, 80)} · scholareval`;
  if (isNew) {
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  }
}

function caseBar(entry) {
  const listed = listedCases();
  const at = listed.indexOf(state.case);
  const to = (step, name, key) => {
    const target = at < 0 ? undefined : listed[at + step];
    return make("button", { type: "button", title: `${name} (${key})`, disabled: target === undefined, on: { click: () => stepCase(step) } }, step < 0 ? "← Previous" : "Next →");
  };
  const place = at < 0 ? "not in the list as it is filtered" : `${at + 1} of ${listed.length}`;
  return make("nav", { class: "bar", "aria-label": "Cases" },
    make("button", { type: "button", title: "Back to the overview (Esc)", on: { click: closeCase } }, "↑ Overview"),
    to(-1, "Previous case", "p"), to(1, "Next case", "n"), make("span", { class: "quiet" }, place), make("span", { class: "id" }, entry.id));
}

function stepCase(step) {
  const listed = listedCases();
  const at = listed.indexOf(state.case);
  const target = at < 0 ? undefined : listed[at + step];
  if (target !== undefined) go({ case: target }, false);
}

function closeCase() {
  go({ case: null, systems: null }, false);
}

function systemChoice(block, columns) {
  const box = make("fieldset", { class: "choice" }, make("legend", {}, "Systems"));
  for (const place of rankedSystems()) {
    const change = (event) => {
      const chosen = event.target.checked ? [...columns, place] : columns.filter((other) => other !== place);
      if (chosen.length) go({ systems: chosen }, true);
      else event.target.checked = true;
      byId("case").querySelector(`.choice input[value="${place}"]`)?.focus();
    };
    const input = make("input", { type: "checkbox", value: place, on: { change } });
    input.checked = columns.includes(place);
    box.append(make("label", {}, input, " ", named(place), block.systems[place] ? "" : " (no answer)"));
  }
  return box;
}

// --- parts and their scores ---

/** A table for each scorer, that of the metric first. */
function partTables(block, columns) {
  const names = [...new Set(columns.flatMap((place) => (block.systems[place]?.scores ?? []).map((score) => score.scorer)))];
  const own = metrics[state.metric]?.scorer;
  names.sort((one, other) => Number(other === own) - Number(one === own));
  return names.flatMap((scorer) => partTable(scorer, block, columns));
}

function partTable(scorer, block, columns) {
  const scores = columns.map((place) => block.systems[place]?.scores.find((score) => score.scorer === scorer) ?? null);
  const parts = [];
  for (const score of scores) {
    for (const part of score?.parts ?? []) if (!parts.some((other) => other[0] === part[0])) parts.push(part);
  }
  const weighted = parts.some((part) => part[3] !== null);
  const head = make("tr", {}, make("th", { scope: "col", class: "name" }, "Component"), weighted && make("th", { scope: "col", class: "weight n" }, "Weight"),
    columns.map((place) => make("th", { scope: "col", class: "value" }, named(place))));
  const body = make("tbody");
  for (const name of ["value", "ann"]) {
    const label = name === "ann" ? "Annotated components only" : "Score";
    if (!scores.some((score) => score && score[name] !== null)) continue;
    body.append(make("tr", { class: "total" }, make("th", { scope: "row" }, label), weighted && make("td", { class: "weight" }),
      scores.map((score, at) => make("td", {}, scoreBar(score?.[name] ?? null, score?.unit ?? "share", columns[at])))));
  }
  const units = new Set([...parts.map((part) => unitOf(part[1])), ...scores.filter((score) => score?.value !== null && score).map((score) => score.unit)]);
  const unit = ["share", "grade", "count"].find((name) => units.has(name)) ?? "share";
  for (const part of parts) body.append(...partRows(part, { scorer, scores, block, columns, weighted, unit }));
  const otherwise = units.size > 1 ? " where no row says otherwise" : "";
  const title = make("h2", {}, "Components ", make("small", {}, `${scorer}, ${unitNames[unit]}${otherwise}${weighted ? ", weights too" : ""}; choose a component for feedback and raw replies`));
  const table = make("table", { class: "parts" }, make("thead", {}, head), body);
  table.style.setProperty("--n", columns.length);
  return [title, make("div", { class: "wide" }, table)];
}

function scoreBar(value, unit, system) {
  if (value === null || value === undefined) return make("span", { class: "quiet" }, "–");
  const bar = make("div", { class: `score c${system % 10}` }, make("b", {}, figure(value, unit)));
  if (unit !== "count") {
    const share = make("i", { "aria-hidden": "true" });
    share.style.setProperty("--v", Math.max(0, Math.min(1, unit === "grade" ? (value - 1) / 4 : value)).toFixed(3));
    bar.append(share);
  }
  return bar;
}

/** The text of a part as a reader understands it: that of the length gives bounds in words, its value is none. */
function partWords(kind, text) {
  const bounds = kind === "length" ? /^words, (\d+) to (\d+)$/.exec(text) : null;
  return bounds ? `Length score: full up to ${bounds[1]} words, none from ${bounds[2]}` : text;
}

/** What stands below the text of a part: its name, its kind, and its unit where that is not the table's. */
function partUnder(name, kind, hasWords, unit) {
  const own = unitOf(kind);
  const label = hasWords ? (name === kind ? kind : `${name} · ${kind}`) : "";
  const inUnit = own === unit ? "" : own === "count" ? (hasWords ? "" : "count") : unitNames[own];
  return [label, inUnit].filter(Boolean).join(" · ");
}

function partRows(part, table) {
  const { scorer, scores, block, columns, weighted, unit } = table;
  const { texts } = block;
  const [name, kind, text, weight] = part;
  const words = texts[text] && texts[text] !== texts[name] ? partWords(kind, texts[text]) : "";
  const under = partUnder(texts[name], kind, Boolean(words), unit);
  const key = `${scorer}/${texts[name]}`;
  const isOpen = casePage.open.has(key);
  const button = make("button", { type: "button", class: "open-part", "aria-expanded": String(isOpen) },
    make("span", {}, make("span", { class: "part-text" }, words || texts[name]), under && make("span", { class: "kind" }, under)));
  const cells = scores.map((score, at) => {
    const own = score?.parts.find((other) => other[0] === name);
    if (!own) return make("td", { class: "quiet" }, score ? "–" : "");
    const [, , , , value, reason] = own;
    if (value === null) return make("td", { class: "warn", title: reason === null ? "" : texts[reason] }, "unscored");
    const length = kind === "length" ? block.systems[columns[at]]?.answer?.words : undefined;
    return make("td", {}, scoreBar(value, unitOf(kind), columns[at]), length !== undefined && make("small", { class: "quiet" }, `${length} words`));
  });
  const row = make("tr", {}, make("th", { scope: "row" }, button), weighted && make("td", { class: "weight n quiet" }, weight === null ? "" : figure(weight, "share")), cells);
  let detail = null;
  const toggle = (open) => {
    button.setAttribute("aria-expanded", String(open));
    detail?.remove();
    detail = open ? make("tr", { class: "detail" }, make("td", { colspan: columns.length + 1 + (weighted ? 1 : 0) }, partDetail(part, scores, block, columns))) : null;
    if (detail) row.after(detail);
  };
  button.addEventListener("click", () => {
    if (casePage.open.has(key)) casePage.open.delete(key);
    else casePage.open.add(key);
    toggle(casePage.open.has(key));
  });
  if (!isOpen) return [row];
  // The row has no place yet: its detail is handed on beside it.
  detail = make("tr", { class: "detail" }, make("td", { colspan: columns.length + 1 + (weighted ? 1 : 0) }, partDetail(part, scores, block, columns)));
  return [row, detail];
}

/** What the judge said of a part, system by system. */
function partDetail(part, scores, block, columns) {
  const { texts } = block;
  const name = texts[part[0]];
  const snippets = block.snippets?.[name] ?? [];
  const box = [];
  if (snippets.length) box.push(make("ol", { class: "snippets" }, snippets.map((place) => make("li", {}, texts[place]))));
  const shown = columns.map((place, at) => {
    const column = make("div", { class: `column c${place % 10}` }, make("h3", {}, make("span", {}, named(place))));
    const own = scores[at]?.parts.find((other) => other[0] === part[0]);
    if (own && own[5] !== null) column.append(make("p", { class: "says warn" }, texts[own[5]]));
    if (own && own[6] !== null) column.append(make("p", { class: "says text" }, texts[own[6]]));
    column.append(...memberLines(scores[at], name, part[1], texts), ...replies(block.systems[place], name, texts));
    if (column.childElementCount === 1) column.append(make("p", { class: "quiet" }, "Counted from the text, or no reply is kept."));
    return column;
  });
  box.push(make("div", { class: "columns" }, shown));
  return box;
}

// The value of each judge: shares in percent, points and grades as they are.
function memberLines(score, name, kind, texts) {
  const isShare = ["citations", "excerpts", "share"].includes(kind);
  const members = Object.entries(score?.members ?? {}).filter(([item]) => sameItem(item, name));
  return members.flatMap(([, judges]) => judges.map(([judge, value, draws]) => {
    const short = (number) => (isShare ? `${figure(number, "share")}%` : String(Math.round(100 * number) / 100).replace("-", "−"));
    const list = draws.map((draw) => (draw === null ? "unreadable" : short(draw))).join(", ");
    return make("p", { class: "says" }, make("span", { class: "who" }, `${texts[judge]} `), make("b", {}, value === null ? "none" : short(value)), draws.length > 1 ? ` (samples ${list})` : "");
  }));
}

/** Whether a call's item belongs to a part: where two parts have one name the items are numbered. */
const sameItem = (item, name) => item === name || item.replace(/#\d+$/, "") === name;

function replies(entry, name, texts) {
  const calls = (entry?.calls ?? []).filter(([item]) => sameItem(texts[item], name));
  calls.sort((one, other) => texts[one[2]].localeCompare(texts[other[2]]) || one[3] - other[3] || one[4] - other[4]);
  return calls.map(([, role, judge, draw, attempt, raw, reason, note]) => {
    const which = [`${texts[judge]}, ${texts[role]}`, draw || calls.length > 1 ? `sample ${draw + 1}` : "", attempt ? `asked again (${attempt})` : ""].filter(Boolean).join(", ");
    return make("details", { open: calls.length < 3 }, make("summary", {}, `Raw reply: ${which}`),
      reason !== null && make("p", { class: "says warn" }, texts[reason]), note !== null && make("p", { class: "says quiet" }, texts[note]),
      raw === null ? make("p", { class: "quiet" }, "No reply came.") : make("pre", { class: "raw", tabindex: "0", dir: "auto" }, texts[raw]));
  });
}

// --- the answers ---

function answers(block, columns) {
  const box = make("div", { class: "columns", tabindex: "-1" }, columns.map((place) => answerColumn(place, block.systems[place], block)));
  const resize = () => {
    for (const answer of box.querySelectorAll(".answer")) answer.classList.toggle("full", casePage.full);
    button.textContent = casePage.full ? "Fit to the window" : "Full length";
    button.setAttribute("aria-pressed", String(casePage.full));
  };
  const button = make("button", { type: "button", on: { click: () => {
    casePage.full = !casePage.full;
    resize();
  } } });
  resize();
  return [make("h2", {}, "Answers ", button), ...looseReplies(block, columns), box];
}

/** Replies of questions that are no part, such as those about single claims. */
function looseReplies(block, columns) {
  const { texts } = block;
  const lists = columns.map((place) => {
    const entry = block.systems[place];
    const names = new Set((entry?.scores ?? []).flatMap((score) => score.parts.map((part) => texts[part[0]])));
    const items = [...new Set((entry?.calls ?? []).map(([item]) => texts[item]))].filter((item) => ![...names].some((name) => sameItem(item, name)));
    return [place, entry, items];
  });
  if (!lists.some(([, , items]) => items.length)) return [];
  const column = ([place, entry, items]) => make("div", { class: `column c${place % 10}` }, make("h3", {}, make("span", {}, named(place))),
    items.map((item) => make("details", {}, make("summary", {}, item), replies(entry, item, texts))));
  return [make("details", {}, make("summary", {}, "Raw replies about single claims"), make("div", { class: "columns" }, lists.map(column)))];
}
