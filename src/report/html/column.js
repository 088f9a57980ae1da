// A system's column on the page of a case: its answer, its sources, and the verdicts on its claims.

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
  const column = make("div", { class: "column" },
    make("h3", {}, make("span", {}, named(system)), make("small", {}, facts.filter(Boolean).join(", "))));
  if (!entry) {
    column.append(make("p", { class: "quiet" }, "No answer."));
    return column;
  }
  const all = (name) => [...new Set(entry.scores.flatMap((score) => score[name]))];
  const notes = [callOut("Signs of prompt injection", all("injection"), "injection"), callOut("Notes", all("notes"), "note")];
  column.append(...notes.filter(Boolean), answer ? answerText(answer, casePage.raw) : make("p", { class: "quiet" }, "The page does not contain answers."));
  if (answer?.sources.length) column.append(sourceList(answer.sources));
  for (const score of entry.scores) if (score.claims?.length) column.append(claimTable(score.claims));
  return column;
}
