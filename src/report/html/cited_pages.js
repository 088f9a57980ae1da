// The pages that answers cite: each statement with the verdict on it, why, and the passage of the page that is nearest to it.

/** The chosen verdict and the chosen state of a page; they stay while a reader goes through the cases. */
const pageFilter = { verdict: "", state: "" };

const verdictNames = { supported: "supported", unsupported: "not supported", open: "open" };

/** Why nobody can say whether a page supports a statement. */
const openReasons = {
  page_missing: "the page is not in the store", page_unreachable: "the page could not be reached", page_blocked: "a wall was saved in place of the page",
  page_empty: "the page has nothing to read", page_cut: "the page was cut", page_too_long: "the page is longer than a judge reads", no_url: "the citation has no address", unreadable: "the judge gave no single verdict",
};

const pageStates = { ok: "readable", teaser: "teaser", cut: "cut", empty: "nothing to read", blocked: "blocked", unreachable: "unreachable", too_long: "too long", missing: "not in the store", no_url: "no address" };

const pageKinds = { abstract: "abstract", full_text: "full text", other: "" };

const pageState = (page) => page.state ?? (page.key ? "missing" : "no_url");

const citedPages = (entry) => (entry?.scores ?? []).flatMap((score) => score.pages ?? []);

/** The statements of a page that the filters let through. */
const shownStatements = (page) => (pageFilter.state && pageFilter.state !== pageState(page) ? [] : page.statements.filter(({ verdict }) => !pageFilter.verdict || verdict === pageFilter.verdict));

/** The section of a case; nothing where no pages were looked at. */
function pageSection(block, columns) {
  const pages = columns.flatMap((place) => citedPages(block.systems[place]));
  if (!pages.length) return [];
  const box = make("div", { class: "columns", tabindex: "-1" });
  const count = make("small", { "aria-live": "polite" });
  const fill = () => {
    const shown = pages.flatMap(shownStatements).length;
    const all = pages.flatMap((page) => page.statements).length;
    count.textContent = shown === all ? counted(all, "statement") : `${shown} of ${counted(all, "statement")}`;
    box.replaceChildren(...columns.map((place) => pageColumn(place, block.systems[place])));
  };
  fill();
  return [make("h2", {}, "Cited pages ", count), pageFilters(pages, fill), box];
}

/** The choice of a verdict and of a state of the page, each with its number of statements. */
function pageFilters(pages, fill) {
  const statements = pages.flatMap((page) => page.statements.map((statement) => ({ verdict: statement.verdict, state: pageState(page) })));
  const choice = (key, name, all, names) => {
    const option = ([value, words]) => {
      const number = statements.filter((statement) => statement[key] === value).length;
      return number || pageFilter[key] === value ? make("option", { value }, `${words} (${number})`) : null;
    };
    const change = (event) => {
      pageFilter[key] = event.target.value;
      fill();
    };
    const select = make("select", { id: `pages-${key}`, on: { change } }, make("option", { value: "" }, all), Object.entries(names).map(option));
    select.value = pageFilter[key];
    return make("label", {}, name, " ", select);
  };
  return make("div", { class: "controls", role: "group", "aria-label": "Filter of statements" },
    choice("verdict", "Verdict", "all verdicts", verdictNames), " ", choice("state", "Page", "all pages", pageStates));
}

/** The pages of one answer. */
function pageColumn(place, entry) {
  const pages = citedPages(entry);
  const shown = pages.filter((page) => shownStatements(page).length);
  const words = !pages.length ? "Cites no page." : !shown.length ? "No statement matches these filters." : null;
  return make("div", { class: "column cited" }, make("h3", {}, make("span", {}, named(place)), make("small", {}, counted(pages.length, "page"))),
    words && make("p", { class: "quiet" }, words), shown.map(citedPage));
}

function citedPage(page) {
  const state = pageState(page);
  const date = page.retrieved_at ? `retrieved ${page.retrieved_at.slice(0, 10)}` : page.state && "no date";
  const facts = [pageStates[state] ?? state, pageKinds[page.page_kind] ?? page.page_kind, date].filter(Boolean).join(", ");
  return make("section", { class: "cited-page" },
    make("h4", { class: "address", dir: "ltr" }, page.url || "Without an address"),
    make("p", { class: page.state === "ok" ? "quiet" : "warn" }, facts, page.reason && `: ${page.reason}`),
    page.read_url && make("p", { class: "quiet address" }, `read in its place: ${page.read_url}`),
    make("ul", {}, shownStatements(page).map(citedStatement)));
}

function citedStatement({ text, verdict, open, feedback, passage }) {
  const kind = { supported: "yes", unsupported: "no" }[verdict] ?? "unknown";
  const why = [verdict === "open" && (openReasons[open] ?? open), feedback].filter(Boolean).join(": ");
  return make("li", {}, make("p", { class: "text" }, text),
    make("p", {}, make("b", { class: `verdict-${kind}` }, verdictNames[verdict] ?? verdict), why && make("span", { class: "text" }, ` – ${why}`)),
    passage && make("blockquote", { class: "text" }, make("span", { class: "who" }, "From the page: "), passage));
}
