// What holds the page together: the state is shown, keys are read.

const overviewTitle = document.title;

function show() {
  readAddress();
  const wasCase = !byId("case").hidden;
  const isCase = state.case !== null;
  if (isCase && !wasCase) casePage.scroll = scrollY;
  byId("overview").hidden = isCase;
  byId("case").hidden = !isCase;
  byId("no-case").hidden = state.lost === null;
  byId("no-case").textContent = state.lost === null ? "" : `There is no such case in this page: ${state.lost}`;
  showMetric();
  linkCriteria();
  if (isCase) {
    showCase();
    return;
  }
  document.title = overviewTitle;
  byId("case").replaceChildren();
  const left = casePage.shown;
  casePage.shown = null;
  showCases();
  if (wasCase) {
    const place = listedCases().indexOf(left);
    moreRows(place + 1);
    scrollTo(0, casePage.scroll);
    byId("heat").querySelectorAll("tbody a")[place]?.focus({ preventScroll: true });
  }
}

const keys = {
  n: () => state.case !== null && stepCase(1),
  p: () => state.case !== null && stepCase(-1),
  "/": () => {
    if (state.case !== null) closeCase();
    byId("find").focus();
  },
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape") {
    hideTip();
    if (typing) typing.blur();
    else if (state.case !== null) closeCase();
    return;
  }
  if (typing && typing.type !== "checkbox") return;
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

for (const element of document.querySelectorAll("[data-script]")) element.hidden = false;
startOverview();
startCriteria();
addEventListener("keydown", onKey);
addEventListener("popstate", (event) => {
  show();
  const { scroll, ...kept } = event.state ?? {};
  if (state.case !== null || scroll === undefined) return;
  scrollTo(0, scroll);
  // Links leave this place without saying where the reader was.
  history.replaceState(kept, "");
});
addEventListener("hashchange", show);
history.scrollRestoration = "manual";
// Links to other parts of the page, such as the one to the results, do not change the state.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("content").focus();
});
show();
