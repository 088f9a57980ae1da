// The heatmap of criteria: its lines and cells lead to cases, and groups of many criteria open and close.

/** Most lines that are open at first: more than a screen of them hides what comes after. */
const mostOpen = 30;

/** Where a line leads: to its only case with the criterion open, or to the cases by their credit for it. */
function criterionTarget(line, system) {
  const { case: place, part, of } = line.dataset;
  if (place !== undefined) return { case: Number(place), part, systems: firstSystems(system) };
  return { of: Number(of), sort: "mean" };
}

function openCriterion(line, system) {
  const target = criterionTarget(line, system);
  go(target, false);
  if (target.case === undefined) byId("cases-title").scrollIntoView();
}

/** The links of the lines keep the state that is not theirs. */
function linkCriteria() {
  for (const line of criterionLines()) line.querySelector("a").href = address(criterionTarget(line, null));
}

const criterionLines = () => document.querySelectorAll("#criteria tr[data-case], #criteria tr[data-of]");

function startCriteria() {
  for (const line of criterionLines()) {
    line.querySelector("a").addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      openCriterion(line, null);
    });
    for (const cell of line.querySelectorAll("td[data-system]")) {
      cell.addEventListener("click", () => openCriterion(line, Number(cell.dataset.system)));
    }
  }
  const lines = document.querySelectorAll("#criteria tbody tr:not(.group)");
  for (const group of document.querySelectorAll("#criteria tbody")) startGroup(group, lines.length <= mostOpen || group.dataset.open !== undefined);
}

/** A group that opens and closes; of many criteria it shows the first ones until a button asks for the rest. */
function startGroup(group, isOpen) {
  const lines = [...group.querySelectorAll("tr:not(.group)")];
  const rest = lines.filter((line) => line.matches(".more"));
  let isWhole = rest.length === 0;
  const button = make("button", { type: "button", class: "fold" });
  const whole = make("tr", { class: "rest" }, make("td", { colspan: group.rows[0].cells.length }, make("button", { type: "button", on: { click: () => {
    isWhole = true;
    show();
    rest[0].querySelector("a").focus();
  } } }, `Show ${counted(rest.length, "more line")}`)));
  if (rest.length) group.append(whole);
  const show = () => {
    for (const line of lines) line.hidden = !isOpen || (!isWhole && line.matches(".more"));
    whole.hidden = !isOpen || isWhole;
    button.setAttribute("aria-expanded", String(isOpen));
    button.setAttribute("aria-label", `Criteria of ${group.querySelector("a").textContent}`);
  };
  button.addEventListener("click", () => {
    isOpen = !isOpen;
    show();
  });
  group.querySelector("th").prepend(button);
  show();
}
