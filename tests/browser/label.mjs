// Opens a page of `scholareval label` in Chromium and labels on it as a rater would, by keyboard alone.
//
//   node label.mjs PAGE.html FOLDER work|hostile|many|adjudicate
//
// Downloads and the browser's profile go to FOLDER. `work` prints the keys pressed, by item. PLAYWRIGHT_DIR: a directory whose
// node_modules holds playwright-core. CHROMIUM: the browser. Ends with 1 and says what does not hold.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(`${resolve(process.env.PLAYWRIGHT_DIR)}/`)("playwright-core");
const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
const url = pathToFileURL(resolve(process.argv[2])).href;
const folder = resolve(process.argv[3]);
const profile = join(folder, "profile");
const size = { width: 1280, height: 800 };

/** Notes what should not happen on a page: errors, dialogs, and requests for anything but the page and its download. */
function watched(page) {
  page.bad = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.bad.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.bad.push(`error: ${error.message}`));
  page.on("request", (request) => !request.url().startsWith(url) && !request.url().startsWith("blob:") && page.bad.push(`request: ${request.url()}`));
  page.on("popup", () => page.bad.push("a window was opened"));
  return page;
}

async function opened(context) {
  const page = watched(context.pages()[0] ?? (await context.newPage()));
  await page.setViewportSize(size);
  await page.goto(url);
  await page.locator(".levels button").first().waitFor();
  return page;
}

/** A browser with a profile that outlives it. */
const persistent = () => chromium.launchPersistentContext(profile, { executablePath, args: ["--no-sandbox"], acceptDownloads: true });

/** A browser that can be killed as a power cut would. */
async function mortal() {
  const child = spawn(executablePath, ["--headless", "--no-sandbox", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let text = "";
  for await (const chunk of child.stderr) {
    text += chunk;
    const address = /DevTools listening on (ws:\S+)/.exec(text)?.[1];
    if (!address) continue;
    const browser = await chromium.connectOverCDP(address);
    return { browser, context: browser.contexts()[0], kill: () => killed(child) };
  }
  throw new Error(`the browser did not start: ${text}`);
}

async function killed(child) {
  const end = once(child, "exit");
  // The group: the browser with its own children, started above.
  process.kill(-child.pid, "SIGKILL");
  await end;
}

const itemInView = (page) => page.evaluate(() => [document.querySelector(".wanted").textContent, document.getElementById("question").textContent, document.getElementById("answers").textContent].join("\n"));
const count = (page) => page.locator("#count").innerText();
/** Waits until so many labels are on the disk. */
const kept = (page, labels) => page.locator(`body[data-kept="${labels}"]`).waitFor();

async function downloaded(page) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("d")]);
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return JSON.parse(readFileSync(path, "utf8"));
}

const cycle = ["0", "3", "7", "+", "x"];

/** Forty labels; the browser is killed after the twentieth. */
async function work() {
  const core = readFileSync(process.argv[2], "utf8").match(/id="core">(.*?)<\/script>/s)[1];
  const { items } = JSON.parse(core);
  assert.ok(items.length >= 42, `${items.length} items`);
  const pressed = {};
  const label = async (page, from, to) => {
    for (let at = from; at < to; at += 1) {
      assert.ok((await itemInView(page)).startsWith(items[at].text), `item ${at}`);
      pressed[items[at].id] = cycle[at % cycle.length];
      await page.keyboard.press(cycle[at % cycle.length]);
    }
  };
  const first = await mortal();
  const page = await opened(first.context);
  await label(page, 0, 20);
  await kept(page, 20);
  await first.kill();

  const context = await persistent();
  const again = await opened(context);
  assert.match(await count(again), /^20 of /);
  await label(again, 20, 40);
  // A mistake and its undoing: the label before it is back, and both changes are recorded.
  await again.keyboard.press("ArrowLeft");
  await again.keyboard.press("9");
  await again.keyboard.press("u");
  await again.keyboard.press("c");
  await again.keyboard.type("5 sources <b>& \"no\" number");
  await again.keyboard.press("Escape");
  // A key held down labels nothing but the first item.
  await again.keyboard.press("n");
  assert.match(await count(again), /^40 of /);
  await again.keyboard.down("0");
  await again.keyboard.down("0");
  await again.keyboard.up("0");
  await again.keyboard.press("u");
  await kept(again, 40);
  const file = await downloaded(again);
  const done = file.labels.filter((own) => own.label !== null);
  assert.equal(done.length, 40);
  assert.ok(done.every((own) => own.seconds >= 0 && !Number.isNaN(Date.parse(own.at))));
  assert.ok(done.some((own) => own.seconds > 0));
  const changed = done.find((own) => own.item === items[39].id);
  assert.equal(changed.comment, "5 sources <b>& \"no\" number");
  assert.equal(changed.earlier.length, 2);
  assert.deepEqual(again.bad, []);
  // Everything fits: no sideways scrolling, and all levels are in view.
  const last = await again.locator(".levels button").last().boundingBox();
  assert.ok(last.y + last.height < size.height, "all levels are in view");
  assert.ok((await again.evaluate(() => document.documentElement.scrollWidth)) <= size.width);
  await context.close();
  console.log(JSON.stringify(pressed));
}

/** Nothing of a hostile text runs, and the answer is shown; sources open; a refused storage is announced. */
async function hostile() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await opened(context);
  const found = await page.evaluate(() => ({
    ran: "pwned" in window,
    scripts: document.querySelectorAll('script:not([type="application/json"])').length,
    foreign: document.querySelectorAll("img, iframe, object, embed, base, link, video, svg, #answers a").length,
    handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
  }));
  assert.deepEqual(found, { ran: false, scripts: 1, foreign: 0, handlers: 0 });
  assert.match(await page.locator("#answers").innerText(), /<\/script><script>window\.pwned/);
  await page.keyboard.press("c");
  await page.keyboard.type("</script><script>window.pwned=1</script>\u2028");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  const file = await downloaded(page);
  assert.equal(file.labels[0].comment, "</script><script>window.pwned=1</script>\u2028");
  assert.deepEqual(page.bad, []);
  await context.close();

  const without = await browser.newContext({ acceptDownloads: true });
  await without.addInitScript(() => Object.defineProperty(window, "indexedDB", { get: () => { throw new DOMException("refused", "SecurityError"); } }));
  const refused = await opened(without);
  assert.ok(await refused.locator("#refused").isVisible());
  assert.match(await count(refused), /^0 of /);
  for (let at = 0; at < 50; at += 1) await refused.keyboard.press("1");
  assert.ok(await refused.locator("#ask").isVisible(), "a download is asked for after 50 labels");
  const [asked] = await Promise.all([refused.waitForEvent("download"), refused.keyboard.press("Enter")]);
  await asked.saveAs(join(folder, "asked.json"));
  assert.equal(JSON.parse(readFileSync(join(folder, "asked.json"), "utf8")).labels.length, 50);
  assert.equal(await refused.locator("#ask").isVisible(), false);
  await browser.close();
}

/** Two thousand items: the page opens, labels and downloads; the work at a key does not grow with the page. */
async function many() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await opened(context);
  assert.match(await count(page), /^0 of 2000 /);
  for (let at = 0; at < 100; at += 1) await page.keyboard.press("1");
  await kept(page, 100);
  const slowest = await page.evaluate(async () => {
    const times = [];
    for (let at = 0; at < 200; at += 1) {
      const begun = performance.now();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true, cancelable: true }));
      times.push(performance.now() - begun);
      await new Promise(requestAnimationFrame);
    }
    return times.sort((a, b) => a - b)[100];
  });
  console.log(`milliseconds at a key, median: ${slowest.toFixed(1)}`);
  await kept(page, 300);
  assert.equal((await downloaded(page)).labels.length, 300);
  assert.deepEqual(page.bad, []);
  await browser.close();
}

/** The page of disputed items shows what raters said, without their names. */
async function adjudicate() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ acceptDownloads: true });
  const page = await opened(context);
  assert.match(await page.locator(".said").innerText(), /Raters differ/);
  assert.match(await page.locator(".said").innerText(), /because of <i>this<\/i>/);
  await page.keyboard.press("1");
  assert.match(await count(page), /^All 1 item labeled/);
  const file = await downloaded(page);
  assert.deepEqual([file.adjudicated, file.rater, file.labels.length], [true, "adjudication", 1]);
  assert.deepEqual(page.bad, []);
  await browser.close();
}

await { work, hostile, many, adjudicate }[process.argv[4]]();
console.log(`ok: ${process.argv[4]}`);
