"use strict";
// What the page does beyond being read: values under the pointer, series that
// hide, a zoom, a table that sorts, filters and copies itself, a chart that becomes a PNG.
(() => {
  const $ = (q, from = document) => [...from.querySelectorAll(q)];
  const tip = document.getElementById("tip");
  for (const el of $(".tools, .hint, .scripted")) el.hidden = false; // what needs this script

  // Values under the pointer. The titles stay for those without a script.
  document.addEventListener("pointermove", (e) => {
    const mark = e.target.closest && e.target.closest("svg path, svg rect");
    const title = mark && mark.querySelector("title");
    tip.hidden = !title;
    if (!title) return;
    tip.textContent = title.textContent;
    tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  });

  // Series hide and show by their names in the legend.
  for (const svg of $("svg.chart")) {
    const keys = $("text[data-s]", svg);
    if (keys.length) svg.setAttribute("role", "group"); // what is one picture has no buttons in it
    for (const key of keys) {
      key.setAttribute("tabindex", "0");
      key.setAttribute("role", "button");
      key.setAttribute("aria-pressed", "true");
      const toggle = () => {
        const off = key.getAttribute("aria-pressed") === "true";
        key.setAttribute("aria-pressed", String(!off));
        const names = keys.filter((k) => k.textContent === key.textContent).map((k) => k.dataset.s);
        for (const el of $("[data-s]", svg)) if (names.includes(el.dataset.s)) el.classList.toggle("off", off);
      };
      key.addEventListener("click", toggle);
      key.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); } });
    }
    zoom(svg);
  }

  // Zoom: drag over a part of a chart, or + and - about its middle; a double
  // click or Escape shows all again.
  function zoom(svg) {
    const whole = svg.getAttribute("viewBox");
    let from = null;
    const at = (e) => {
      const r = svg.getBoundingClientRect(), v = svg.viewBox.baseVal;
      return [v.x + (e.clientX - r.left) / r.width * v.width, v.y + (e.clientY - r.top) / r.height * v.height];
    };
    svg.addEventListener("pointerdown", (e) => { if (e.button === 0 && !e.target.closest("a, [role=button]")) from = at(e); });
    svg.addEventListener("pointerup", (e) => {
      if (!from) return;
      const to = at(e), w = Math.abs(to[0] - from[0]), h = Math.abs(to[1] - from[1]);
      if (w > 20 && h > 20) svg.setAttribute("viewBox", [Math.min(from[0], to[0]), Math.min(from[1], to[1]), w, h].join(" "));
      from = null;
    });
    const all = () => svg.setAttribute("viewBox", whole);
    svg.addEventListener("dblclick", all);
    const scale = (by) => {
      const v = svg.viewBox.baseVal, w = v.width * by, h = v.height * by;
      if (w > whole.split(/[ ,]+/)[2] * 0.999) all();
      else if (w > 20) svg.setAttribute("viewBox", [v.x + (v.width - w) / 2, v.y + (v.height - h) / 2, w, h].join(" "));
    };
    const frame = svg.closest(".scroll");
    frame.addEventListener("keydown", (e) => {
      if (e.target !== frame) return;
      if (e.key === "Escape") all();
      if (e.key === "+") scale(1 / 1.5);
      if (e.key === "-") scale(1.5);
    });
  }

  const table = document.getElementById("table"), body = table.tBodies[0];
  const value = (tr, i) => { const td = tr.cells[i]; return td.dataset.v !== undefined ? Number(td.dataset.v) : td.textContent.trim(); };

  // Sorting; a second press turns the order round.
  $("thead button", table).forEach((button, i) => button.addEventListener("click", () => {
    const th = button.parentElement, up = th.getAttribute("aria-sort") !== "ascending";
    for (const other of $("th", table)) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].sort((a, b) => {
      const x = value(a, i), y = value(b, i);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true});
      return up ? order : -order;
    });
    body.append(...rows);
  }));

  // Where rows are cards there are no headings to press: a list sorts them.
  const heads = $("thead button", table), sorts = document.getElementById("sorts");
  heads.forEach((button, i) => ["", ", reversed"].forEach((how, down) => sorts.add(new Option(button.textContent + how, 2 * i + down))));
  sorts.value = "";
  sorts.addEventListener("change", () => {
    const button = heads[sorts.value >> 1], want = sorts.value % 2 ? "descending" : "ascending";
    do button.click(); while (button.parentElement.getAttribute("aria-sort") !== want);
  });

  document.getElementById("filter").addEventListener("input", (e) => {
    const words = e.target.value.toLowerCase().split(/\s+/);
    for (const tr of body.rows) tr.hidden = !words.every((w) => tr.textContent.toLowerCase().includes(w));
  });

  // Cells that are picked stand out in every chart; the others fade.
  const pick = (tr) => {
    tr.setAttribute("aria-current", String(tr.classList.toggle("picked")));
    const picked = new Set($("tr.picked", body).map((r) => "#cell-" + r.dataset.cell));
    for (const a of $("svg.chart a")) a.classList.toggle("dim", picked.size > 0 && !picked.has(a.getAttribute("href")));
  };
  for (const tr of body.rows) tr.tabIndex = 0;
  body.addEventListener("click", (e) => { const tr = e.target.closest("tr"); if (tr && !e.target.closest("a")) pick(tr); });
  body.addEventListener("keydown", (e) => { if (e.target.tagName === "TR" && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); pick(e.target); } });

  document.getElementById("copy").addEventListener("click", async () => {
    const text = (tr) => "| " + [...tr.cells].map((c) => c.textContent.trim().replaceAll("|", "\\|")).join(" | ") + " |";
    const head = table.tHead.rows[0];
    const lines = [text(head), "|" + [...head.cells].map((c) => c.classList.contains("num") ? "---:" : "---").join("|") + "|"];
    for (const tr of body.rows) if (!tr.hidden) lines.push(text(tr));
    const said = document.getElementById("said");
    try { await navigator.clipboard.writeText(lines.join("\n")); said.textContent = "copied"; } catch { said.textContent = "the browser does not allow it"; }
  });

  // The chart of the answer as a PNG, twice as large as the SVG that it is made of.
  const slide = document.getElementById("slide");
  if (slide) document.getElementById("png").addEventListener("click", async () => {
    const image = new Image();
    image.src = slide.href;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const link = document.createElement("a");
    link.download = slide.download.replace(/svg$/, "png");
    link.href = canvas.toDataURL();
    link.click();
  });

  // Findings that are folded are printed, too.
  let folded = [];
  addEventListener("beforeprint", () => { folded = $(".folded:not([open])"); for (const el of folded) el.open = true; });
  addEventListener("afterprint", () => { for (const el of folded) el.open = false; });

  // A link to a cell opens it.
  const open = () => { const el = location.hash && document.getElementById(location.hash.slice(1)); if (el && el.tagName === "DETAILS") el.open = true; };
  addEventListener("hashchange", open);
  open();
})();
