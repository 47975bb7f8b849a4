"use strict";
(() => {
  document.documentElement.classList.add("js");
  const form = document.getElementById("controls");
  const main = document.getElementById("findings");
  if (!form || !main) return;
  const search = document.getElementById("search");
  const rule = document.getElementById("rule");
  const target = document.getElementById("target");
  const sort = document.getElementById("sort");
  const shown = document.getElementById("shown");
  const openAll = document.getElementById("open-all");
  const sections = Array.from(main.querySelectorAll("section.kernel"));
  const findings = Array.from(main.querySelectorAll("details.finding"));

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const severities = new Set(Array.from(form.querySelectorAll("input[name=severity]:checked"), (box) => box.value));
    let count = 0;
    for (const one of findings) {
      const data = one.dataset;
      const fits = severities.has(data.severity) && (!rule.value || data.rule === rule.value)
        && (!target || !target.value || data.target === target.value) && words.every((word) => data.words.includes(word));
      one.hidden = !fits;
      count += fits ? 1 : 0;
    }
    for (const section of sections) section.hidden = !section.querySelector("details.finding:not([hidden])");
    shown.textContent = count + " of " + findings.length + " shown";
  }

  const number = (text) => (text === "" ? -Infinity : Number(text));
  const orders = {
    severity: (a, b) => a.dataset.rank - b.dataset.rank,
    kernel: (a, b) => (a.dataset.kernel || "").localeCompare(b.dataset.kernel || ""),
    file: (a, b) => (a.dataset.file || "").localeCompare(b.dataset.file || "") || (a.dataset.line || 0) - (b.dataset.line || 0),
    bytes: (a, b) => b.dataset.bytes - a.dataset.bytes,
    over: (a, b) => number(b.dataset.over) - number(a.dataset.over) || 0,
  };
  function reorder() {
    const order = orders[sort.value];
    for (const section of sections.slice().sort(order)) {
      main.append(section);
      section.append(...Array.from(section.querySelectorAll("details.finding")).sort(order));
    }
  }

  function step(by) {
    const visible = Array.from(main.querySelectorAll("details.finding:not([hidden]) > summary"));
    const at = visible.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : visible.length - 1) : Math.min(Math.max(at + by, 0), visible.length - 1);
    if (visible[next]) visible[next].focus();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search], select");
    if (event.key === "Escape" && event.target === search) { search.value = ""; filter(); search.blur(); }
    if (typing) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  openAll.addEventListener("click", () => {
    const open = openAll.textContent === "Open all";
    for (const one of main.querySelectorAll("details.finding:not([hidden])")) one.open = open;
    openAll.textContent = open ? "Close all" : "Open all";
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  sort.addEventListener("change", reorder);
  reorder();
  filter();
})();
