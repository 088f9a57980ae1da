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

/** Where a cited address comes from. */
const addressStates = { retrieved: "retrieved", searched_only: "seen in a search, not opened", not_retrieved: "not retrieved", unknown: "unknown" };

function addressTable(addresses) {
  const row = ({ url, state, fetch_failed: hasFailed }) => make("tr", {}, make("td", { class: "text", dir: "ltr" }, url),
    make("td", { class: { retrieved: "yes", not_retrieved: "no" }[state] ?? "unknown" }, addressStates[state] ?? state, hasFailed && ", could not be opened"));
  const counts = Object.keys(addressStates).map((state) => [addresses.filter((address) => address.state === state).length, addressStates[state]]);
  const words = counts.filter(([count]) => count).map(([count, name]) => `${count} ${name}`).join("; ");
  const head = ["Address", "Origin"].map((name) => make("th", { scope: "col" }, name));
  return make("details", {}, make("summary", {}, `Cited addresses: ${words}`),
    make("table", { class: "claims" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, addresses.map(row))));
}

/** What the head of a column says about an answer. The labels of its list of sources are not citations. */
function answerFacts({ words, cites, entries }) {
  const dangling = cites.filter((cite) => cite[3].length).length;
  const facts = [counted(words, "word"), cites.length && counted(cites.length, "citation"), entries && `${entries} ${entries === 1 ? "list entry" : "list entries"}`, dangling && `${dangling} dangling`];
  return facts.filter(Boolean).join(", ");
}

/** A column of the page: the system, notes, the text. */
function answerColumn(system, entry) {
  const answer = entry?.answer;
  const column = make("div", { class: "column" },
    make("h3", {}, make("span", {}, named(system)), make("small", {}, answer ? answerFacts(answer) : "")));
  if (!entry) {
    column.append(make("p", { class: "quiet" }, "No answer."));
    return column;
  }
  const all = (name) => [...new Set(entry.scores.flatMap((score) => score[name]))];
  const notes = [callOut("Signs of prompt injection", all("injection"), "injection"), callOut("Notes", all("notes"), "note")];
  column.append(...notes.filter(Boolean), answer ? answerText(answer, casePage.raw) : make("p", { class: "quiet" }, "The page does not contain answers."));
  if (answer?.sources.length) column.append(sourceList(answer.sources));
  for (const score of entry.scores) if (score.claims?.length) column.append(claimTable(score.claims));
  for (const score of entry.scores) if (score.addresses?.length) column.append(addressTable(score.addresses));
  return column;
}
