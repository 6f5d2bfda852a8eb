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

  const several = data.corpora.length > 1;
  const of = (corpus) => several ? " of " + data.corpora[corpus] : "";

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

  // Copies a text, or selects the element that shows it.
  async function copy(text, shown) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(shown);
      if (!document.execCommand("copy")) return "The line is selected: copy it by keyboard.";
    }
    return "Copied.";
  }

  class Panel {
    constructor(section) {
      this.place = Number(section.dataset.score);
      this.score = data.scores[this.place];
      this.main = this.score.corpora[0];
      this.section = section;
      this.slider = section.querySelector("input[type=range]");
      this.field = section.querySelector("input[type=number]");
      this.status = section.querySelector("[role=status]");
      this.cuts = section.querySelectorAll(".cut");
      this.yields = section.querySelectorAll(".yield");
      this.commands = section.querySelectorAll(".command code");
      this.totals = this.score.corpora.map((corpus) => corpus.kept.map((kept) => kept[0]));
      this.slider.max = this.score.thresholds.length - 1;
      this.listen();
      if (this.score.balanced === null) this.keep(0.5); else this.balance();
      for (const part of section.querySelectorAll(".card[hidden], .around")) part.hidden = false;
      this.talks = true;
    }

    listen() {
      this.slider.addEventListener("input", () => this.show(Number(this.slider.value)));
      this.field.addEventListener("change", () => this.ask());
      for (const button of this.section.querySelectorAll("button[data-part]")) {
        button.addEventListener("click", () => this.keep(Number(button.dataset.part) / 100));
      }
      const best = this.section.querySelector("button.balanced");
      if (best) best.addEventListener("click", () => this.balance());
      for (const code of this.commands) {
        code.nextElementSibling.addEventListener("click", async () => {
          this.tell(await copy(code.textContent, code));
        });
      }
    }

    balance() {
      this.show(nearest(this.score.thresholds, this.score.balanced));
    }

    ask() {
      const wanted = this.field.valueAsNumber;
      const place = Number.isFinite(wanted) ?
        nearest(this.score.thresholds, wanted) : Number(this.slider.value);
      this.show(place);
    }

    // The threshold that keeps about this portion of the target, of the first corpus.
    keep(portion) {
      const total = this.totals[0][2];
      const rest = this.main.kept[2].map((kept) => total - kept);
      this.show(nearest(rest, (1 - portion) * total));
    }

    show(place) {
      const threshold = this.score.thresholds[place];
      const kept = this.score.corpora.map((corpus) => corpus.kept.map((all) => all[place]));
      const parts = kept.map((own, i) => own.map((count, k) => part(count, this.totals[i][k])));
      this.slider.value = place;
      this.field.value = threshold;
      this.yields.forEach((list, i) => list.querySelectorAll("dd").forEach((cell, k) => {
        cell.firstElementChild.textContent = counts.format(kept[i][k]);
        cell.lastElementChild.textContent = parts[i][k];
      }));
      this.commands.forEach((code, i) => {
        code.textContent = `${this.score.corpora[i].command} ${threshold}`;
      });
      const shares = parts.map((own, i) => `${own[0]} of the rows${of(i)}`);
      this.slider.setAttribute("aria-valuetext", `${threshold} keeps ${shares.join(" and ")}`);
      for (const cut of this.cuts) {
        const corpus = Number(cut.dataset.corpus);
        moveCut(cut, threshold, 1 - kept[corpus][0] / this.totals[corpus][0]);
      }
      this.showLabels(place);
      this.showPairs(threshold);
      const told = parts.map((own, i) => `${counts.format(kept[i][0])} rows, ${own[0]}, ` +
        `and ${own[2]} of the target ${data.unit}${of(i)}`);
      this.tell(`A threshold of ${threshold} keeps ${told.join("; ")}.`);
    }

    showLabels(place) {
      for (const card of this.section.querySelectorAll(".labels")) {
        const rows = this.score.corpora[card.dataset.corpus].labels.map(([label, counted]) => {
          const row = document.createElement("tr");
          const all = counted[0], kept = counted[place];
          const head = element("th", label);
          head.scope = "row";
          row.append(head, element("td", counts.format(all)), element("td", counts.format(kept)),
            element("td", part(kept, all)));
          return row;
        });
        card.querySelector("tbody").replaceChildren(...rows);
      }
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
