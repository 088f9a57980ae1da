// The page of a rater. One item is shown at a time: a part of an answer, or two answers, with the labels that can be given. A label
// is kept in the browser's IndexedDB before the next item is shown; a reopened page reads it there.

const core = JSON.parse(byId("core").textContent);
const { sheet, rater, items, scales } = core;

/** What the rater says, by item: the labels of the file, as docs/formats.md has them. */
const records = new Map();
/** Seconds for which each item has been in view. */
const seconds = new Map();
/** The label before each change, the last one last. */
const changes = [];
/** The item in view, since when it is, the answers on the page, whether snippets are highlighted, and a word on the last key. */
const view = { at: 0, since: null, subject: "", marks: false, note: "" };

const cannotAssess = "cannot_assess";
const labelOf = (at) => records.get(items[at].id)?.label ?? null;
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// --- keeping labels ---

/** `db` is null if the browser keeps nothing; `unfiled` are labels since the last download. */
const store = { db: null, unfiled: 0, writing: 0 };
const askEvery = 50;

function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });
}

/** Opens the database and writes to it once: some browsers open one and refuse to write. */
async function openStore() {
  try {
    const request = indexedDB.open("scholareval-labels", 1);
    // All local files may share one database, so that each row names its page.
    request.onupgradeneeded = () => request.result.createObjectStore("labels", { keyPath: ["sheet", "rater", "item"] });
    store.db = await finished(request);
    store.db.onclose = refuse;
    await finished(labelStore("readwrite").put({ sheet, rater, item: "" }));
    await readStore();
  } catch {
    refuse();
  }
}

const labelStore = (mode) => store.db.transaction("labels", mode, { durability: "strict" }).objectStore("labels");

/** Reads the labels of this page; another tab may have added some. */
async function readStore() {
  const rows = await finished(labelStore("readonly").getAll(IDBKeyRange.bound([sheet, rater], [sheet, rater, []])));
  for (const { record } of rows) {
    if (!record || records.get(record.item)?.at > record.at) continue;
    records.set(record.item, record);
    seconds.set(record.item, Math.max(record.seconds, seconds.get(record.item) ?? 0));
  }
}

/** From now on nothing is kept; says so at once. */
function refuse() {
  store.db = null;
  byId("refused").hidden = false;
  showCount();
}

function keep(record) {
  if (!store.db) return;
  store.writing += 1;
  try {
    const rows = labelStore("readwrite");
    rows.put({ sheet, rater, item: record.item, record });
    rows.transaction.oncomplete = () => {
      store.writing -= 1;
      showCount();
    };
    rows.transaction.onabort = refuse;
  } catch {
    refuse();
  }
}

/** Changes the label or the comment of the item in view. */
function change(changed) {
  const { id } = items[view.at];
  const old = records.get(id) ?? { item: id, label: null, comment: "", seconds: 0, at: "", earlier: [] };
  const record = { ...old, ...changed, seconds: Math.round(10 * timed()) / 10, at: new Date().toISOString() };
  const isChange = "label" in changed && (old.label !== null || old.earlier.length > 0);
  if (isChange) record.earlier = [...old.earlier, { label: old.label, at: old.at }];
  records.set(id, record);
  keep(record);
  if (!("label" in changed)) return;
  store.unfiled += 1;
  if (!store.db && store.unfiled % askEvery === 0) byId("ask").showModal();
}

async function download() {
  if (store.db) await readStore().catch(refuse);
  const labels = items.map(({ id }) => records.get(id)).filter(Boolean);
  const file = { schema_version: 1, sheet, rater, adjudicated: core.adjudicated, saved_at: new Date().toISOString(), labels };
  const url = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
  make("a", { href: url, download: core.file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  store.unfiled = 0;
  byId("ask").close();
  say(`downloaded ${core.file}`);
}

// --- time in view ---

/** Seconds for which the item in view has been looked at. */
function timed() {
  const { id } = items[view.at];
  const now = performance.now();
  if (view.since !== null) seconds.set(id, (seconds.get(id) ?? 0) + (now - view.since) / 1000);
  view.since = document.visibilityState === "visible" ? now : null;
  return seconds.get(id) ?? 0;
}

// --- moving and labeling ---

function goTo(at) {
  if (at < 0 || at >= items.length) return;
  timed();
  view.at = at;
  show();
}

/** The next item without a label, from the beginning again behind the last one; null if there is none. */
function nextOpen() {
  const order = items.map((_, place) => (view.at + 1 + place) % items.length);
  return order.find((at) => labelOf(at) === null) ?? null;
}

function give(label) {
  const before = labelOf(view.at);
  if (!isSame(before, label)) {
    changes.push({ at: view.at, before });
    change({ label });
  }
  const note = `labeled “${nameOf(label, scales[items[view.at].scale])}”, u undoes`;
  goTo(nextOpen() ?? view.at);
  say(note);
}

function undo() {
  const last = changes.pop();
  if (!last) return;
  goTo(last.at);
  change({ label: last.before });
  show();
  say("undone");
}

function nameOf(label, scale) {
  if (label === null) return "no label";
  if (label === cannotAssess) return "cannot assess";
  return scale.levels.find((level) => isSame(level.label, label))?.name ?? "?";
}

// --- what is shown ---

/** A word on the last key, until the next one. */
function say(note) {
  view.note = note;
  showCount();
}

function showCount() {
  const done = items.filter((_, at) => labelOf(at) !== null).length;
  byId("progress").value = done / items.length;
  byId("count").textContent = done === items.length ? `All ${counted(items.length, "item")} labeled` : `${done} of ${items.length} labeled`;
  const kept = store.db ? (store.writing ? "saving" : "saved in this browser") : `${store.unfiled} not in a file`;
  const end = done === items.length ? "download the labels and send the file back" : view.note;
  byId("status").textContent = [`${rater}: ${kept}`, end].filter(Boolean).join(" · ");
  document.body.dataset.kept = store.db && !store.writing ? done : "";
}

function show() {
  const item = items[view.at];
  document.body.classList.toggle("two", item.answers.length > 1);
  const subject = item.answers.join();
  if (view.subject !== subject) showAnswers(item);
  view.subject = subject;
  byId("source").hidden = true;
  byId("task").replaceChildren(...taskOf(item));
  byId("task").scrollTop = 0;
  showMarks(item);
  say("");
}

const entryOf = (place) => JSON.parse(byId(`answer-${place}`).textContent);

/** The answers of an item; they stay as they are, with their place, as long as items are about them. */
function showAnswers(item) {
  const entries = item.answers.map(entryOf);
  byId("question").textContent = entries[0].question;
  const boxes = entries.map((entry, side) => {
    const text = answerText(entry, false);
    if (!entry.text.trim()) text.append(make("p", { class: "quiet" }, "(an empty answer)"));
    for (const cite of text.querySelectorAll(".cite")) {
      if (!cite.dataset.sources) continue;
      cite.tabIndex = 0;
      cite.setAttribute("role", "button");
      cite.addEventListener("click", () => showSources(entry, cite.dataset.sources.split(",")));
    }
    return make("div", {}, entries.length > 1 && make("h3", {}, ["Left", "Right"][side]), text);
  });
  byId("answers").replaceChildren(...boxes);
  byId("reading").scrollTop = 0;
}

const titleOf = (source) => source.title || "Source without a title";

function showSources(entry, places) {
  const close = make("button", { type: "button", title: "Close (Esc)", on: { click: () => (byId("source").hidden = true) } }, "✕");
  const texts = places.flatMap((place) => {
    const source = entry.sources[place];
    return source ? [make("h3", {}, titleOf(source)), source.text && make("p", {}, source.text)] : [];
  });
  byId("source").replaceChildren(close, ...texts.filter(Boolean));
  byId("source").hidden = false;
  byId("source").scrollTop = 0;
}

/** All sources of the answers in view, or none if they are shown already. */
function toggleSources() {
  if (!byId("source").hidden) {
    byId("source").hidden = true;
    return;
  }
  const sources = items[view.at].answers.flatMap((place) => entryOf(place).sources);
  if (sources.length) showSources({ sources }, [...sources.keys()]);
  else say("the answer has no sources");
}

/** `2 of 8 about this answer`: items about an answer follow each other. */
function placeInGroup() {
  const isPart = (at) => items[at]?.answers.join() === items[view.at].answers.join();
  let first = view.at;
  while (isPart(first - 1)) first -= 1;
  let end = view.at + 1;
  while (isPart(end)) end += 1;
  return end - first > 1 ? `${view.at - first + 1} of ${end - first} about this answer` : "";
}

function taskOf(item) {
  const given = labelOf(view.at);
  const place = placeInGroup();
  const press = (label) => ({ type: "button", "aria-pressed": String(isSame(label, given)), on: { click: () => give(label) } });
  const levels = scales[item.scale].levels.map(({ key, name, means, label }) =>
    make("button", press(label), make("kbd", {}, key), make("span", {}, name !== key && make("b", {}, name), means && make("small", {}, means))));
  const abstain = make("button", { ...press(cannotAssess), class: "abstain" }, make("kbd", {}, "x"), make("span", {}, make("b", {}, "cannot assess")));
  const comment = make("textarea", { id: "comment", rows: 2, on: { input: (event) => change({ comment: event.target.value }) } });
  comment.value = records.get(item.id)?.comment ?? "";
  const step = (by, text, key) => make("button", { type: "button", on: { click: () => goTo(view.at + by) } }, text, " ", make("kbd", {}, key));
  return [
    make("p", { class: "asks" }, make("span", {}, item.asks), make("span", {}, place)),
    make("p", { class: "wanted text", dir: "auto" }, item.text),
    item.said.length && make("div", { class: "said" }, make("b", {}, "Raters differ"), item.said.map((said) =>
      make("p", {}, nameOf(said.label, scales[item.scale]), said.comment && `: ${said.comment}`))),
    make("div", { class: "levels" }, levels, abstain),
    make("label", { class: "comment" }, "Comment ", make("kbd", {}, "c"), comment),
    item.sources.length && citedSources(item),
    item.snippets.length && !item.place && make("details", { class: "snippets" },
      make("summary", {}, counted(item.snippets.length, "snippet"), " ", make("kbd", {}, "h"), " ", make("span", { id: "found" })),
      make("ol", {}, item.snippets.map((snippet) => make("li", {}, snippet)))),
    make("p", { class: "moves" }, step(-1, "Previous", "←"), step(1, "Next", "→"), make("button", { type: "button", on: { click: undo } }, "Undo ", make("kbd", {}, "u"))),
  ].filter(Boolean);
}

/** The sources that a claim cites, which the rater has to read. */
function citedSources(item) {
  const { sources } = entryOf(item.answers[0]);
  const shown = item.sources.flatMap((place) => [make("h3", {}, titleOf(sources[place])), make("p", {}, sources[place].text || "(no text)")]);
  return make("div", { class: "cited" }, shown);
}

// --- snippets in the answer ---

/** Snippets are rarely quoted whole: this many words in a row are a trace of one. */
const trace = 4;
const wordsOf = (text) => [...text.matchAll(/[\p{L}\p{N}]+/gu)];

/** The words of an answer with their places, those of citations left out. */
function answerWords(box) {
  const words = [];
  const nodes = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const node = nodes.currentNode;
    if (node.parentElement.closest(".cite")) continue;
    for (const { 0: word, index } of wordsOf(node.data)) words.push({ word: word.toLowerCase(), node, start: index, end: index + word.length });
  }
  return words;
}

/** Ranges of the answer that have words of the snippet in a row. */
function tracesOf(snippet, words) {
  const wanted = wordsOf(snippet.toLowerCase()).map(([word]) => word);
  const length = Math.min(trace, wanted.length);
  if (!length) return [];
  const runs = new Set(wanted.slice(length - 1).map((_, at) => wanted.slice(at, at + length).join(" ")));
  const ranges = [];
  let last = -1;
  for (let at = 0; at + length <= words.length; at += 1) {
    if (!runs.has(words.slice(at, at + length).map(({ word }) => word).join(" "))) continue;
    const end = words[at + length - 1];
    if (at <= last) {
      ranges.at(-1).setEnd(end.node, end.end);
    } else {
      const range = document.createRange();
      range.setStart(words[at].node, words[at].start);
      range.setEnd(end.node, end.end);
      ranges.push(range);
    }
    last = at + length;
  }
  return ranges;
}

/** Highlights the snippets of the item, if that is wanted, and scrolls to the place that it is about. */
function showMarks(item) {
  if (!globalThis.Highlight) return;
  CSS.highlights.delete("snippet");
  if (!item.place && !view.marks) return;
  const words = [...byId("answers").querySelectorAll(".answer")].flatMap(answerWords);
  const found = item.snippets.map((snippet) => tracesOf(snippet, words));
  CSS.highlights.set("snippet", new Highlight(...found.flat()));
  const count = found.filter((ranges) => ranges.length).length;
  if (byId("found")) byId("found").textContent = `${count} found in the answer`;
  if (!item.place || !count) return;
  const top = found.flat()[0].getBoundingClientRect().top - byId("reading").getBoundingClientRect().top;
  byId("reading").scrollBy(0, top - 80);
}

// --- keys ---

const scroll = (pages) => byId("reading").scrollBy(0, pages * byId("reading").clientHeight);
const keys = {
  x: () => give(cannotAssess),
  u: undo,
  backspace: undo,
  arrowleft: () => goTo(view.at - 1),
  arrowright: () => goTo(view.at + 1),
  n: () => goTo(nextOpen() ?? view.at),
  arrowup: () => scroll(-0.15),
  arrowdown: () => scroll(0.15),
  pageup: () => scroll(-0.85),
  pagedown: () => scroll(0.85),
  " ": () => scroll(0.85),
  c: () => byId("comment").focus(),
  h: () => {
    view.marks = !view.marks;
    showMarks(items[view.at]);
  },
  s: toggleSources,
  d: download,
  "?": () => byId("keys").showModal(),
  escape: () => (byId("source").hidden = true),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.closest("textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const isPress = event.key === "Enter" || event.key === " ";
  if (isPress && event.target.closest(".cite")) {
    event.preventDefault();
    event.target.click();
    return;
  }
  // Buttons, and lists that open, are pressed with these keys.
  if (isPress && event.target.closest("button, summary")) return;
  // Without shift, + is = on many keyboards.
  const key = event.key === "=" ? "+" : event.key.toLowerCase();
  // A key that is held down must not label item after item.
  if (event.repeat && !/^(arrow|page| )/.test(key)) return;
  const level = scales[items[view.at].scale].levels.find((own) => own.key === key);
  const act = level ? () => give(level.label) : keys[key];
  if (!act) return;
  event.preventDefault();
  act();
}

async function start() {
  await openStore();
  view.at = items.length - 1;
  view.at = nextOpen() ?? 0;
  show();
  timed();
  addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", timed);
  addEventListener("focus", () => store.db && readStore().then(showCount, refuse));
  addEventListener("beforeunload", (event) => !store.db && store.unfiled && event.preventDefault());
  byId("download").addEventListener("click", download);
  byId("help").addEventListener("click", keys["?"]);
  byId("ask-download").addEventListener("click", download);
  byId("ask-later").addEventListener("click", () => byId("ask").close());
  byId("keys-close").addEventListener("click", () => byId("keys").close());
}

start();
