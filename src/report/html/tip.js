// What a heading means, on hover, focus and touch: the title of an element appears on hover only.

const tip = make("div", { id: "tip", role: "tooltip", hidden: true });

function showTip({ currentTarget: heading }) {
  tip.textContent = heading.dataset.meaning;
  tip.hidden = false;
  heading.setAttribute("aria-describedby", "tip");
  const at = heading.getBoundingClientRect();
  const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const above = at.bottom + tip.offsetHeight + 12 > innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above ? at.top - tip.offsetHeight - 6 : at.bottom + 6}px`;
}

function hideTip() {
  tip.hidden = true;
}

/** Gives the explained headings their tips. */
function startTips() {
  for (const heading of document.querySelectorAll("abbr[title]")) {
    heading.dataset.meaning = heading.title;
    heading.removeAttribute("title");
    for (const event of ["mouseenter", "focus"]) heading.addEventListener(event, showTip);
    for (const event of ["mouseleave", "blur"]) heading.addEventListener(event, hideTip);
  }
}

document.body.append(tip);
addEventListener("scroll", hideTip, { capture: true, passive: true });
startTips();
