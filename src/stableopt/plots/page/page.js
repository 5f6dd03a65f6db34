"use strict";
// What a reader can do with the page: light or dark, the parameters of the landscape, values under the pointer, sorted tables.
// Texts come in as texts only: nothing here writes HTML.
(() => {
  const page = document.documentElement;
  page.classList.add("scripted");

  // Light and dark: as the system has it, until the reader says otherwise.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const named = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { page.dataset.theme = isDark() ? "light" : "dark"; named(); });
  system.addEventListener("change", named);
  named();

  // The two parameters of the landscape.
  const one = document.getElementById("landscape-one"), other = document.getElementById("landscape-other");
  const pairs = [...document.querySelectorAll(".pair")];
  const wanted = () => [one.value, other.value].sort((a, b) => a - b).join("-");
  function choose(changed, rest) {
    if (one.value === other.value) rest.value = changed.dataset.before; // they change places
    for (const list of [one, other]) list.dataset.before = list.value;
    for (const pair of pairs) pair.hidden = pair.dataset.pair !== wanted();
  }
  if (one) {
    for (const list of [one, other]) list.dataset.before = list.value;
    one.addEventListener("change", () => choose(one, other));
    other.addEventListener("change", () => choose(other, one));
  }

  // Values under the pointer, or one after the other by the arrow keys.
  const tip = document.getElementById("tip");
  const marks = JSON.parse(document.getElementById("marks").textContent);
  const NEAR = 16; // units of a picture

  function show(svg, found) {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal, scale = box.width / view.width;
    let ring = svg.querySelector(".seen");
    if (!ring) {
      ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      ring.setAttribute("class", "seen");
      ring.setAttribute("r", "6");
      svg.append(ring);
    }
    ring.setAttribute("cx", found.at[0]);
    ring.setAttribute("cy", found.at[1]);
    ring.setAttribute("visibility", "visible");
    tip.textContent = found.text;
    tip.hidden = false;
    const x = box.left + found.at[0] * scale + 14, y = box.top + found.at[1] * scale + 14;
    tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y, innerHeight - tip.offsetHeight - 8)) + "px";
  }

  function hide(svg) {
    svg.querySelector(".seen")?.setAttribute("visibility", "hidden");
    tip.hidden = true;
  }

  const line = (name, value) => (name ? `${name}: ${value}` : value);

  function told(axes, series, i) {
    const [x, y] = series.said[i];
    return { at: series.at[i], text: [series.name, line(axes.x, x), line(axes.y, y)].join("\n") };
  }

  function nearest(list, at) {
    let best = 0;
    list.forEach((v, i) => { if (Math.abs(v - at) < Math.abs(list[best] - at)) best = i; });
    return best;
  }

  function under(all, x, y) {
    for (const axes of all) {
      const [left, top, right, bottom] = axes.box;
      if (x < left - 4 || x > right + 4 || y < top - 4 || y > bottom + 4) continue;
      let found = null, least = axes.field ? NEAR / 2 : NEAR;
      for (const series of axes.series) {
        series.at.forEach(([a, b], i) => {
          const far = Math.hypot(a - x, b - y);
          if (far < least) { least = far; found = told(axes, series, i); }
        });
      }
      if (found || !axes.field) return found;
      const field = axes.field, i = nearest(field.x, x), j = nearest(field.y, y), z = field.z[j][i];
      const text = [line(field.name, z === null ? "nothing is known" : z), line(axes.x, field.xs[i]), line(axes.y, field.ys[j])];
      return { at: [field.x[i], field.y[j]], text: text.join("\n") };
    }
    return null;
  }

  for (const [name, all] of Object.entries(marks)) {
    const picture = document.getElementById(name), svg = picture.querySelector("svg");
    const steps = all.flatMap((axes) => axes.series.flatMap((series) => series.at.map((_, i) => told(axes, series, i))));
    let step = -1;
    const point = (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const found = under(all, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
      if (found) show(svg, found); else hide(svg);
    };
    picture.addEventListener("pointermove", point);
    picture.addEventListener("pointerdown", point);
    picture.addEventListener("pointerleave", () => hide(svg));
    picture.addEventListener("blur", () => hide(svg));
    picture.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide(svg);
      if (!by || !steps.length) return;
      event.preventDefault();
      step = (step + by + steps.length) % steps.length;
      show(svg, steps[step]);
    });
  }
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Tables that sort: numbers by size, texts by letters, nothing at all last.
  for (const table of document.querySelectorAll("table.sorts")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, column) => {
      const press = document.createElement("span"); // a real button is not printed where a head is repeated
      press.setAttribute("role", "button");
      press.tabIndex = 0;
      press.textContent = head.textContent || "rank";
      head.replaceChildren(press);
      head.setAttribute("aria-sort", "none");
      press.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        press.click();
      });
      press.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const each of heads) each.setAttribute("aria-sort", each === head ? (down ? "descending" : "ascending") : "none");
        const order = (a, b) => {
          const [p, q] = [a, b].map((row) => row.cells[column]);
          const [u, v] = [p, q].map((cell) => (cell.dataset.value === undefined ? NaN : Number(cell.dataset.value)));
          if (!p.textContent || !q.textContent) return (p.textContent ? 0 : 1) - (q.textContent ? 0 : 1);
          const up = Number.isNaN(u) || Number.isNaN(v) ? p.textContent.localeCompare(q.textContent) : u - v;
          return down ? -up : up;
        };
        body.append(...[...body.rows].sort(order));
      });
    });
  }
})();
