"use strict";
// The page is complete without this script. It adds values on hover, focus and tap, and tables that sort and filter.
// It reads the page alone: no data stands in here, and what it writes into the page is text, never markup.
(() => {
  const REACH = 24; // pixels between a pointer and the point that it means
  const LONG = 8; // rows; longer tables can be filtered

  function make(tag, kind, parent) {
    const element = document.createElement(tag);
    element.className = kind;
    return parent.appendChild(element);
  }

  const main = document.querySelector("main");
  const tip = make("div", "tip", main);
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the live region says the same
  const live = make("div", "unseen", main);
  live.setAttribute("role", "status");

  function announce(words) {
    live.textContent = words;
  }

  // --- charts: one tab stop each, arrow keys from point to point ---------------------------------------------------

  let active = null;

  function hide() {
    tip.hidden = true;
    if (active) active.classList.remove("active");
    active = null;
  }

  function core(point) {
    return point.querySelector("circle, .core, .diamond") || point;
  }

  function show(point, x, y) {
    if (active !== point) {
      hide();
      active = point;
      point.classList.add("active");
      tip.textContent = point.getAttribute("aria-label");
    }
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const below = y - tip.offsetHeight - 14 < 0;
    tip.style.left = scrollX + Math.max(8, Math.min(room, x - tip.offsetWidth / 2)) + "px";
    tip.style.top = scrollY + (below ? y + 18 : y - tip.offsetHeight - 14) + "px";
  }

  function showAt(point) {
    const box = core(point).getBoundingClientRect();
    show(point, box.left + box.width / 2, box.top + Math.min(box.height / 2, 40));
  }

  function nearest(points, x, y) {
    let found = null;
    let least = REACH;
    for (const point of points) {
      if (point.matches(".curve")) continue;
      const box = core(point).getBoundingClientRect();
      const away = Math.hypot(x - box.left - box.width / 2, y - box.top - box.height / 2);
      if (away < least) [found, least] = [point, away];
    }
    return found;
  }

  function makeReadable(chart) {
    const points = [...chart.querySelectorAll(".point")];
    if (!points.length) return;
    // Points that can be reached make a group of it; the words of the chart itself stay as its label and description.
    chart.setAttribute("role", "group");
    chart.querySelector(":scope > title").remove();
    const curves = new Map();
    for (const point of points) {
      const title = point.querySelector("title");
      point.setAttribute("aria-label", title.textContent);
      point.setAttribute("role", "img");
      point.setAttribute("tabindex", "-1");
      title.remove();
      if (point.matches(".curve")) {
        const hit = point.cloneNode(); // a line is too thin to be met
        hit.setAttribute("class", "hit");
        for (const name of ["role", "aria-label", "tabindex"]) hit.removeAttribute(name);
        point.before(hit);
        curves.set(hit, point);
      }
    }
    points[0].setAttribute("tabindex", "0");

    const meant = (event) => {
      const touched = curves.get(event.target) || event.target.closest(".point");
      if (touched && !touched.matches(".curve")) return touched;
      return nearest(points, event.clientX, event.clientY) || touched;
    };
    const move = (point) => {
      for (const other of points) other.setAttribute("tabindex", other === point ? "0" : "-1");
    };
    chart.addEventListener("pointermove", (event) => {
      const point = meant(event);
      if (point) show(point, event.clientX, event.clientY);
      else hide();
    });
    chart.addEventListener("pointerdown", (event) => {
      const point = meant(event);
      if (!point) return;
      move(point);
      show(point, event.clientX, event.clientY);
      announce(point.getAttribute("aria-label"));
    });
    chart.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") hide();
    });
    chart.addEventListener("keydown", (event) => {
      const at = points.indexOf(document.activeElement);
      const last = points.length - 1;
      const next = {
        ArrowRight: Math.min(last, at + 1), ArrowDown: Math.min(last, at + 1),
        ArrowLeft: Math.max(0, at - 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last,
      }[event.key];
      if (at < 0 || next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      move(points[next]);
      points[next].focus();
    });
  }

  // --- tables ------------------------------------------------------------------------------------------------------

  function valueOf(row, column) {
    const cell = row.cells[column];
    if (!cell || cell.colSpan > 1) return null;
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    return text === "" || text === "–" ? null : text;
  }

  function compare(one, other) {
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  }

  // Rows without a value come last either way; equal ones keep their order.
  function ordered(rows, column, sign) {
    const pairs = rows.map((row) => ({ row, value: valueOf(row, column) }));
    pairs.sort((one, other) => {
      if (one.value === null || other.value === null) return (one.value === null) - (other.value === null);
      return sign * compare(one.value, other.value);
    });
    return pairs.map((pair) => pair.row);
  }

  function makeSortable(table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    if (rows.length < 2) return;
    heads.forEach((head, column) => {
      if (head.dataset.unsorted !== undefined) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      const numeric = rows.some((row) => typeof valueOf(row, column) === "number");
      const turns = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
      button.addEventListener("click", () => {
        const turn = turns[turns.indexOf(head.getAttribute("aria-sort")) + 1];
        for (const other of heads) other.removeAttribute("aria-sort");
        if (turn) head.setAttribute("aria-sort", turn);
        body.append(...(turn ? ordered(rows, column, turn === "ascending" ? 1 : -1) : rows));
        announce(turn ? `Sorted by ${button.textContent.trim()}, ${turn}` : "In the order of the report");
      });
    });
  }

  function makeFilterable(table) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length <= LONG) return;
    const holder = document.createElement("p");
    holder.className = "filter";
    const label = make("label", "", holder);
    label.textContent = "Filter rows";
    const input = make("input", "", label);
    input.type = "search";
    input.autocomplete = "off";
    const shown = make("span", "shown", holder);
    shown.setAttribute("role", "status");
    (table.closest(".scroll") || table).before(holder);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      const left = rows.filter((row) => !row.hidden).length;
      shown.textContent = wanted ? `${left} of ${rows.length} rows` : "";
    });
  }

  // A box that has nothing to scroll needs no stop on the way of the tab key.
  function stopWhereScrolling(box) {
    new ResizeObserver(() => {
      if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0");
      else box.removeAttribute("tabindex");
    }).observe(box);
  }

  document.querySelectorAll("svg.chart").forEach(makeReadable);
  document.querySelectorAll("table.sortable").forEach((table) => {
    makeFilterable(table);
    makeSortable(table);
  });
  document.querySelectorAll(".scroll").forEach(stopWhereScrolling);
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("svg.chart")) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  // Not on the charts: a picture that listens for focus becomes a stop of its own in some browsers.
  main.addEventListener("focusin", (event) => {
    if (!event.target.matches("svg.chart .point:focus-visible")) return;
    showAt(event.target);
    announce(event.target.getAttribute("aria-label"));
  });
  main.addEventListener("focusout", hide);

  // On paper everything is open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
})();
