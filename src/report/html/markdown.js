// Answers as Markdown: headings, lists, tables, emphasis, code and paragraphs. Elements are created by name and filled with text
// nodes; nothing becomes a link, an image or HTML. Time is linear in the length of the text, and elements nest a few levels deep.

const emphasis = { "*": "em", _: "em", "**": "strong", __: "strong", "***": "b" };

/**
 * The marks of a paragraph that have a partner, in order: start and end of what is not shown, then the tag to open, null to
 * close an element, or "" for a backslash. No kind of emphasis is nested in itself.
 */
function inlineMarks(text) {
  const marks = [];
  const open = [];
  const isOpen = (kind) => open.some((other) => other.kind === kind);
  const close = (kind) => {
    while (open.at(-1).kind !== kind) open.pop();
    return open.pop();
  };
  const isWord = (at) => /[\p{L}\p{N}]/u.test(text[at] ?? "");
  const isSpace = (at) => /^\s?$/.test(text[at] ?? "");
  // Where backticks stand, by their number, the next ones last.
  const ticks = new Map();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    if (!ticks.has(run)) ticks.set(run, []);
    ticks.get(run).push(index);
  }
  let from = 0;
  for (const { 0: mark, index: start } of text.matchAll(/\\(?=[*_`#|])|`+|\*{1,3}|__?|\[|\]\([^()\s]*\)/g)) {
    const end = start + mark.length;
    if (start < from) continue;
    if (mark === "\\") {
      marks.push([start, end, ""]);
      from = end + 1;
    } else if (mark[0] === "`") {
      const runs = ticks.get(mark);
      while (runs.at(-1) <= start) runs.pop();
      if (!runs.length) continue;
      from = runs.at(-1) + mark.length;
      marks.push([start, end, "code"], [runs.at(-1), from, null]);
    } else if (mark === "[") {
      if (open.at(-1)?.kind === "[") open.pop();
      open.push({ kind: "[", start, end });
    } else if (mark[0] === "]") {
      if (!isOpen("[")) continue;
      const opener = close("[");
      marks.push([opener.start, opener.end, "span"], [start, start + 2, null], [start + 2, start + 2, "small"], [end - 1, end, null]);
    } else {
      const joins = (at) => mark[0] === "_" && isWord(at);
      if (isOpen(mark)) {
        if (isSpace(start - 1) || joins(end)) continue;
        const opener = close(mark);
        marks.push([opener.start, opener.end, emphasis[mark]], [start, end, null]);
      } else if (!isSpace(end) && !joins(start - 1)) {
        open.push({ kind: mark, start, end });
      }
    }
  }
  return marks.sort((one, other) => one[0] - other[0]);
}

/** Appends a stretch of the text, without line structure. `put` appends a stretch as it is; stretches come in order. */
function inline(element, text, from, to, put) {
  let box = element;
  let at = from;
  for (const [start, end, tag] of inlineMarks(text.slice(from, to))) {
    put(box, at, from + start);
    at = from + end;
    if (tag) {
      box.append(make(tag));
      box = box.lastChild;
    } else if (tag === null) {
      box = box.parentNode;
    }
  }
  put(box, at, to);
}

/** Appends a stretch of the text: its blocks, line by line. */
function markdown(root, text, from, to, put) {
  const lists = [];
  let paragraph = null;
  let next = from;
  const lineEnd = (at) => {
    const end = text.indexOf("\n", at);
    return end < 0 || end > to ? to : end;
  };
  const line = (at) => text.slice(at, lineEnd(at));
  const flush = () => {
    if (paragraph) inline(paragraph.element, text, paragraph.from, paragraph.to, put);
    paragraph = null;
  };
  // Where a block goes that is indented that far: into the last item of a list, or behind all lists.
  const place = (indent) => {
    flush();
    if (indent < 2) lists.length = 0;
    return lists.at(-1)?.element.lastChild ?? root;
  };
  const append = (box, tag, attributes) => {
    box.append(make(tag, attributes));
    return box.lastChild;
  };

  const code = (box, mark, info, end) => {
    const start = next;
    if (info < end) put(append(box, "small"), info, end);
    while (next < to && !line(next).trimStart().startsWith(mark)) next = lineEnd(next) + 1;
    put(append(box, "pre", { class: "raw", tabindex: "0" }), start, Math.max(start, Math.min(next - 1, to)));
    next = lineEnd(next) + 1;
  };
  const item = (indent, start, marker, end) => {
    flush();
    while (lists.length && lists.at(-1).indent > indent) lists.pop();
    const tag = /\d/.test(marker) ? "ol" : "ul";
    const last = lists.at(-1);
    if (last && last.element.localName !== tag && indent < last.indent + 2) lists.pop();
    if (!lists.length || (indent > lists.at(-1).indent + 1 && lists.length < 6)) {
      const box = lists.at(-1)?.element.lastChild ?? root;
      lists.push({ indent, element: append(box, tag) });
    }
    const element = append(lists.at(-1).element, "li");
    if (tag === "ol") put(append(element, "span", { class: "number" }), start, start + marker.trimEnd().length);
    paragraph = { element, from: start + marker.length, to: end };
  };
  const tableRow = (box, at, tag) => {
    const row = append(box, "tr");
    const parts = line(at).split("|");
    let start = at;
    for (const [place, part] of parts.entries()) {
      const isEdge = (place === 0 || place === parts.length - 1) && !part.trim();
      if (!isEdge) inline(append(row, tag), text, start, start + part.length, put);
      start += part.length + 1;
    }
    next = lineEnd(at) + 1;
  };
  const isRow = (at) => at < to && lineEnd(at) - at < 5000 && line(at).includes("|");

  while (next < to) {
    const at = next;
    const end = lineEnd(at);
    next = end + 1;
    const own = text.slice(at, end);
    const blanks = /^\s*/.exec(own)[0];
    const indent = blanks.replaceAll("\t", "    ").length;
    const start = at + blanks.length;
    const rest = own.trim();
    const heading = /^(#{1,6})\s+/.exec(rest);
    const marker = /^([-*+•]|\d{1,9}[.)])\s+/.exec(rest);
    if (!rest) {
      flush();
    } else if (/^(```|~~~)[^`]*$/.test(rest)) {
      code(place(indent), rest.slice(0, 3), start + 3, end);
    } else if (heading) {
      // All of one level: the order of an answer's headings is not that of the page.
      const title = append(place(0), "h4", { class: `level-${heading[1].length}` });
      inline(title, text, start + heading[0].length, end, put);
    } else if (/^(?:(?:-\s*){3,}|(?:\*\s*){3,}|_{3,})$/.test(rest)) {
      append(place(0), "hr");
    } else if (marker) {
      item(indent, start, marker[0], end);
    } else if (isRow(at) && isRow(next) && /^[\s|:-]+$/.test(line(next))) {
      const table = append(append(place(indent), "div", { class: "wide" }), "table");
      const body = next;
      tableRow(table, at, "th");
      next = lineEnd(body) + 1;
      while (isRow(next)) tableRow(table, next, "td");
    } else if (paragraph) {
      paragraph.to = end;
    } else {
      paragraph = { element: append(place(indent), "p"), from: start, to: end };
    }
  }
  flush();
}
