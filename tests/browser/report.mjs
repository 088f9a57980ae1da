// Opens a page of `scholareval report` in Chromium and uses it as a reader would.
//
//   node report.mjs PAGE.html [hostile|faults|labels|cited|works|long|tree|settled]
//
// PLAYWRIGHT_DIR: a directory whose node_modules holds playwright-core. CHROMIUM: the browser. Ends with 1 and says what
// does not hold.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(`${resolve(process.env.PLAYWRIGHT_DIR)}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const url = pathToFileURL(resolve(process.argv[2])).href;
const hostile = process.argv[3] === "hostile";
const faults = process.argv[3] === "faults";
const labels = process.argv[3] === "labels";
const cited = process.argv[3] === "cited";
const works = process.argv[3] === "works";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });

/** A tab that remembers what should not happen. */
async function tab(address, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.bad = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.bad.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.bad.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.bad.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => request.url().split("#")[0] !== url && page.bad.push(`request: ${request.url()}`));
  page.on("popup", () => page.bad.push("a window was opened"));
  await page.goto(address);
  return page;
}

/** Nothing bad happened; nothing of an answer ran or became an element. */
async function isClean(page) {
  assert.deepEqual(page.bad, []);
  const found = await page.evaluate(() => ({
    ran: "pwned" in window,
    scripts: document.querySelectorAll('script:not([type="application/json"])').length,
    foreign: document.querySelectorAll("img, iframe, object, embed, base, link, video, svg script, a[href^='javascript' i]").length,
    handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
  }));
  assert.deepEqual(found, { ran: false, scripts: 1, foreign: 0, handlers: 0 });
}

const rows = (page) => page.locator("#heat tbody tr");
const deltas = (page) => page.locator("#heat td.change").allInnerTexts();

async function heatmap(page) {
  await page.locator("#heat").scrollIntoViewIfNeeded();
  await rows(page).first().waitFor();
}

/** In a case: every system is chosen, not the first few alone. */
async function allSystems(page) {
  const others = page.locator("#case .choice input:not(:checked)");
  while (await others.count()) await others.first().click();
}

/** Cells and headings whose text stands outside of them, unless something cuts it off. */
function outside() {
  const found = [];
  const cuts = (element) => getComputedStyle(element).overflowX !== "visible";
  for (const element of document.querySelectorAll("th, td, h3, dt, dd, label, .legend > span")) {
    if (!element.offsetParent || cuts(element) || [...element.querySelectorAll("*")].some((inner) => cuts(inner))) continue;
    const box = element.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(element);
    const leaves = (part) => part.width > 1 && (part.right > box.right + 2 || part.left < box.left - 2);
    if (!element.querySelector("svg") && [...range.getClientRects()].some(leaves)) found.push(`${element.tagName} ${element.textContent.slice(0, 40)}`);
  }
  return found;
}

/** Texts whose color is too close to that of their background, each color of a pair once. */
function faint() {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let own = element; own; own = own.parentElement) {
      const color = rgba(getComputedStyle(own).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
  };
  const found = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const hidden = !element.checkVisibility() || element.closest("script, [disabled]");
    if (hidden || !texts.currentNode.textContent.trim()) continue;
    const style = getComputedStyle(element);
    const [a, b] = [rgba(element.closest("svg") ? style.fill : style.color), background(element)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.set(`${a} ${b}`, `${contrast.toFixed(2)}: ${texts.currentNode.textContent.slice(0, 40)} (${element.className})`);
  }
  return [...found.values()];
}

/** What axe finds, one line each; with what it cannot decide where nothing has to scroll sideways. */
async function axeFindings(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    // What is below the bar at the top of the window counts as covered.
    scrollTo(0, 0);
    const { violations, incomplete } = await globalThis.axe.run(document, { resultTypes: ["violations", "incomplete"] });
    const scrolls = [...document.querySelectorAll(".wide, .columns, .raw")].some((box) => box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    return [...violations, ...(scrolls ? [] : incomplete)].flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)}`));
  });
}

const checks = {
  async "the leaderboard stands there without a script"() {
    const page = await tab(url, { javaScriptEnabled: false });
    assert.ok((await page.locator("section.metric:not([hidden]) .board tbody tr").count()) > 1);
    assert.equal(await page.locator("section.cases").isVisible(), false);
    await page.context().close();
  },

  async "it opens without an error, a request or a dialog"() {
    const page = await tab(url);
    await heatmap(page);
    await isClean(page);
    await page.context().close();
  },

  async "a filter filters and sorting sorts"() {
    const page = await tab(url);
    await heatmap(page);
    const all = await rows(page).count();
    assert.ok(all > 1);
    assert.equal(await page.locator("#heat thead th").count(), await rows(page).first().locator("th, td").count());
    const id = (await page.evaluate(() => JSON.parse(document.getElementById("core").textContent).cases[1][0]));
    await page.fill("#find", id);
    assert.equal(await rows(page).count(), 1);
    await page.fill("#find", "no such words anywhere");
    assert.equal(await rows(page).count(), 0);
    await page.fill("#find", "");
    assert.equal(await rows(page).count(), all);
    await page.selectOption("#sort", "-delta");
    const numbers = (await deltas(page)).filter((text) => text !== "–").map((text) => Number(text.replace("−", "-")));
    assert.ok(numbers.length > 0);
    assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a));
    assert.match(new URL(page.url()).hash, /sort=-delta/);
    const [first, second] = await page.evaluate(() => JSON.parse(document.getElementById("core").textContent).metrics[0].order);
    await page.selectOption("#first", String(second));
    await page.selectOption("#second", String(first));
    assert.match(new URL(page.url()).hash, /pair=/);
    await isClean(page);
    await page.context().close();
  },

  async "a click opens a case, back and Escape leave it"() {
    const page = await tab(url);
    await heatmap(page);
    await rows(page).nth(1).locator("td").first().click();
    await page.locator("#case .answer").first().waitFor();
    assert.equal(await page.locator("#overview").isVisible(), false);
    assert.match(new URL(page.url()).hash, /case=.+&systems=/);
    await page.locator(".open-part").first().click();
    assert.equal(await page.locator(".detail:visible").count(), 1);
    const first = await page.locator("#case h1").innerText();
    await page.keyboard.press("n");
    assert.notEqual(await page.locator("#case .id").innerText(), "");
    await page.keyboard.press("p");
    assert.equal(await page.locator("#case h1").innerText(), first);
    await page.keyboard.press("Escape");
    await page.locator("#overview").waitFor();
    await page.goBack();
    await page.locator("#case .answer").first().waitFor();
    await isClean(page);
    await page.context().close();
  },

  async "an answer is shown exactly as it was written"() {
    const page = await tab(url);
    await heatmap(page);
    await rows(page).first().locator("th").click();
    await page.locator("#case .answer").first().waitFor();
    await allSystems(page);
    const texts = () => page.evaluate(() => {
      const { systems } = JSON.parse(document.getElementById("case-0").textContent);
      const plain = [...document.querySelectorAll("#case .answer")].map((box) => {
        const copy = box.cloneNode(true);
        copy.querySelector(".appended-mark")?.remove();
        return copy.textContent;
      });
      return [plain, systems.filter(Boolean).map((system) => system.answer.text)].map((list) => list.sort());
    });
    // As Markdown it has every word, in order.
    const words = (list) => list.map((text) => text.replace(/[^\p{L}\p{N}]+/gu, "")).sort();
    const [rendered, source] = await texts();
    assert.deepEqual(words(rendered), words(source));
    await page.locator("#raw").check();
    const [shown, written] = await texts();
    assert.deepEqual(shown, written);
    assert.equal(await page.evaluate(() => document.activeElement.id), "raw");
    await page.context().close();
  },

  async "the scorecard stands above every metric, and is copied as LaTeX and CSV"() {
    const page = await tab(url, { permissions: ["clipboard-read", "clipboard-write"] });
    const systems = await page.evaluate(() => JSON.parse(document.getElementById("core").textContent).systems.length);
    assert.equal(await page.locator(".scorecard tbody tr").count(), systems);
    assert.match(await page.locator(".basis").innerText(), /\d{4}-\d\d-\d\d/);
    const last = page.locator(".scorecard thead a").last();
    const key = await last.getAttribute("data-key");
    await last.click();
    assert.equal(await page.locator("#metric").inputValue(), key);
    assert.ok(await page.locator(".scorecard").isVisible());
    for (const [name, begin] of [["LaTeX", "% needs"], ["CSV", "system,"]]) {
      await page.getByRole("button", { name: `Copy as ${name}` }).click();
      await page.locator("#copied", { hasText: "Copied" }).waitFor();
      assert.ok((await page.evaluate(() => navigator.clipboard.readText())).startsWith(begin));
    }
    await isClean(page);
    await page.context().close();
  },

  async "text has a contrast of at least 4.5 to 1, also on the colors of cells"() {
    for (const colorScheme of ["light", "dark"]) {
      const page = await tab(url, { colorScheme });
      await heatmap(page);
      assert.deepEqual(await page.evaluate(faint), [], `overview, ${colorScheme}`);
      await rows(page).first().locator("th").click();
      await page.locator("#case .answer").first().waitFor();
      assert.deepEqual(await page.evaluate(faint), [], `case, ${colorScheme}`);
      await page.context().close();
    }
  },

  async "axe finds nothing at any width, light or dark, in the overview and in a case"() {
    for (const width of [1440, 800, 400]) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await tab(url, { viewport: { width, height: 900 }, colorScheme });
        await heatmap(page);
        assert.deepEqual(await axeFindings(page), [], `overview, ${width}, ${colorScheme}`);
        await rows(page).first().locator("th").click();
        await page.locator("#case .answer").first().waitFor();
        const closed = page.locator('.open-group[aria-expanded="false"]');
        if (await closed.count()) await closed.first().click();
        await page.locator(".open-part").first().click();
        assert.deepEqual(await axeFindings(page), [], `case, ${width}, ${colorScheme}`);
        await page.context().close();
      }
    }
  },

  async "a heading that is a sign is explained on focus and on hover"() {
    const page = await tab(url);
    const heading = page.locator("section.metric:not([hidden]) thead abbr").first();
    for (const show of ["focus", "hover"]) {
      assert.equal(await page.locator("#tip").isVisible(), false);
      await heading[show]();
      assert.ok((await page.locator("#tip").innerText()).length > 10);
      assert.equal(await heading.getAttribute("aria-describedby"), "tip");
      await page.keyboard.press("Escape");
      await heading.blur();
    }
    await isClean(page);
    await page.context().close();
  },

  async "a line of the criteria leads to its cases"() {
    const page = await tab(url);
    await heatmap(page);
    const group = page.locator("#criteria tr.group[data-of]").first();
    await group.locator("a").click();
    await page.locator("#cases-of").waitFor();
    assert.match(await page.locator("#cases-of").innerText(), /Credit for|fault/);
    const means = async (line) => (await line.locator("td").allInnerTexts()).map((text) => Number(text.replace(/[^0-9.]/g, "") || 0));
    const shown = await page.evaluate(() => [...document.querySelectorAll("#heat tbody tr")].map((tr) => [...tr.querySelectorAll("td.known")].map((td) => Number(td.textContent))));
    const [mean] = await means(group);
    const first = shown.map((values) => values[0]).filter((value) => value !== undefined);
    assert.ok(mean >= Math.min(...first) - 1 && mean <= Math.max(...first) + 1, `${mean} is not a mean of ${first}`);
    await page.locator("#cases-of button").click();
    assert.equal(await page.locator("#cases-of").isVisible(), false);
    const single = page.locator("#criteria tr[data-case]").first();
    if (await single.count()) {
      if (!(await single.isVisible())) await page.locator("#criteria tbody", { has: page.locator("tr[data-case]") }).first().locator(".fold").click();
      const text = await single.locator("a").innerText();
      await single.locator("td[data-system]").last().click();
      await page.locator('#case .open-part[aria-expanded="true"]').waitFor();
      const opened = await page.locator('#case .open-part[aria-expanded="true"]').innerText();
      assert.ok(opened.includes(text) || opened.includes("for the criterion above"), opened);
      await page.reload();
      await page.locator('#case .open-part[aria-expanded="true"]').waitFor();
    }
    await isClean(page);
    await page.context().close();
  },

  async "a link restores case, systems and metric"() {
    const page = await tab(url);
    const core = await page.evaluate(() => JSON.parse(document.getElementById("core").textContent));
    const [system, metric, id] = [core.systems[1].label, core.metrics.at(-1).key, core.cases[1][0]];
    await page.context().close();
    const linked = await tab(`${url}#case=${encodeURIComponent(id)}&systems=${encodeURIComponent(system)}&metric=${encodeURIComponent(metric)}`);
    await linked.locator("#case .answer").first().waitFor();
    assert.equal(await linked.locator("#case .id").innerText(), id);
    assert.equal(await linked.locator("#case .answer").count(), 1);
    assert.equal(await linked.locator("#metric").inputValue(), metric);
    await isClean(linked);
    await linked.context().close();
    const broken = await tab(`${url}#case=%E0%A4%A&systems=%,nobody&metric=none&sort=x`);
    await broken.locator("#overview").waitFor();
    await isClean(broken);
    await broken.context().close();
  },

  async "the keyboard suffices"() {
    const page = await tab(url);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "find");
    await page.keyboard.press("Escape");
    for (let step = 0; step < 40; step += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.closest("#heat tbody") !== null)) break;
    }
    await page.keyboard.press("Tab");
    const at = () => page.evaluate(() => document.activeElement.closest("tr").rowIndex);
    const row = await at();
    await page.keyboard.press("Enter");
    await page.locator("#case .answer").first().waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await at(), row);
    await isClean(page);
    await page.context().close();
  },

  async "a narrow window needs no sideways scrolling"() {
    const page = await tab(url, { viewport: { width: 400, height: 800 } });
    await heatmap(page);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
    await rows(page).first().locator("th").click();
    await page.locator("#case .answer").first().waitFor();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
    await isClean(page);
    await page.context().close();
  },

  async "no name is printed over another, and the page is never wider than the window"() {
    for (const width of [1280, 800, 400]) {
      const page = await tab(url, { viewport: { width, height: 800 } });
      await heatmap(page);
      assert.deepEqual(await page.evaluate(outside), [], `overview, ${width}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `overview, ${width}`);
      await rows(page).first().locator("th").click();
      await page.locator("#case .answer").first().waitFor();
      await allSystems(page);
      assert.deepEqual(await page.evaluate(outside), [], `case, ${width}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `case, ${width}`);
      await page.context().close();
    }
  },

  async "numbers of a case say what they are in, and the length its words"() {
    const page = await tab(url);
    await heatmap(page);
    await rows(page).first().locator("th").click();
    await page.locator("#case .answer").first().waitFor();
    assert.match(await page.locator("#case h2").first().innerText(), /%/);
    const length = page.locator("#case .parts tr", { hasText: "Length score: full up to" }).first();
    assert.match(await length.locator("td").nth(1).innerText(), /[0-9.]+\s+[0-9]+ words/);
    assert.doesNotMatch(await page.locator("#case").innerText(), /\b1 (words|citations|sources|claims)\b/);
    await page.context().close();
  },

  async "the policy stops what would run or be sent"() {
    const page = await tab(url);
    const outcome = await page.evaluate(async () => {
      const script = document.createElement("script");
      script.textContent = "window.pwned = 1";
      document.body.append(script);
      const box = document.createElement("div");
      box.innerHTML = '<img src="x:y" onerror="window.pwned = 2"><p style="color: red" onclick="window.pwned = 3">x</p>';
      document.body.append(box);
      box.querySelector("p").click();
      const sent = await fetch("data:,x").then(() => true, () => false);
      return { ran: "pwned" in window, sent, styled: getComputedStyle(box.querySelector("p")).color === "rgb(255, 0, 0)" };
    });
    assert.deepEqual(outcome, { ran: false, sent: false, styled: false });
    await page.context().close();
  },
};

if (hostile) {
  checks["what answers and judges wrote runs nothing"] = async () => {
    const page = await tab(url);
    const count = await page.evaluate(() => JSON.parse(document.getElementById("core").textContent).cases.length);
    await heatmap(page);
    for (let at = 0; at < count; at += 1) {
      await page.evaluate((place) => {
        const core = JSON.parse(document.getElementById("core").textContent);
        location.hash = `#case=${encodeURIComponent(core.cases[place][0])}`;
      }, at);
      await page.locator("#case .answer").first().waitFor();
      // Everything is opened, within the page: there are hundreds of them.
      await page.evaluate(() => {
        for (const part of document.querySelectorAll("#case .open-part")) part.click();
        for (const details of document.querySelectorAll("#case details")) details.open = true;
      });
      await isClean(page);
    }
    assert.match(await page.locator("#case").innerText(), /<script>|onerror/);
    // It was read as Markdown all the same.
    const elements = (name) => page.locator(`#case .answer ${name}`).count();
    for (const name of ["h4", "ul ul li", "td", "pre", "strong"]) assert.ok((await elements(name)) > 0, name);
    await page.context().close();
  };
}

if (faults) {
  delete checks["numbers of a case say what they are in, and the length its words"];
  checks["a met fault has a minus sign, a color and a word of its own"] = async () => {
    const page = await tab(url);
    await heatmap(page);
    await rows(page).first().locator("th").click();
    await page.locator("#case .answer").first().waitFor();
    const row = (text) => page.locator("#case .parts tr", { hasText: text }).first();
    const cells = await row("Blames the sea").locator("td").allInnerTexts();
    assert.deepEqual(cells.map((text) => text.split(/\s+/).filter(Boolean).join(" ")), ["−50.0", "0.0 no fault", "−100.0 fault"]);
    assert.match(await row("Blames the sea").innerText(), /fault: takes points away/);
    const bar = (place, at) => place.locator(".score").nth(at).evaluate((score) => {
      const style = getComputedStyle(score.querySelector("i"), "::before");
      return { image: style.backgroundImage, width: Math.round(parseFloat(style.width)), number: getComputedStyle(score.querySelector("b")).color };
    });
    const [unmet, met, success] = [await bar(row("Blames the sea"), 0), await bar(row("Blames the sea"), 1), await bar(row("Names the cause"), 1)];
    assert.equal(unmet.width, 0);
    assert.ok(met.width > 10 && met.image.includes("gradient") && !success.image.includes("gradient"));
    assert.notEqual(met.number, success.number);
    assert.equal(unmet.number, success.number);
    await isClean(page);
    await page.context().close();
  };
}

if (labels) {
  checks["people stand with the judge, and the cases where they differ are found"] = async () => {
    const page = await tab(url);
    await heatmap(page);
    const all = await rows(page).count();
    await page.selectOption("#only", "differ");
    const differing = await rows(page).count();
    assert.ok(differing > 0 && differing < all, `${differing} of ${all}`);
    await rows(page).first().locator("th").click();
    await page.locator("#case .answer").first().waitFor();
    assert.ok((await page.locator("#case .people").count()) > 0);
    assert.match(await page.locator("#case .people.warn").first().innerText(), /^people: [0-9.]+$/);
    await page.locator(".parts tr", { has: page.locator(".people.warn") }).first().locator(".open-part").click();
    assert.match(await page.locator(".detail:visible").innerText(), /\(person\)/);
    await isClean(page);
    await page.context().close();
  };
}

if (process.argv[3] === "long") {
  // No length is scored.
  for (const name of Object.keys(checks)) if (/length its words/.test(name)) delete checks[name];
  checks["the lines behind the first ones are shown on request"] = async () => {
    const page = await tab(url);
    const lines = page.locator("#criteria tbody").first().locator("tr[data-of]:not(.group):visible, tr.more:visible");
    await page.locator("#criteria .fold").first().click();
    assert.equal(await lines.count(), 40);
    await page.locator("#criteria .rest button").first().click();
    assert.equal(await lines.count(), 45);
    assert.equal(await page.locator("#criteria .rest:visible").count(), 0);
    await page.locator("#criteria .fold").first().click();
    assert.equal(await lines.count(), 0);
    await isClean(page);
    await page.context().close();
  };
}

if (process.argv[3] === "tree") {
  // Components are below nodes, which are closed at first; no length is scored.
  for (const name of Object.keys(checks)) if (/length its words|a click opens a case/.test(name)) delete checks[name];
  checks["nodes open and close, with their share and their value"] = async () => {
    const page = await tab(`${url}#case=c1`);
    const nodes = page.locator("#case tr.node");
    const parts = page.locator("#case .open-part");
    await nodes.first().waitFor();
    assert.equal(await nodes.count(), 4);
    assert.equal(await parts.count(), 0);
    const cells = (await nodes.nth(3).locator("td").allInnerTexts()).map((text) => text.trim());
    assert.equal(cells[0], "40.0");
    assert.match(await nodes.nth(3).innerText(), /4 Part 4 <img src=x>\s+10 criteria/);
    await nodes.nth(3).locator("button").click();
    assert.equal(await parts.count(), 10);
    // The value of a node is the mean by weight of those below it.
    const below = await page.evaluate(() => [...document.querySelectorAll("#case .parts tr")].filter((row) => row.querySelector(".open-part")).map((row) => [...row.querySelectorAll("td")].slice(0, 2).map((cell) => parseFloat(cell.innerText))));
    const whole = below.reduce((sum, [weight]) => sum + weight, 0);
    const mean = below.reduce((sum, [weight, value]) => sum + weight * value, 0) / whole;
    assert.ok(Math.abs(whole - 40) < 0.5 && Math.abs(mean - parseFloat(cells[1])) < 0.5, `${whole}, ${mean}, ${cells}`);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
    await parts.first().click();
    assert.equal(await page.locator("#case .detail:visible").count(), 1);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    assert.equal(await parts.count(), 0);
    await isClean(page);
    await page.context().close();
    // A component of the address is shown with the nodes around it.
    const other = await tab(`${url}#case=c1&part=lexical_criteria%2Fc12`);
    await other.locator('#case .open-part[aria-expanded="true"]', { hasText: "Step 2-2" }).waitFor();
    assert.equal(await other.locator('#case .open-group[aria-expanded="true"]').count(), 1);
    await isClean(other);
    await other.context().close();
  };
}

if (process.argv[3] === "settled") {
  checks["of a whole answer people say what is settled, with its share of the weights"] = async () => {
    const page = await tab(url);
    await heatmap(page);
    await rows(page).first().locator("th").click();
    await page.locator("#case .people").first().waitFor();
    assert.match(await page.locator("#case .total .people").first().innerText(), /^people: 30.0 \([0-9]+% of the weights\)$/);
    await isClean(page);
    await page.context().close();
  };
}

if (cited) {
  // No rubric, no criteria, one metric that is a count.
  for (const name of Object.keys(checks)) if (/criteria|in a case|length its words|keyboard|scorecard|difference/.test(name)) delete checks[name];
  checks["statements stand with verdict, passage and state of the page, and filters choose among them"] = async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 400]) {
        const page = await tab(url, { colorScheme, viewport: { width, height: 900 } });
        await heatmap(page);
        await rows(page).first().locator("th").click();
        const items = page.locator("#case .cited-page li");
        await items.first().waitFor();
        const all = await items.count();
        assert.match(await page.locator("#case .cited-page").first().innerText(), /https:\/\/a\.example\/.*readable.*no date.*supported.*From the page:.*Ice shrank/s);
        await page.selectOption("#pages-verdict", "open");
        const open = await items.count();
        assert.ok(open > 0 && open < all, `${open} of ${all}`);
        for (const text of await items.allInnerTexts()) assert.match(text, /open – /);
        await page.selectOption("#pages-state", "blocked");
        assert.ok((await items.count()) > 0 && (await items.count()) < open);
        await page.selectOption("#pages-verdict", "supported");
        assert.equal(await items.count(), 0);
        assert.match(await page.locator("#case").innerText(), /No statement matches these filters/);
        await page.selectOption("#pages-state", "");
        await page.selectOption("#pages-verdict", "");
        assert.equal(await items.count(), all);
        assert.deepEqual(await axeFindings(page), [], `${width}, ${colorScheme}`);
        assert.deepEqual(await page.evaluate(faint), []);
        assert.deepEqual(await page.evaluate(outside), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width}`);
        assert.match(await page.locator("#case").innerText(), /<img src=x onerror/);
        await isClean(page);
        await page.context().close();
      }
    }
  };
}

if (works) {
  // As with cited pages: no rubric and no criteria.
  for (const name of Object.keys(checks)) if (/criteria|in a case|length its words|keyboard|scorecard|difference/.test(name)) delete checks[name];
  checks["references stand with state, record and what differs, and filters choose among them"] = async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 400]) {
        const page = await tab(url, { colorScheme, viewport: { width, height: 900 } });
        await heatmap(page);
        assert.match(await page.locator("main, body").first().innerText(), /[0-9]+ of [0-9]+ references were found; [0-9]+ differs?/);
        await rows(page).first().locator("th").click();
        const items = page.locator("#case .cited-work");
        await items.first().waitFor();
        const all = await items.count();
        await page.selectOption("#works-state", "differs");
        const differing = await items.count();
        assert.ok(differing > 0 && differing < all, `${differing} of ${all}`);
        for (const text of await items.allInnerTexts()) assert.match(text, /year: cited 2012, recorded 2019/);
        assert.deepEqual(await items.first().locator("mark").allInnerTexts(), ["2019", "2012", "2019"]);
        await page.selectOption("#works-status", "no_notice");
        assert.equal(await items.count(), differing);
        await page.selectOption("#works-state", "not_in_index");
        assert.match(await page.locator("#case").innerText(), /No reference matches these filters/);
        await page.selectOption("#works-status", "");
        await page.selectOption("#works-state", "");
        assert.equal(await items.count(), all);
        assert.deepEqual(await axeFindings(page), [], `${width}, ${colorScheme}`);
        assert.deepEqual(await page.evaluate(faint), []);
        assert.deepEqual(await page.evaluate(outside), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width}`);
        assert.match(await page.locator("#case").innerText(), /<img src=x onerror/);
        await isClean(page);
        await page.context().close();
      }
    }
  };
}

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
