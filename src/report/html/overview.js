// The overview's tables stand in the markup; here they are switched between and pointed at.

function showMetric() {
  const metric = metrics[state.metric];
  for (const section of document.querySelectorAll("section.metric")) section.hidden = section.dataset.metric !== metric?.key;
  for (const section of document.querySelectorAll("section.distribution")) {
    section.hidden = metric !== undefined && section.dataset.scorer !== metric.scorer;
  }
  if (metric) byId("metric").value = metric.key;
  for (const button of document.querySelectorAll(".matrix button")) {
    const chosen = Number(button.dataset.first) === state.first && Number(button.dataset.second) === state.second;
    button.setAttribute("aria-pressed", String(chosen && state.sort.endsWith("delta")));
  }
}

function startOverview() {
  for (const section of document.querySelectorAll("section.metric")) {
    const pointed = section.querySelector(".pointed");
    const tell = (event) => {
      const button = event.target.closest("button[data-words]");
      if (button) pointed.textContent = button.dataset.words;
    };
    const matrix = section.querySelector(".matrix");
    if (!matrix) continue;
    for (const button of matrix.querySelectorAll("button")) {
      button.setAttribute("aria-label", `${button.textContent}. ${button.dataset.words}`);
    }
    matrix.addEventListener("pointerover", tell);
    matrix.addEventListener("focusin", tell);
    matrix.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-words]");
      if (!button) return;
      go({ first: Number(button.dataset.first), second: Number(button.dataset.second), sort: "-delta" }, true);
      byId("cases-title").scrollIntoView({ block: "start" });
    });
  }
}
