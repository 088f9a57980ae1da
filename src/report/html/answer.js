// One answer: its text with the citations marked, its sources, and the verdicts on its claims.

/** The text in pieces: plain, cited, and what was appended to it. */
function answerText(entry) {
  const { text } = entry;
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
    target.append(citation(text.slice(start, end), sources, dangling, entry));
    at = end;
  }
  plain(text.length);
  return box;
}

/** A citation with the titles of its sources; the list below the answer has their texts. */
function citation(marker, sources, dangling, entry) {
  if (dangling.length) {
    const words = `no source has number ${dangling.join(", ")}`;
    return make("span", { class: "cite dangling", title: words, role: "note", "aria-label": `${marker}: ${words}` }, marker);
  }
  const titles = sources.map((place) => entry.sources[place]?.title ?? "Source without a title");
  return make("span", { class: "cite", title: titles.join("\n") }, marker);
}

function sourceList(sources) {
  const words = (text) => (text.length > 1500 ? `${text.slice(0, 1500)}…` : text);
  const item = ({ title, text }) => make("li", {}, make("h4", {}, title ?? "Source without a title"), text ? make("p", {}, words(text)) : null);
  return make("details", { class: "sources" }, make("summary", {}, `${sources.length} sources`), make("ol", { start: "0" }, sources.map(item)));
}

function callOut(name, lines, kind) {
  return lines.length ? make("div", { class: `call-out ${kind}` }, make("b", {}, name), make("ul", {}, lines.map((line) => make("li", {}, line)))) : null;
}

const labels = { attributable: "supported", extrapolatory: "source says too little", contradictory: "source says otherwise" };

function claimTable(claims) {
  const row = ({ claim, citations, inherited, label, supported = null, precise_citations: precise, why, unscored, feedback }) => {
    const verdict = supported === null ? "unscored" : labels[label] ?? (supported ? "supported" : "not supported");
    const numbers = citations.map((number) => `[${number}]`).join(" ") + (inherited ? " (of an earlier sentence)" : "");
    const words = [unscored?.message ?? why, feedback].filter(Boolean).map((text) => make("div", { class: "quiet text" }, text));
    return make("tr", {}, make("td", { class: "text" }, claim, words), make("td", {}, numbers || "–"),
      make("td", { class: supported === null ? "unknown" : supported ? "yes" : "no" }, verdict),
      make("td", { class: "n" }, precise === null || precise === undefined ? "–" : `${precise}/${citations.length}`));
  };
  const head = ["Claim", "Cites", "Verdict", "Precise"].map((name) => make("th", { scope: "col" }, name));
  return make("details", {}, make("summary", {}, `${claims.length} claims and their sources`),
    make("table", { class: "claims" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, claims.map(row))));
}

/** A column of the page: the system, notes, the text. */
function answerColumn(system, entry) {
  const answer = entry?.answer;
  const dangling = (answer?.cites ?? []).filter((cite) => cite[3].length).length;
  const facts = answer ? [`${answer.words} words`, answer.cites.length && `${answer.cites.length} citations`, dangling && `${dangling} dangling`] : [];
  const column = make("div", { class: `column c${system % 10}` },
    make("h3", {}, make("span", {}, named(system)), make("small", {}, facts.filter(Boolean).join(", "))));
  if (!entry) {
    column.append(make("p", { class: "quiet" }, "No answer."));
    return column;
  }
  const all = (name) => [...new Set(entry.scores.flatMap((score) => score[name]))];
  const notes = [callOut("Signs of prompt injection", all("injection"), "injection"), callOut("Notes", all("notes"), "note")];
  column.append(...notes.filter(Boolean), answer ? answerText(answer) : make("p", { class: "quiet" }, "The page holds no answers."));
  if (answer?.sources.length) column.append(sourceList(answer.sources));
  for (const score of entry.scores) if (score.claims?.length) column.append(claimTable(score.claims));
  return column;
}
