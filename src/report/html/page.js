// What holds the page together: the state is shown, keys are heard, the theme is kept.

function show() {
  readAddress();
  hideSources();
  const wasCase = !byId("case").hidden;
  const isCase = state.case !== null;
  if (isCase && !wasCase) casePage.scroll = scrollY;
  byId("overview").hidden = isCase;
  byId("case").hidden = !isCase;
  byId("no-case").hidden = state.lost === null;
  byId("no-case").textContent = state.lost === null ? "" : `There is no such case in this page: ${state.lost}`;
  showMetric();
  if (isCase) {
    showCase();
    return;
  }
  document.title = overviewTitle;
  byId("case").replaceChildren();
  casePage.shown = null;
  if (near || wasCase) showHeat();
  if (wasCase) {
    scrollTo(0, casePage.scroll);
    heatCell(...heat.at)?.focus({ preventScroll: true });
  }
}

const overviewTitle = document.title;

/** Whether the heat map has been near the window: until then it is not built. */
let near = false;

function buildHeat() {
  if (near) return;
  near = true;
  if (state.case === null) showHeat();
}

// --- the theme ---

const themes = ["auto", "light", "dark"];

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  try {
    localStorage.setItem("scholareval-theme", theme);
  } catch {
    // A page that may keep nothing is as it was when it is opened again.
  }
}

function nextTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
}

function startTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem("scholareval-theme");
  } catch {
    kept = null;
  }
  if (themes.includes(kept)) setTheme(kept);
  byId("theme").addEventListener("click", nextTheme);
}

// --- keys ---

function toggleHelp() {
  const help = byId("help");
  if (help.open) help.close();
  else help.showModal();
}

const keys = {
  "?": toggleHelp,
  t: nextTheme,
  m: () => byId("metric").focus(),
  n: () => state.case !== null && stepCase(1),
  p: () => state.case !== null && stepCase(-1),
  "/": () => {
    if (state.case !== null) closeCase();
    buildHeat();
    byId("find").focus();
  },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    if (byId("help").open) return;
    if (card) hideSources();
    else if (typing) typing.blur();
    else if (state.case !== null) closeCase();
    return;
  }
  if (typing && typing.type !== "checkbox") return;
  if (byId("help").open && event.key !== "?") return;
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

// --- printing: what is folded up would be missing on paper ---

let unfolded = [];

function openForPrint() {
  unfolded = [...document.querySelectorAll("details.all-pairs:not([open])")];
  for (const details of unfolded) details.open = true;
}

function closeAfterPrint() {
  for (const details of unfolded) details.open = false;
  unfolded = [];
}

// --- the beginning ---

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
startTheme();
startOverview();
startHeat();
byId("metric").addEventListener("change", (event) => {
  const metric = placeOf(metrics.map((other) => other.key), event.target.value);
  go({ metric: metric ?? core.first, first: metrics[metric ?? 0]?.order[0] ?? 0, second: metrics[metric ?? 0]?.order[1] ?? 0 }, false);
});
byId("keys").addEventListener("click", toggleHelp);
addEventListener("keydown", onKey);
addEventListener("popstate", show);
addEventListener("hashchange", show);
addEventListener("scroll", (event) => {
  if (!card?.contains(event.target)) hideSources();
}, { passive: true, capture: true });
addEventListener("beforeprint", () => {
  buildHeat();
  openForPrint();
});
addEventListener("afterprint", closeAfterPrint);
history.scrollRestoration = "manual";
new IntersectionObserver((entries) => {
  if (entries.some((entry) => entry.isIntersecting)) buildHeat();
}, { rootMargin: "600px" }).observe(byId("heat"));
// Links to other parts of the page, such as the one to the results, are no state.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("content").focus();
});
show();
