"use strict";
// Uses the page as a reader does and writes down what did not work.
{
  const failed = [];
  let done = 0;
  const expect = (what, ok) => { done++; if (!ok) failed.push(what); };
  const press = (el, key) => el.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  try {
    const table = document.getElementById("table"), rows = () => [...table.tBodies[0].rows];
    const heads = [...table.querySelectorAll("thead button")];
    const column = heads.findIndex((h) => h.textContent.startsWith("TTFT p50"));
    const values = () => rows().map((r) => Number(r.cells[column].dataset.v));
    const ordered = (v, sign) => v.length > 1 && v.every((x, i) => i === 0 || sign * (x - v[i - 1]) >= 0);
    heads[column].click();
    expect("sort", ordered(values(), 1) && heads[column].parentElement.getAttribute("aria-sort") === "ascending");
    heads[column].click();
    expect("sort the other way", ordered(values(), -1) && heads[column].parentElement.getAttribute("aria-sort") === "descending");
    heads[column].focus();
    expect("reach a heading", document.activeElement === heads[column]);

    rows()[0].cells[column].click();
    expect("pick a row", rows()[0].classList.contains("picked") && document.querySelector("svg a.dim") !== null);
    rows()[0].focus();
    expect("reach a row", document.activeElement === rows()[0]);
    press(rows()[0], "Enter");
    expect("let a row go by key", !rows()[0].classList.contains("picked") && document.querySelector("svg a.dim") === null);

    const filter = document.getElementById("filter");
    filter.value = "rate_poisson";
    filter.dispatchEvent(new Event("input"));
    expect("filter", rows().filter((r) => !r.hidden).length === 1);

    const key = document.querySelector("svg.chart text[data-s]"), mark = key.closest("svg").querySelector(`[data-s="${key.dataset.s}"]`);
    key.dispatchEvent(new MouseEvent("click", {bubbles: true}));
    expect("hide a series", mark.classList.contains("off") && key.getAttribute("aria-pressed") === "false");
    press(key, "Enter");
    expect("show it by key", !mark.classList.contains("off"));

    const svg = key.closest("svg"), whole = svg.getAttribute("viewBox");
    press(svg.parentElement, "+");
    expect("zoom by key", svg.getAttribute("viewBox") !== whole);
    press(svg.parentElement, "Escape");
    expect("see all again", svg.getAttribute("viewBox") === whole);
    const at = svg.getBoundingClientRect(), to = (type, part) => svg.dispatchEvent(new PointerEvent(type, {bubbles: true, button: 0, clientX: at.left + at.width * part, clientY: at.top + at.height * part}));
    to("pointerdown", 0.3);
    to("pointerup", 0.6);
    expect("zoom by mouse", svg.getAttribute("viewBox") !== whole);
  } catch (e) {
    failed.push(String(e));
  }
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify({wrong: window.wrong, requests: performance.getEntriesByType("resource").map((r) => r.name), failed, done});
  document.body.append(pre);
}
