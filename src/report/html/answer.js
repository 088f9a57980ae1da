// One answer: its text with the citations marked, its sources, and the verdicts on its claims.

/** Longer texts are shown as written: no real answer is that long, and a page of so many elements stalls a browser. */
const longestMarkdown = 100000;

/** The text as Markdown or as it was written, with its citations marked; what was appended to it stands apart. */
function answerText(entry) {
  const { text, cites } = entry;
  const own = entry.own ?? text.length;
  const raw = casePage.raw || text.length > longestMarkdown;
  const box = make("div", { class: raw ? "answer text" : "answer markdown", tabindex: "0", role: "region", "aria-label": "Answer" });
  let next = 0;
  const put = (element, from, to) => {
    for (let at = from; at < to; ) {
      while (cites[next]?.[1] <= at) next += 1;
      const [start, end, sources, dangling] = cites[next] ?? [to];
      const stop = Math.min(to, start > at ? start : end);
      const piece = text.slice(at, stop);
      element.append(start > at ? piece : citation(piece, sources, dangling, entry));
      at = stop;
    }
  };
  const show = (element, from, to) => (raw ? put(element, from, to) : markdown(element, text, from, to, put));
  show(box, 0, own);
  if (own < text.length) {
    const appended = make("div", { class: "appended" }, make("span", { class: "appended-mark" }, "Appended to the answer; counted in no length"));
    box.append(appended);
    show(appended, own, text.length);
  }
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
  return make("details", { class: "sources" }, make("summary", {}, counted(sources.length, "source")), make("ol", { start: "0" }, sources.map(item)));
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
  return make("details", {}, make("summary", {}, `${counted(claims.length, "claim")} with sources`),
    make("table", { class: "claims" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, claims.map(row))));
}

/** A column of the page: the system, notes, the text. */
function answerColumn(system, entry) {
  const answer = entry?.answer;
  const dangling = (answer?.cites ?? []).filter((cite) => cite[3].length).length;
  const facts = answer ? [counted(answer.words, "word"), answer.cites.length && counted(answer.cites.length, "citation"), dangling && `${dangling} dangling`] : [];
  const column = make("div", { class: `column c${system % 10}` },
    make("h3", {}, make("span", {}, named(system)), make("small", {}, facts.filter(Boolean).join(", "))));
  if (!entry) {
    column.append(make("p", { class: "quiet" }, "No answer."));
    return column;
  }
  const all = (name) => [...new Set(entry.scores.flatMap((score) => score[name]))];
  const notes = [callOut("Signs of prompt injection", all("injection"), "injection"), callOut("Notes", all("notes"), "note")];
  column.append(...notes.filter(Boolean), answer ? answerText(answer) : make("p", { class: "quiet" }, "The page does not contain answers."));
  if (answer?.sources.length) column.append(sourceList(answer.sources));
  for (const score of entry.scores) if (score.claims?.length) column.append(claimTable(score.claims));
  return column;
}
