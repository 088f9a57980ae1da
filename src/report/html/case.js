// The page of a case: the question, each component with its score per system, the answers side by side.

const casePage = { open: new Set(), groups: new Map(), shown: null, scroll: 0, raw: false };

function showCase() {
  const block = caseBlock(state.case);
  const columns = state.systems ?? firstSystems(null);
  const entry = cases[state.case];
  const isNew = casePage.shown !== state.case;
  if (isNew) {
    casePage.open.clear();
    casePage.groups.clear();
    if (state.part) casePage.open.add(state.part);
  }
  casePage.shown = state.case;
  const title = make("h1", { tabindex: "-1", dir: "auto" }, entry.question || entry.id);
  byId("case").replaceChildren(caseBar(entry), title, systemChoice(block, columns), ...preferenceLines(block), ...partTables(block, columns), ...workSection(block, columns), ...pageSection(block, columns), ...answers(block, columns));
  document.title = `${(entry.question || entry.id).slice(0, 80)} · scholareval`;
  if (isNew) {
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
    if (state.part) document.querySelector('.open-part[aria-expanded="true"]')?.scrollIntoView({ block: "center" });
  }
}

function caseBar(entry) {
  const listed = listedCases();
  const at = listed.indexOf(state.case);
  const to = (step, name) => make("button", { type: "button", disabled: at < 0 || listed[at + step] === undefined, on: { click: () => stepCase(step) } }, name);
  const place = at < 0 ? "not in the list as it is filtered" : `${at + 1} of ${listed.length}`;
  return make("nav", { class: "bar", "aria-label": "Cases" },
    make("button", { type: "button", title: "Back to the overview (Esc)", on: { click: closeCase } }, "↑ Overview"),
    to(-1, "← Previous (p)"), to(1, "Next (n) →"), make("span", { class: "quiet" }, place), make("span", { class: "id" }, entry.id));
}

function stepCase(step) {
  const listed = listedCases();
  const at = listed.indexOf(state.case);
  const target = at < 0 ? undefined : listed[at + step];
  if (target !== undefined) go({ case: target }, false);
}

function closeCase() {
  go({ case: null, part: null, systems: null }, false);
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

/** Which answers people prefer. */
function preferenceLines(block) {
  return block.preferences.map(({ rater, systems: [one, other], is_tie: isTie, differs }) => {
    const words = isTie ? [named(one), " and ", named(other), " are equally good"] : [named(one), " is better than ", named(other)];
    return make("p", { class: differs ? "says warn" : "says" }, make("span", { class: "who" }, `${rater}: `), words, differs && "; the judge scores them the other way round");
  });
}

// --- components and their scores ---

/** A table for each scorer, that of the metric first. */
function partTables(block, columns) {
  const names = [...new Set(columns.flatMap((place) => (block.systems[place]?.scores ?? []).map((score) => score.scorer)))];
  const own = metrics[state.metric]?.scorer;
  names.sort((one, other) => Number(other === own) - Number(one === own));
  return names.flatMap((scorer) => partTable(scorer, block, columns));
}

function partTable(scorer, block, columns) {
  const scores = columns.map((place) => block.systems[place]?.scores.find((score) => score.scorer === scorer) ?? null);
  const parts = new Map(scores.flatMap((score) => [...(score?.parts ?? [])]));
  const weights = new Map([...parts.keys()].map((name) => [name, weightOf(name, scores)]));
  const weighted = [...weights.values()].some((weight) => weight);
  const head = make("tr", {}, make("th", { scope: "col", class: "name" }, "Component"), weighted && make("th", { scope: "col", class: "weight n" }, "Weight"),
    columns.map((place) => make("th", { scope: "col", class: "value" }, named(place))));
  const body = make("tbody");
  for (const name of new Set(scores.flatMap((score) => [...(score?.sums.keys() ?? [])]))) {
    const label = [name, name.endsWith("ann_score") && make("span", { class: "kind" }, " criteria and their snippets only")];
    body.append(make("tr", { class: "total" }, make("th", { scope: "row" }, label), weighted && make("td", { class: "weight" }),
      scores.map((score, at) => make("td", {}, scoreBar(score?.sums.get(name) ?? null, score?.unit ?? "share"), body.childElementCount === 0 && wholeLine(block.systems[columns[at]], score)))));
  }
  const units = new Set([...parts.values()].map((part) => unitOf(part.kind)));
  const unit = ["share", "grade", "count"].find((name) => units.has(name)) ?? "share";
  const doubt = (name) => Math.max(0, ...scores.map((score) => score?.parts.get(name)?.belief?.doubt ?? 0));
  // What a decision model doubts most comes first; other judges have no doubt, and keep their order.
  const rows = [...parts].sort(([one], [other]) => doubt(other) - doubt(one));
  const totals = [...body.children];
  const fill = () => body.replaceChildren(...totals, ...groupedRows(rows, { scorer, scores, block, columns, weights, weighted, unit }, fill));
  fill();
  const otherwise = units.size > 1 ? " where no row says otherwise" : "";
  const title = make("h2", {}, "Components ", make("small", {}, `${scorer}, ${unitNames[unit]}${otherwise}${weighted ? ", weights too" : ""}; choose a component for feedback and raw replies`));
  const table = make("table", { class: "parts" }, make("thead", {}, head), body);
  table.style.setProperty("--n", columns.length);
  return [title, make("div", { class: "wide" }, table)];
}

/** The weight of a component: an answer in which the judge could not assess it has none for it. */
function weightOf(name, scores) {
  return scores.map((score) => score?.parts.get(name)?.weight).find((weight) => weight) ?? 0;
}

/** The credit of a fault (a criterion with a negative weight), with its sign; it never looks like a success. */
function faultBar(value) {
  const share = make("i", { "aria-hidden": "true" });
  share.style.setProperty("--v", Math.max(0, Math.min(1, value)).toFixed(3));
  const words = value > 0 ? make("small", { class: "bad" }, "fault") : make("small", { class: "quiet" }, "no fault");
  return [make("div", { class: "score fault" }, make("b", {}, figure(-value, "share")), share), words];
}

function scoreBar(value, unit) {
  if (value === null) return make("span", { class: "quiet" }, "–");
  const bar = make("div", { class: "score" }, make("b", {}, figure(value, unit)));
  if (unit !== "count") {
    const share = make("i", { "aria-hidden": "true" });
    share.style.setProperty("--v", Math.max(0, Math.min(1, unit === "grade" ? (value - 1) / 4 : value)).toFixed(3));
    bar.append(share);
  }
  return bar;
}

/** The text of a component as a reader understands it: that of the length gives bounds in words, its value is none. */
function partWords(name, { kind, text = "" }) {
  const bounds = kind === "length" ? /^words, (\d+) to (\d+)$/.exec(text) : null;
  if (kind === "evidence") return `${text} for the criterion above`;
  if (bounds) return `Length score: full up to ${bounds[1]} words, none from ${bounds[2]}`;
  return text === name ? "" : text;
}

function partRows(name, part, table) {
  const { scorer, scores, block, columns, weights, weighted, unit, depth } = table;
  const weight = weights.get(name);
  const isFault = weight < 0;
  const words = partWords(name, part);
  const own = unitOf(part.kind);
  const under = [words && name, words && part.kind !== name && part.kind, own !== unit && unitNames[own], isFault && "fault: takes points away"].filter(Boolean).join(" · ");
  const key = `${scorer}/${name}`;
  const button = make("button", { type: "button", class: "open-part" },
    make("span", {}, make("span", { class: words && "part-text" }, words || name, " "), under && make("span", { class: "kind" }, under)));
  const cells = scores.map((score, at) => {
    const scored = score?.parts.get(name);
    if (!scored) return make("td", { class: "quiet" }, score ? "–" : "");
    if (scored.value === null) return make("td", { class: "warn", title: scored.unscored?.message }, "unscored");
    const people = peopleLine(block.systems[columns[at]], name, own, isFault);
    if (isFault) return make("td", {}, faultBar(scored.value), people);
    const length = part.kind === "length" ? block.systems[columns[at]]?.answer?.words : undefined;
    return make("td", {}, scoreBar(scored.value, own), people, length !== undefined && make("small", { class: "quiet" }, counted(length, "word")));
  });
  const row = make("tr", {}, make("th", { scope: "row" }, button), weighted && make("td", { class: "weight n quiet" }, weight ? figure(weight, "share") : ""), cells);
  row.firstChild.style.setProperty("--depth", depth);
  const detail = make("tr", { class: "detail" }, make("td", { colspan: columns.length + 1 + (weighted ? 1 : 0) }));
  const show = () => {
    const isOpen = casePage.open.has(key);
    button.setAttribute("aria-expanded", String(isOpen));
    detail.hidden = !isOpen;
    detail.firstChild.replaceChildren(...(isOpen ? partDetail(name, part, isFault, scores, block, columns) : []));
  };
  button.addEventListener("click", () => {
    if (!casePage.open.delete(key)) casePage.open.add(key);
    show();
  });
  show();
  return [row, detail];
}

/** A label as it was given, which may be a mean. */
const plain = (value) => String(Math.round(1000 * value) / 1000);

/** What people said of the whole answer: on pages of labels that is what they said of its components, and says of how much of it. */
function wholeLine(entry, score) {
  const given = entry?.people.get("");
  const parts = [...(score?.parts ?? [])];
  const labeled = parts.filter(([name]) => entry?.people.has(name));
  const weight = (list) => list.reduce((sum, [, part]) => sum + Math.max(0, part.weight), 0);
  // Claims are not components; whole answers are labeled from 1 to 5. Labels of components of another scorer are in its table.
  const isOfClaims = [...(entry?.people.keys() ?? [])].some((name) => name.startsWith("claim "));
  if (given && given.together !== null && !labeled.length && !isOfClaims && entry.people.size > 1) return null;
  const unit = labeled.length ? unitOf(labeled[0][1].kind) : isOfClaims ? "share" : "grade";
  const line = peopleLine(entry, "", unit, false);
  if (line && given.together !== null && weight(labeled) > 0) line.append(` (${Math.round((100 * weight(labeled)) / weight(parts))}% of the weights)`);
  return line;
}

/** What people said of a component, or with an empty name of the whole answer: together on the scale of the unit, else each label. */
function peopleLine(entry, name, unit, isFault) {
  const given = entry?.people.get(name);
  if (!given) return null;
  const isOnScale = given.together !== null && unit !== null;
  // A fault takes points away by people as it does by the judge.
  const words = isOnScale ? figure(isFault ? -given.together : given.together, unit) : given.labels.map(([, value]) => plain(value)).join(", ");
  return make("small", { class: given.differs ? "people warn" : "people" }, `people: ${words}`);
}

/** What each person said of a component. */
const personLines = (entry, name) => (entry?.people.get(name)?.labels ?? []).map(([rater, value]) => make("p", { class: "says" }, make("span", { class: "who" }, `${rater} (person) `), make("b", {}, plain(value))));

/** What the judge said of a component, system by system. */
function partDetail(name, part, isFault, scores, block, columns) {
  const snippets = block.snippets.get(name) ?? [];
  const shown = columns.map((place, at) => {
    const column = make("div", { class: "column" }, make("h3", {}, make("span", {}, named(place))));
    const own = scores[at]?.parts.get(name);
    if (own?.unscored) column.append(make("p", { class: "says warn" }, own.unscored.message));
    if (own?.feedback) column.append(make("p", { class: "says text" }, own.feedback));
    if (own?.belief) column.append(make("p", { class: "says" }, beliefWords(own.belief, unitOf(part.kind))));
    column.append(...personLines(block.systems[place], name), ...memberLines(scores[at], name, part.kind, isFault), ...replies(block.systems[place], name));
    if (column.childElementCount === 1) column.append(make("p", { class: "quiet" }, "Counted from the text, or no reply is kept."));
    return column;
  });
  const box = [make("div", { class: "columns" }, shown)];
  if (snippets.length) box.unshift(make("ol", { class: "snippets" }, snippets.map((snippet) => make("li", {}, snippet))));
  return box;
}

/** What the probabilities of a decision model say: the mean over its options, and how far they lie apart. */
function beliefWords({ expected, doubt, tie }, unit) {
  const spread = doubt === null ? "" : `, standard deviation ${figure(Math.sqrt(doubt), unit)}`;
  return `Expected ${figure(expected, unit)}${spread}${tie ? "; options equally probable, the worst for the answer counts" : ""}`;
}

// The value of each judge: shares in percent, points and grades as they are, the credit of a fault with its sign.
function memberLines(score, name, kind, isFault) {
  const isShare = ["citations", "excerpts", "share"].includes(kind);
  const short = (number) => (isShare ? `${figure(number, "share")}%` : String(Math.round(100 * (isFault ? -number : number)) / 100).replace("-", "−"));
  const members = Object.entries(score?.members ?? {}).filter(([item]) => sameItem(item, name));
  return members.flatMap(([, judges]) => judges.map(({ judge, value, samples }) => {
    const list = samples.map((sample) => (sample === null ? "unreadable" : short(sample))).join(", ");
    return make("p", { class: "says" }, make("span", { class: "who" }, `${judge} `), make("b", {}, value === null ? "none" : short(value)), samples.length > 1 ? ` (samples ${list})` : "");
  }));
}

/** Whether a call's item belongs to a component: where two have one name the items are numbered. */
const sameItem = (item, name) => item === name || item.replace(/#\d+$/, "") === name;

function replies(entry, name) {
  const calls = (entry?.calls ?? []).filter((call) => call.items.some((item) => sameItem(item, name)));
  calls.sort((one, other) => one.judge.localeCompare(other.judge) || one.sample - other.sample || one.attempt - other.attempt);
  return calls.map(({ role, judge, sample, attempt, prompt, no_prompt, reply, reasoning, unscored, note }) => {
    const which = [`${judge}, ${role}`, calls.length > 1 && `sample ${sample + 1}`, attempt && `asked again (${attempt})`].filter(Boolean).join(", ");
    return make("details", { open: calls.length < 3 }, make("summary", {}, `Raw reply: ${which}`),
      unscored && make("p", { class: "says warn" }, unscored), note && make("p", { class: "says quiet" }, note), ...asked(prompt, no_prompt),
      reasoning && make("details", {}, make("summary", {}, "Reasoning"), make("pre", { class: "raw", tabindex: "0", dir: "auto" }, reasoning)),
      reply === null ? make("p", { class: "quiet" }, "No reply came.") : make("pre", { class: "raw", tabindex: "0", dir: "auto" }, reply));
  });
}

/** What the judge was asked, from the lines that the prompts of the case share, made when it is opened. */
function asked(prompt, why) {
  if (why) return [make("p", { class: "says quiet" }, `The prompt is not shown: ${why}.`)];
  if (!prompt) return [];
  const [run, texts] = prompt;
  const names = ["System message", "User message"].slice(-texts.length);
  const box = make("details", { class: "prompt" }, make("summary", {}, "Prompt"));
  box.addEventListener("toggle", () => {
    if (box.childElementCount > 1) return;
    const lines = caseBlock(state.case).prompts[run];
    const joined = (ranges) => ranges.flatMap(([first, count]) => lines.slice(first, first + count)).join("\n");
    box.append(...texts.flatMap((ranges, at) => [make("p", { class: "says quiet" }, names[at]), make("pre", { class: "raw", tabindex: "0", dir: "auto" }, joined(ranges))]));
  });
  return [box];
}

// --- the answers ---

function answers(block, columns) {
  const box = make("div", { class: "columns", tabindex: "-1" }, columns.map((place) => answerColumn(place, block.systems[place])));
  const raw = make("input", { type: "checkbox", id: "raw", on: { change: (event) => {
    casePage.raw = event.target.checked;
    showCase();
    byId("raw").focus();
  } } });
  raw.checked = casePage.raw;
  return [make("h2", {}, "Answers ", make("small", {}, make("label", {}, raw, " as written, without Markdown"))), ...looseReplies(block, columns), box];
}

/** Replies of questions that are not about a component, such as those about single claims. */
function looseReplies(block, columns) {
  const lists = columns.map((place) => {
    const entry = block.systems[place];
    const names = (entry?.scores ?? []).flatMap((score) => [...score.parts.keys()]);
    const items = new Set((entry?.calls ?? []).map((call) => call.item));
    return [place, entry, [...items].filter((item) => !names.some((name) => sameItem(item, name)))];
  });
  if (!lists.some(([, , items]) => items.length)) return [];
  const column = ([place, entry, items]) => make("div", { class: "column" }, make("h3", {}, make("span", {}, named(place))),
    items.map((item) => make("details", {}, make("summary", {}, item), replies(entry, item))));
  return [make("details", {}, make("summary", {}, "Raw replies about single claims"), make("div", { class: "columns" }, lists.map(column)))];
}
