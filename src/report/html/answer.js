// One answer: its text with the citations marked, its sources, and the verdicts on its claims.

/** The text in pieces: plain, cited, and what was appended to it. */
function answerText(entry, texts) {
  const text = texts[entry.text];
  const box = make("div", { class: "answer text", tabindex: "0", role: "region", dir: "auto", "aria-label": "Answer" });
  const own = entry.own ?? text.length;
  let target = box;
  let at = 0;
  const plain = (end) => {
    // The appended part begins within this piece.
    if (target === box && at <= own && own < end) {
      if (own > at) box.append(text.slice(at, own));
      target = make("div", { class: "appended" }, make("span", { class: "appended-mark" }, "Appended to the answer; counted in no length"));
      box.append(target);
      at = own;
    }
    if (end > at) target.append(text.slice(at, end));
    at = end;
  };
  for (const [start, end, sources, dangling] of entry.cites) {
    plain(start);
    target.append(citation(text.slice(start, end), sources, dangling, entry, texts));
    at = end;
  }
  plain(text.length);
  return box;
}

function citation(marker, sources, dangling, entry, texts) {
  if (dangling.length) {
    const words = `no source has number ${dangling.join(", ")}`;
    return make("span", { class: "cite dangling", title: words, role: "note", "aria-label": `${marker}: ${words}` }, marker);
  }
  if (!sources.length) return make("span", { class: "cite" }, marker);
  const open = (event) => showSources(event.currentTarget, sources.map((place) => entry.sources[place]), texts);
  return make("button", { type: "button", class: "cite", "aria-label": `source ${marker}`, on: { pointerenter: open, focus: open, click: open, pointerleave: hideSources, blur: hideSources } }, marker);
}

// --- the card with the source of a citation ---

let card = null;

function hideSources() {
  card?.remove();
  card = null;
}

function sourceWords([title, text], texts) {
  const words = text === null ? "" : texts[text];
  return [make("h4", {}, title === null ? "Source without a title" : texts[title]),
    words ? make("p", {}, words.length > 1500 ? `${words.slice(0, 1500)}…` : words) : null];
}

function showSources(button, sources, texts) {
  hideSources();
  card = make("div", { class: "source-card", role: "tooltip" }, sources.filter(Boolean).flatMap((source) => sourceWords(source, texts)));
  document.body.append(card);
  const [mark, size] = [button.getBoundingClientRect(), card.getBoundingClientRect()];
  const below = mark.bottom + 6 + size.height < innerHeight || mark.top < innerHeight / 2;
  card.style.setProperty("left", `${Math.max(8, Math.min(mark.left, innerWidth - size.width - 8))}px`);
  card.style.setProperty("top", `${Math.max(8, below ? mark.bottom + 6 : mark.top - size.height - 6)}px`);
}

function sourceList(entry, texts) {
  const items = entry.sources.map((source) => make("li", {}, sourceWords(source, texts)));
  return make("details", { class: "sources" }, make("summary", {}, `${items.length} sources`), make("ol", { start: "0" }, items));
}

// --- around the text ---

function callOut(name, lines, kind) {
  return make("div", { class: `call-out ${kind}` }, make("b", {}, name), make("ul", {}, lines.map((line) => make("li", {}, line))));
}

const labels = { attributable: "supported", extrapolatory: "source says too little", contradictory: "source says otherwise" };

function claimTable(claims, texts) {
  const row = ([claim, cited, inherited, label, supported, precise, why, feedback]) => {
    const verdict = supported === null ? "unscored" : labels[label] ?? (supported ? "supported" : "not supported");
    const numbers = cited.map((number) => `[${number}]`).join(" ") + (inherited ? " (of an earlier sentence)" : "");
    const words = [why, feedback].filter((place) => place !== null).map((place) => make("div", { class: "quiet text" }, texts[place]));
    return make("tr", {}, make("td", { class: "text" }, texts[claim], words), make("td", {}, numbers || "–"),
      make("td", { class: supported === null ? "unknown" : supported ? "yes" : "no" }, verdict),
      make("td", { class: "n" }, precise === null ? "–" : `${precise}/${cited.length}`));
  };
  const head = ["Claim", "Cites", "Verdict", "Precise"].map((name) => make("th", { scope: "col" }, name));
  return make("details", {}, make("summary", {}, `${claims.length} claims and their sources`),
    make("table", { class: "claims" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, claims.map(row))));
}

/** A column of the page: the system, notes, the text. */
function answerColumn(system, entry, block) {
  const { texts } = block;
  const answer = entry?.answer;
  const marks = [];
  if (answer) {
    marks.push(`${answer.words} words`);
    if (answer.cites.length) marks.push(`${answer.cites.length} citations`);
    const dangling = answer.cites.filter((cite) => cite[3].length).length;
    if (dangling) marks.push(`${dangling} dangling`);
  }
  const column = make("div", { class: `column c${system % 10}` }, make("h3", {}, make("span", {}, named(system)), make("small", {}, marks.join(", "))));
  if (!entry) {
    column.append(make("p", { class: "quiet" }, "No answer."));
    return column;
  }
  const all = (name) => [...new Set(entry.scores.flatMap((score) => score[name]))].map((place) => texts[place]);
  if (all("injection").length) column.append(callOut("Signs of prompt injection", all("injection"), "injection"));
  if (all("notes").length) column.append(callOut("Notes", all("notes"), "note"));
  column.append(answer ? answerText(answer, texts) : make("p", { class: "quiet" }, "The page holds no answers."));
  if (answer?.sources.length) column.append(sourceList(answer, texts));
  for (const score of entry.scores) if (score.claims.length) column.append(claimTable(score.claims, texts));
  return column;
}
