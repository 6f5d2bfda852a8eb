"use strict";

// Text of the corpus reaches the page through textContent alone: it is never markup.
(function () {
  const SHOWN = 5;
  const data = JSON.parse(document.getElementById("data").textContent);
  const pair = document.getElementById("pair").content.firstElementChild;
  const counts = new Intl.NumberFormat("en");
  const parts = new Intl.NumberFormat("en", {
    style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1,
  });
  const part = (count, total) => parts.format(total ? count / total : 0);

  function element(name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  }

  // The first place at which an ascending value(0), value(1), ... is not below the limit.
  function firstFrom(limit, size, value) {
    let low = 0, high = size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value(middle) < limit) low = middle + 1; else high = middle;
    }
    return low;
  }

  function nearest(values, wanted) {
    const above = Math.min(firstFrom(wanted, values.length, (i) => values[i]), values.length - 1);
    const below = Math.max(above - 1, 0);
    return wanted - values[below] < values[above] - wanted ? below : above;
  }

  function pairElement([line, source, target, label, scores, reasons]) {
    const made = pair.cloneNode(true);
    const [origin, first, second, list] = made.children;
    origin.append(element("span", "line " + counts.format(line)),
      ...scores.map((value, i) => element("span", data.scores[i].name + ": " + value)));
    if (label) {
      const mark = element("span", label);
      mark.className = "label";
      origin.append(mark);
    }
    first.textContent = source;
    second.textContent = target;
    list.append(...reasons.map((reason) => element("li", reason)));
    if (!reasons.length) list.remove();
    return made;
  }

  function moveCut(cut, threshold, dropped) {
    const [left, top, right, bottom] = cut.dataset.box.split(" ").map(Number);
    const low = Number(cut.dataset.low), high = Number(cut.dataset.high);
    const portion = Math.min(1, Math.max(0, (threshold - low) / (high - low)));
    const level = cut.querySelector(".level");
    const x = left + (right - left) * (level ? dropped : portion);
    const veil = cut.querySelector(".veil"), across = cut.querySelector(".across");
    veil.setAttribute("width", x - left);
    across.setAttribute("x1", x);
    across.setAttribute("x2", x);
    if (level) {
      const y = bottom - (bottom - top) * portion;
      level.setAttribute("y1", y);
      level.setAttribute("y2", y);
    }
    cut.removeAttribute("display");
  }

  class Panel {
    constructor(section) {
      this.place = Number(section.dataset.score);
      this.score = data.scores[this.place];
      this.section = section;
      this.slider = section.querySelector("input[type=range]");
      this.field = section.querySelector("input[type=number]");
      this.status = section.querySelector("[role=status]");
      this.cuts = section.querySelectorAll(".cut");
      this.totals = this.score.kept.map((kept) => kept[0]);
      this.slider.max = this.score.thresholds.length - 1;
      this.slider.addEventListener("input", () => this.show(Number(this.slider.value)));
      this.field.addEventListener("change", () => this.ask());
      for (const button of section.querySelectorAll("button[data-part]")) {
        button.addEventListener("click", () => this.keep(Number(button.dataset.part) / 100));
      }
      this.keep(0.5);
      for (const part of section.querySelectorAll(".card[hidden], .around")) part.hidden = false;
      this.talks = true;
    }

    ask() {
      const wanted = this.field.valueAsNumber;
      const place = Number.isFinite(wanted) ?
        nearest(this.score.thresholds, wanted) : Number(this.slider.value);
      this.show(place);
    }

    // The threshold that keeps about this portion of the target.
    keep(portion) {
      const rest = this.score.kept[2].map((kept) => this.totals[2] - kept);
      this.show(nearest(rest, (1 - portion) * this.totals[2]));
    }

    show(place) {
      const threshold = this.score.thresholds[place];
      const kept = this.score.kept.map((all) => all[place]);
      this.slider.value = place;
      this.field.value = threshold;
      this.section.querySelectorAll(".yield dd").forEach((cell, i) => {
        cell.firstElementChild.textContent = counts.format(kept[i]);
        cell.lastElementChild.textContent = part(kept[i], this.totals[i]);
      });
      const text = `${threshold} keeps ${part(kept[0], this.totals[0])} of the rows`;
      this.slider.setAttribute("aria-valuetext", text);
      for (const cut of this.cuts) moveCut(cut, threshold, 1 - kept[0] / this.totals[0]);
      this.showLabels(place);
      this.showPairs(threshold);
      this.tell(`A threshold of ${threshold} keeps ${counts.format(kept[0])} rows, ` +
        `${part(kept[0], this.totals[0])}, and ${part(kept[2], this.totals[2])} ` +
        `of the target ${data.unit}.`);
    }

    showLabels(place) {
      const body = this.section.querySelector(".labels tbody");
      if (!body) return;
      const rows = this.score.labels.map(([label, counted]) => {
        const row = document.createElement("tr");
        const all = counted[0], kept = counted[place];
        const head = element("th", label);
        head.scope = "row";
        row.append(head, element("td", counts.format(all)), element("td", counts.format(kept)),
          element("td", part(kept, all)));
        return row;
      });
      body.replaceChildren(...rows);
    }

    showPairs(threshold) {
      const order = this.score.samples;
      const first = firstFrom(
        threshold, order.length, (i) => data.samples[order[i]][4][this.place]);
      const lists = {
        kept: order.slice(first, first + SHOWN),
        dropped: order.slice(Math.max(0, first - SHOWN), first).reverse(),
      };
      for (const [kind, places] of Object.entries(lists)) {
        const made = places.map((i) => pairElement(data.samples[i]));
        if (!made.length) made.push(element("li", "No pair of the sample."));
        this.section.querySelector("ol." + kind).replaceChildren(...made);
      }
    }

    // Said once the slider rests, so that moving it is not talked over.
    tell(text) {
      clearTimeout(this.timer);
      if (this.talks) this.timer = setTimeout(() => { this.status.textContent = text; }, 400);
    }
  }

  function chooseTenths(box) {
    const fieldset = box.querySelector("fieldset");
    const show = (tenth) => {
      for (const group of box.querySelectorAll("[data-tenth]")) {
        group.classList.toggle("other", group.dataset.tenth !== tenth);
      }
    };
    fieldset.addEventListener("change", (event) => show(event.target.value));
    fieldset.querySelector("input").checked = true;
    show("0");
    fieldset.hidden = false;
  }

  document.querySelectorAll("section[data-score]").forEach((section) => new Panel(section));
  document.querySelectorAll(".tenths").forEach(chooseTenths);
})();
