// The list of columns: found by name, sorted, and with small pictures drawn when they are first seen.

if (typeof document !== "undefined" && document.getElementById("table-list")) {
  const HEIGHTS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const FIRST = 25; // columns shown before all are asked for
  const WIDE = 200, HIGH = 60, GAP = 0.08, SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id), list = at("table-list"), items = [...list.children];
  const names = new Map(items.map((item) => [item, item.querySelector(".name").textContent]));
  const colors = [...document.querySelectorAll("#table-legend .key")].map((key) => key.style.getPropertyValue("--class"));
  if (!colors.length) colors.push("var(--mark)");
  let all = items.length <= FIRST + 5, only = null;

  // --- pictures ------------------------------------------------------------------------------------------------------

  const shape = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // Rows by class and bar, as they were before they were written in few digits.
  const countsOf = (item) => {
    const most = item.dataset.most.split(" ").map(Number), top = HEIGHTS.length - 1;
    return item.dataset.bars.split("|").map((bars, c) => [...bars].map((digit) => (most[c] * HEIGHTS.indexOf(digit)) / top));
  };

  const bar = (x, width, below, height, c) => shape("rect", {
    x: x.toFixed(2), y: (HIGH - below - height).toFixed(2), width: width.toFixed(2), height: height.toFixed(2),
    style: `fill: ${colors[c]}`,
  });

  const stacked = (counts, gap) => {
    const n = counts[0].length, step = WIDE / n, parts = [];
    const highest = Math.max(...counts[0].map((_, b) => counts.reduce((sum, own) => sum + own[b], 0)));
    for (let b = 0; b < n; b++) {
      let below = 0;
      counts.forEach((own, c) => {
        const height = (HIGH * own[b]) / highest;
        if (height > 0) parts.push(bar((b + gap) * step, step * (1 - 2 * gap), below, height, c));
        below += height;
      });
    }
    return parts;
  };

  // Each class by itself: levels side by side, numbers as outlines over each other.
  const shares = (counts, levels) => {
    const totals = counts.map((own) => own.reduce((sum, value) => sum + value, 0)), n = counts[0].length, step = WIDE / n;
    const scaled = counts.map((own, c) => own.map((value) => (totals[c] > 0 ? value / totals[c] : 0)));
    const highest = Math.max(...scaled.flat()), height = (value) => ((HIGH - 1) * value) / highest;
    if (levels) {
      const width = (step * (1 - 2 * GAP)) / counts.length;
      return scaled.flatMap((own, c) => own.map((value, b) => bar((b + GAP) * step + c * width, width, 0, height(value), c)));
    }
    return scaled.flatMap((own, c) => {
      if (!totals[c]) return [];
      const path = own.map((value, b) => `V${(HIGH - height(value)).toFixed(2)}H${((b + 1) * step).toFixed(2)}`).join("");
      const style = `fill: ${colors[c]}; fill-opacity: .2; stroke: ${colors[c]}; stroke-width: 2; vector-effect: non-scaling-stroke`;
      return [shape("path", { d: `M0,${HIGH}${path}V${HIGH}Z`, style })];
    });
  };

  const picture = (item) => {
    const counts = countsOf(item), levels = "levels" in item.dataset, mode = at("table-bars");
    const label = levels ? "Bars of the most common levels by class" : "Histogram by class";
    const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img" });
    svg.setAttribute("aria-label", `${label}: ${names.get(item)}`);
    svg.append(...(mode && mode.value === "shares" ? shares(counts, levels) : stacked(counts, "apart" in item.dataset ? GAP : 0)));
    return svg;
  };

  const put = (holder, item) => {
    const old = holder.querySelector("svg");
    if (old) old.replaceWith(picture(item));
    else holder.prepend(picture(item));
  };

  const draw = (item) => {
    if (!item.dataset.bars) return;
    put(item.querySelector(".drawn"), item);
    const details = item.querySelector("details");
    if (!details || !details.open) return;
    const large = details.querySelector(".large"), ends = item.querySelector(".drawn .ends");
    put(large, item);
    if (ends && !large.querySelector(".ends")) large.append(ends.cloneNode(true));
  };

  // --- which columns, in which order ---------------------------------------------------------------------------------

  const key = { place: (item) => Number(item.dataset.place), missing: (item) => -Number(item.dataset.missing),
    importance: (item) => ("importance" in item.dataset ? -Number(item.dataset.importance) : Infinity) };

  const sort = () => {
    const by = at("table-sort").value, own = key[by];
    const compare = own ? (a, b) => own(a) - own(b) || key.place(a) - key.place(b)
      : (a, b) => names.get(a).localeCompare(names.get(b), "en", { numeric: true }) || key.place(a) - key.place(b);
    items.sort((a, b) => compare(a, b) || 0);
    list.append(...items);
  };

  const show = () => {
    const words = at("table-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item) => words.every((word) => names.get(item).toLowerCase().includes(word))
      && (only === null || item.dataset.alerts.split(" ").includes(only));
    const found = items.filter(fits), shown = new Set(all ? found : found.slice(0, FIRST));
    for (const item of items) {
      item.hidden = !shown.has(item);
      if (!item.hidden) draw(item);
    }
    const narrowed = words.length || only !== null;
    at("table-count").textContent = !found.length ? "No column has such a name."
      : shown.size < found.length ? `${shown.size} of ${found.length} columns are shown`
      : narrowed ? `${found.length} of ${items.length} columns` : "";
    const more = at("table-all");
    more.hidden = !(only !== null || shown.size < found.length);
    more.textContent = only !== null ? "Show all columns again" : `Show all ${found.length} columns`;
  };

  at("table-filter").addEventListener("input", () => { only = null; show(); });
  at("table-sort").addEventListener("change", () => { sort(); show(); });
  if (at("table-bars")) at("table-bars").addEventListener("change", show);
  at("table-all").addEventListener("click", () => {
    if (only === null) all = true;
    only = null;
    show();
    at("table-filter").focus();
  });
  for (const button of document.querySelectorAll("[data-alert]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      only = button.dataset.alert;
      at("table-filter").value = "";
      show();
      at("table-columns").scrollIntoView();
      at("table-filter").focus({ preventScroll: true });
    });
  }
  list.addEventListener("toggle", (event) => {
    const item = event.target.closest("li[data-bars]");
    if (item) draw(item);
  }, true);
  at("table-find").hidden = false;
  show();
}
