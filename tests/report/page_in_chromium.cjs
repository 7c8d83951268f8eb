// Opens pages in Chromium and prints what happened there, as JSON: node page_in_chromium.cjs NODE_MODULES CHROMIUM PAGE…
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const [modules, executablePath, ...pages] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = fs.readFileSync(path.join(modules, "axe-core", "axe.min.js"), "utf8");

const settled = (page) => page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 30)));
const violations = async (page) => {
  await settled(page);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.failureSummary).join(" | ")}`);
};
const shown = (page) => page.locator(".finding:not([hidden])").evaluateAll((all) => all.map((f) => f.dataset.code));
const tone = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

async function look(browser, file) {
  const seen = { messages: [], requests: [] };
  const context = await browser.newContext({ colorScheme: "light", permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.on("console", (m) => seen.messages.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => seen.messages.push(`error: ${e.message}`));
  page.on("dialog", (d) => { seen.messages.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => seen.requests.push(r.url()));
  await page.goto(`file://${file}`);
  seen.first = await shown(page);
  seen.scripts = await page.locator("script").count();
  seen.foreign = await page.locator("img, iframe, object, embed, link, form, video, audio, base").count();
  seen.handlers = await page.evaluate(() => [...document.querySelectorAll("*")].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith("on")));
  seen.hacked = await page.evaluate(() => window.hacked ?? null);
  seen.wide = [];
  for (const width of [360, 640, 1280]) { // a phone, a screen at 200 %, a screen
    await page.setViewportSize({ width, height: 800 });
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) seen.wide.push(width);
    const outside = await page.locator(".matrix td .outcome").evaluateAll((all) => all.filter((e) => e.getBoundingClientRect().right > innerWidth).length);
    if (outside) seen.wide.push(`${outside} outcomes at ${width}`);
  }
  seen.text = await page.locator("body").innerText();
  await settled(page);
  seen.stops = await page.evaluate(() => {
    const parts = [...document.querySelectorAll("pre, .scroll")].filter((e) => e.checkVisibility());
    return [true, false].map((wide) => parts.filter((e) => (e.scrollWidth > e.clientWidth) === wide).map((e) => e.tabIndex));
  });

  await page.evaluate(axe); // not by a script element, which the page's own policy forbids
  await page.locator("details").evaluateAll((all) => { for (const one of all) one.open = true; });
  seen.light = await violations(page);
  seen.tones = [await tone(page)];
  await page.emulateMedia({ colorScheme: "dark" });
  seen.tones.push(await tone(page));
  seen.dark = await violations(page);
  await page.setViewportSize({ width: 360, height: 800 });
  seen.phone = await violations(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.click("#theme"); // light, whatever the system says
  seen.tones.push(await tone(page));
  await page.reload();
  seen.tones.push(await tone(page));

  seen.copied = [];
  for (const button of await page.locator(".finding:not([hidden]) .copy:visible").all()) {
    await button.click();
    await page.waitForFunction((b) => b.textContent === "Copied", await button.elementHandle());
    seen.copied.push(await page.evaluate(() => navigator.clipboard.readText()));
  }
  const last = page.locator(".finding:not([hidden]) .copy:visible").last();
  seen.copiedOldWay = null;
  if (await last.count()) {
    await page.evaluate(() => navigator.clipboard.writeText("")); // then what a browser without the API does
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await page.emulateMedia({ reducedMotion: "reduce" });
    await last.scrollIntoViewIfNeeded();
    const before = await page.evaluate(() => scrollY);
    await last.click();
    const stayed = (await page.evaluate(() => scrollY)) === before && (await last.evaluate((b) => b === document.activeElement));
    const other = await context.newPage();
    await other.goto("about:blank");
    await other.setContent("<textarea></textarea>");
    await other.focus("textarea");
    await other.keyboard.press("Control+V");
    seen.copiedOldWay = [stayed, await other.inputValue("textarea")];
    await other.close();
  }

  seen.filtered = {};
  if (await page.locator("#filters").isVisible()) {
    await page.locator("body").press("/");
    await page.keyboard.type("GATE.py branches");
    seen.filtered.text = await shown(page);
    await page.keyboard.press("Escape");
    seen.filtered.cleared = await shown(page);
    for (const chip of await page.locator(".chip").all()) {
      if ((await chip.getAttribute("aria-pressed")) === "false") await chip.press("Enter");
    }
    seen.filtered.all = await shown(page);
    if (await page.locator("#rule").count()) {
      await page.selectOption("#rule", { index: 1 });
      seen.filtered.rule = await shown(page);
      await page.selectOption("#rule", "");
    }
    if (await page.locator("#exporter").count()) {
      await page.selectOption("#exporter", "dynamo");
      seen.filtered.dynamo = await shown(page);
    }
    await page.fill("#text", "nothing has this text");
    seen.filtered.none = [await shown(page), await page.locator("#none").isVisible()];
    await page.click("#reset");
    seen.filtered.reset = await shown(page);
    await page.locator("#findings").focus();
    seen.walked = [];
    for (const key of ["j", "j", "k"]) {
      await page.keyboard.press(key);
      seen.walked.push(await page.evaluate(() => document.activeElement.dataset.code));
    }
  }
  seen.linked = null;
  const cell = page.locator(".matrix a.outcome").first();
  if (await cell.count()) {
    await cell.click();
    seen.linked = await page.evaluate(() => document.activeElement.id);
  }
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 700, height: 990 }); // of a sheet of A4
  const cut = () => [...document.querySelectorAll("svg, pre, table")].filter((e) => e.getBoundingClientRect().right > innerWidth).length;
  seen.printed = { cut: await page.evaluate(cut), tone: await tone(page), controls: await page.locator("button:visible, input:visible, select:visible").count(), bytes: (await page.pdf()).length };
  await context.close();
  return seen;
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] }); // which root cannot have
  const found = {};
  for (const file of pages) found[path.basename(file, ".html")] = await look(browser, file);
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})();
