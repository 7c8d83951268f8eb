(() => {
  "use strict";
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const say = (text) => { one("#said").textContent = text; };

  // Without a script the page shows everything but the controls, which would do nothing.
  for (const control of all("#theme, #filters, #keys, .copy")) control.hidden = false;

  const THEMES = ["system", "light", "dark"];
  const KEPT = "onnxlint-theme";
  const theme = one("#theme");
  const remembered = () => { try { return localStorage.getItem(KEPT); } catch { return null; } }; // a file may have no storage
  const paint = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.querySelector("span").textContent = name;
  };
  let current = THEMES.includes(remembered()) ? remembered() : "system";
  paint(current);
  theme.addEventListener("click", () => {
    current = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length];
    paint(current);
    try { localStorage.setItem(KEPT, current); } catch { /* it holds for this page alone then */ }
  });

  const copyOldWay = (text, button) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    button.after(area); // there, so that selecting it does not scroll the page
    area.focus({ preventScroll: true });
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus({ preventScroll: true });
    if (!done) throw new Error("the browser does not let this page copy");
  };
  for (const button of all(".copy")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      const text = button.dataset.copy;
      try {
        try { await navigator.clipboard.writeText(text); } catch { copyOldWay(text, button); }
        button.textContent = "Copied";
        button.classList.add("done");
        say("Copied");
      } catch {
        button.textContent = "Not copied";
        say("It could not be copied");
      }
      setTimeout(() => { button.textContent = label; button.classList.remove("done"); }, 1600);
    });
  }

  // What scrolls sideways is a stop of the Tab key; what fits is none.
  const scrolling = all("pre[tabindex], .scroll[tabindex]");
  let waiting = false;
  const stops = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const wide = scrolling.map((part) => part.scrollWidth > part.clientWidth); // all is read before anything is written
      scrolling.forEach((part, k) => { if (wide[k]) part.tabIndex = 0; else part.removeAttribute("tabindex"); });
    });
  };
  addEventListener("resize", stops);
  addEventListener("toggle", stops, true);
  stops();

  const findings = all(".finding");
  const chips = all(".chip");
  const [text, rule, exporter] = ["#text", "#rule", "#exporter"].map(one);
  const filter = () => {
    const wanted = (text?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => c.dataset.verdict));
    let shown = 0;
    for (const finding of findings) {
      const { dataset } = finding;
      const fits = verdicts.has(dataset.verdict)
        && (!rule?.value || dataset.code === rule.value)
        && (!exporter?.value || dataset.exporters.split(" ").includes(exporter.value))
        && wanted.every((word) => dataset.text.includes(word));
      finding.hidden = !fits;
      shown += fits;
    }
    one("#tally").textContent = `${shown} of ${findings.length}`;
    if (one("#none")) one("#none").hidden = shown > 0;
    stops();
  };
  const reset = () => {
    for (const field of [text, rule, exporter]) if (field) field.value = "";
    for (const chip of chips) chip.setAttribute("aria-pressed", "true");
    filter();
  };
  if (findings.length) {
    for (const field of [text, rule, exporter]) field?.addEventListener("input", filter);
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        filter();
      });
    }
    one("#reset").addEventListener("click", () => { reset(); text.focus(); });
    filter();
  }

  // A link leads to what a filter hides, and to what is folded.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.matches("details")) target.open = true;
    if (target.matches(".finding[hidden]")) { reset(); target.scrollIntoView(); }
    if (target.matches(".finding")) target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  reveal();

  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const part of all("main details:not([open])")) { part.open = true; folded.add(part); }
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; folded.clear(); });

  const step = (by) => {
    const shown = findings.filter((f) => !f.hidden);
    if (!shown.length) return;
    const here = shown.indexOf(document.activeElement?.closest(".finding"));
    const next = shown[here < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, here + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView();
  };
  const KEYS = { j: () => step(1), k: () => step(-1), t: () => theme.click(), "/": () => text?.focus() };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.activeElement === text) { text.value = ""; filter(); text.blur(); return; }
    if (event.target.matches("input, select, textarea") || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
})();
