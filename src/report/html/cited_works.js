// The works that answers cite: what is cited, the record that was found with the fields that differ marked, and retractions.

/** The chosen state and the chosen status of retraction; they stay while a reader goes through the cases. */
const workFilter = { state: "", status: "" };

const workStates = {
  exists: "found", differs: "differs from the record", not_in_index: "not found in these files", sources_disagree: "the files disagree",
  ambiguous: "several works of this title", unchecked: "not looked up",
};

const uncheckedReasons = {
  no_title: "it has neither title nor identifier", kind: "books, web pages and software are in these files by chance", not_covered: "these files do not cover works of its kind",
};

const retractionStates = {
  retracted: "retracted", concern: "expression of concern", corrected: "corrected", reinstated: "reinstated", possible: "possibly retracted (same title)",
  no_notice: "no notice", unknown: "unknown",
};

const fieldNames = { title: "title", authors: "authors", year: "year", identifier: "identifier", venue: "venue" };

const citedWorks = (entry) => entry?.answer?.works ?? [];

const isShownWork = (work) => (!workFilter.state || work.state === workFilter.state) && (!workFilter.status || work.status === workFilter.status);

/** The section of a case; nothing where no references were looked up. */
function workSection(block, columns) {
  const works = columns.flatMap((place) => citedWorks(block.systems[place]));
  if (!works.length) return [];
  const box = make("div", { class: "columns", tabindex: "-1" });
  const count = make("small", { "aria-live": "polite" });
  const fill = () => {
    const shown = works.filter(isShownWork).length;
    count.textContent = shown === works.length ? counted(shown, "reference") : `${shown} of ${counted(works.length, "reference")}`;
    box.replaceChildren(...columns.map((place) => workColumn(place, block.systems[place])));
  };
  fill();
  return [make("h2", {}, "Cited works ", count), workFilters(works, fill), box];
}

/** The choice of a state and of a status of retraction, each with its number of references. */
function workFilters(works, fill) {
  const choice = (key, name, all, names) => {
    const option = ([value, words]) => {
      const number = works.filter((work) => work[key] === value).length;
      return number || workFilter[key] === value ? make("option", { value }, `${words} (${number})`) : null;
    };
    const change = (event) => {
      workFilter[key] = event.target.value;
      fill();
    };
    const select = make("select", { id: `works-${key}`, on: { change } }, make("option", { value: "" }, all), Object.entries(names).map(option));
    select.value = workFilter[key];
    return make("label", {}, name, " ", select);
  };
  return make("div", { class: "controls", role: "group", "aria-label": "Filter of references" },
    choice("state", "State", "all states", workStates), " ", choice("status", "Retraction", "all", retractionStates));
}

/** The references of one answer. */
function workColumn(place, entry) {
  const works = citedWorks(entry);
  const shown = works.filter(isShownWork);
  const words = !works.length ? "Cites no work." : !shown.length ? "No reference matches these filters." : null;
  return make("div", { class: "column cited" }, make("h3", {}, make("span", {}, named(place)), make("small", {}, counted(works.length, "reference"))),
    words && make("p", { class: "quiet" }, words), shown.map(citedWork));
}

function citedWork(work) {
  const kind = { exists: "yes", differs: "unknown" }[work.state] ?? "unknown";
  const reason = work.reason && `: ${uncheckedReasons[work.reason] ?? work.reason}`;
  const facts = [make("b", { class: `verdict-${kind}` }, workStates[work.state] ?? work.state), reason];
  if (work.notice) facts.push("; ", make("b", { class: work.status === "retracted" ? "verdict-no" : "verdict-unknown" }, work.status === "possible" ? "a notice has the same title: " : "", work.notice));
  else if (work.status === "unknown") facts.push(make("span", { class: "quiet" }, "; retraction unknown"));
  return make("section", { class: "cited-page cited-work" },
    make("h4", { dir: "auto" }, work.key || "Reference"),
    make("p", { class: "text" }, make("span", { class: "who" }, "Cited: "), workParts(work.cited)),
    work.record && make("p", { class: "text" }, make("span", { class: "who" }, "Record: "), workParts(work.record), make("small", { class: "quiet" }, ` ${work.source}`)),
    work.fields.map(({ field, cited, recorded }) => make("p", { class: "text" }, make("span", { class: "who" }, `${fieldNames[field] ?? field}: `), "cited ", make("mark", {}, cited || "none"), ", recorded ", make("mark", {}, recorded || "none"))),
    make("p", {}, facts));
}

/** The parts of a work, those that differ marked. */
const workParts = (parts) => parts.flatMap(([text, differs], at) => [at ? "; " : "", differs ? make("mark", {}, text) : text]);
