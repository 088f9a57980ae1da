// Opens figures of `scholareval plot` in Chromium, and measures their texts as the browser sets them.
//
//   node figures.mjs FIGURE.svg..
//
// PLAYWRIGHT_DIR: a directory whose node_modules holds playwright-core. CHROMIUM: the browser. Prints a line for each figure. Ends
// with 1 and names texts that overlap, and those that leave the drawing.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(`${resolve(process.env.PLAYWRIGHT_DIR)}/`)("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });

/** In the page: what is wrong with its texts, and how many there are. */
function measured() {
  // Boxes are rounded to pixels, and a letter such as W reaches a little beyond its place.
  const slack = 0.5;
  const edge = 1.1;
  const svg = document.documentElement.getBoundingClientRect();
  const texts = [...document.querySelectorAll("text")];
  const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const wrong = [];
  boxes.forEach(([text, own], at) => {
    if (own.left < svg.left - edge || own.right > svg.right + edge || own.top < svg.top - edge || own.bottom > svg.bottom + edge)
      wrong.push(`outside: ${text}`);
    for (const [other, box] of boxes.slice(at + 1))
      if (own.left + slack < box.right && box.left + slack < own.right && own.top + slack < box.bottom && box.top + slack < own.bottom)
        wrong.push(`overlap: ${text} | ${other}`);
  });
  const foreign = document.querySelectorAll("script, foreignObject, image, a, style").length;
  return { name: document.documentElement.localName, texts: texts.length, wrong, foreign };
}

const page = await browser.newPage();
for (const path of process.argv.slice(2)) {
  await page.goto(pathToFileURL(resolve(path)).href);
  const found = await page.evaluate(measured);
  assert.equal(found.name, "svg", path);
  assert.equal(found.foreign, 0, path);
  assert.ok(found.texts > 2, path);
  assert.deepEqual(found.wrong, [], path);
  console.log(`ok: ${basename(path)}, ${found.texts} texts`);
}
await browser.close();
