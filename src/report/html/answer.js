// One answer: its text with the citations marked, and its sources.

/** Longer texts are shown as written: no real answer is that long, and a page of so many elements stalls a browser. */
const longestMarkdown = 100000;

/** The text as Markdown or as it was written, with its citations marked; what was appended to it stands apart. */
function answerText(entry, asWritten) {
  const { text, cites } = entry;
  const own = entry.own ?? text.length;
  const raw = asWritten || text.length > longestMarkdown;
  const box = make("div", { class: raw ? "answer text" : "answer markdown" });
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

/** A citation with the titles and the places of its sources; the list below the answer has their texts. */
function citation(marker, sources, dangling, entry) {
  if (dangling.length) {
    const words = `no source has number ${dangling.join(", ")}`;
    return make("span", { class: "cite dangling", title: words, role: "note", "aria-label": `${marker}: ${words}`, "data-sources": sources.join() }, marker);
  }
  const titles = sources.map((place) => entry.sources[place]?.title ?? "Source without a title");
  return make("span", { class: "cite", title: titles.join("\n"), "data-sources": sources.join() }, marker);
}

function sourceList(sources) {
  const words = (text) => (text.length > 1500 ? `${text.slice(0, 1500)}…` : text);
  const item = ({ title, text }) => make("li", {}, make("h4", {}, title ?? "Source without a title"), text ? make("p", {}, words(text)) : null);
  return make("details", { class: "sources" }, make("summary", {}, counted(sources.length, "source")), make("ol", { start: "0" }, sources.map(item)));
}
