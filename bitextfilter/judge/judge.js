"use strict";

// Text of the corpus reaches the page through textContent alone: it is never markup.
(function () {
  const HEADER = ["row", "pair", "label", "scale", "annotator", "note"];
  const data = JSON.parse(document.getElementById("data").textContent);
  const scale = data.scale;
  const places = new Map(data.rows.map((row, place) => [row[1], place]));
  const at = (id) => document.getElementById(id);
  const element = (name, text) => Object.assign(document.createElement(name), { textContent: text });
  const oneLine = (text) => text.replace(/\s+/g, " ").trim();

  let annotator = "";
  let place = 0;
  let labels = new Map();   // place -> { label, note }
  let undone = [];          // [place, the entry before]
  let unsaved = false;

  // The label of each key, and what its button says.
  const RESERVED = "nu";
  const choices = scale.words.length ? wordChoices() : numberChoices();

  function wordChoices() {
    const initials = scale.words.map((word) => word[0].toLowerCase());
    return scale.words.map((label, i) => {
      const keys = i < 9 ? [String(i + 1)] : [];
      const letter = initials[i];
      const alone = initials.filter((other) => other === letter).length === 1;
      if (alone && /^[a-z]$/.test(letter) && !RESERVED.includes(letter)) keys.push(letter);
      return { label, keys };
    });
  }

  function numberChoices() {
    return Array.from({ length: 11 }, (_, i) => {
      const value = scale.low + (scale.high - scale.low) * i / 10;
      return { label: String(Number(value.toPrecision(12))), keys: [i < 10 ? String(i) : "+"] };
    });
  }

  function onScale(label) {
    if (scale.words.length) return scale.words.includes(label);
    const value = Number(label);
    return label.trim() !== "" && value >= scale.low && value <= scale.high;
  }

  function say(text) {
    at("status").textContent = text;
  }

  // Each annotator's labels of a sample, kept in this browser.
  const key = () => `bitext-judge ${data.digest} ${scale.name} ${annotator}`;

  function keep() {
    try {
      const kept = { labels: Array.from(labels), place, unsaved };
      localStorage.setItem(key(), JSON.stringify(kept));
    } catch (error) {
      say("This browser keeps nothing: save the labels often.");
    }
  }

  function recall() {
    const earlier = Object.hasOwn(data.labels, annotator) ? data.labels[annotator] : [];
    for (const [row, label, note] of earlier) labels.set(row, { label, note });
    try {
      const kept = JSON.parse(localStorage.getItem(key()));
      if (!kept) return;
      for (const [row, entry] of kept.labels) {
        if (entry.label === "" || onScale(entry.label)) labels.set(row, entry);
      }
      place = Math.min(Math.max(0, kept.place | 0), data.rows.length - 1);
      unsaved = Boolean(kept.unsaved);
    } catch (error) {
      say("What this browser has kept cannot be read.");
    }
  }

  const labelOf = (row) => (labels.get(row) || { label: "" }).label;
  const noteOf = (row) => (labels.get(row) || { note: "" }).note;

  function nextWithout(start) {
    const count = data.rows.length;
    for (let step = 1; step <= count; step += 1) {
      const row = (start + step) % count;
      if (labelOf(row) === "") return row;
    }
    return start;
  }

  function change(row, entry) {
    undone.push([row, labels.get(row)]);
    labels.set(row, entry);
    unsaved = true;
  }

  function judge(label) {
    change(place, { label, note: noteOf(place) });
    place = nextWithout(place);
    keep();
    show();
    say(labelled() === data.rows.length ? "All pairs have a label: save them." : "");
  }

  function undo() {
    const last = undone.pop();
    if (!last) return;
    const [row, before] = last;
    if (before) labels.set(row, before); else labels.delete(row);
    place = row;
    unsaved = true;
    keep();
    show();
    say("Undone.");
  }

  function go(row) {
    place = Math.min(Math.max(0, row), data.rows.length - 1);
    keep();
    show();
  }

  function labelled() {
    return Array.from(labels.values()).filter((entry) => entry.label !== "").length;
  }

  function text(parts) {
    return parts.map(([part, marked]) => marked ? element("mark", part) : part);
  }

  function show() {
    const [line, , source, target, scores] = data.rows[place];
    at("place").textContent = `Pair ${place + 1} of ${data.rows.length}`;
    at("origin").textContent = [`line ${line}`, ...scores.map((score, i) =>
      `${data.scores[i]}: ${score === null ? "none" : score}`)].join("  ·  ");
    at("source").replaceChildren(...text(source));
    at("target").replaceChildren(...text(target));
    at("note").value = noteOf(place);
    const label = labelOf(place);
    for (const button of at("labels").children) {
      button.setAttribute("aria-pressed", String(button.dataset.label === label));
    }
    at("number").value = label;
    at("progress").value = labelled();
    at("count").textContent = `${labelled()} of ${data.rows.length}`;
    at("previous").disabled = place === 0;
    at("next").disabled = place === data.rows.length - 1;
    at("undo").disabled = undone.length === 0;
  }

  // The labels file: see docs/judge.md.
  function file() {
    const lines = [HEADER.join("\t")];
    data.rows.forEach(([line, pair], row) => {
      if (labelOf(row) === "") return;
      lines.push([line, pair, labelOf(row), scale.name, annotator, oneLine(noteOf(row))].join("\t"));
    });
    return lines.join("\n") + "\n";
  }

  function save() {
    const link = document.createElement("a");
    const blob = new Blob([file()], { type: "text/tab-separated-values" });
    link.href = URL.createObjectURL(blob);
    link.download = `labels-${annotator.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.tsv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    unsaved = false;
    keep();
    say(`Saved ${labelled()} labels as ${link.download}.`);
  }

  function parsed(text) {
    const lines = text.replace(/^\ufeff/, "").split("\n").map((line) => line.replace(/\r$/, ""));
    if (lines[0] !== HEADER.join("\t")) throw new Error("line 1: not the header of a labels file");
    const found = [];
    const others = new Set();
    lines.slice(1).forEach((line, index) => {
      if (line === "") return;
      const fields = line.split("\t");
      const where = `line ${index + 2}: `;
      if (fields.length !== HEADER.length) throw new Error(where + `${fields.length} columns`);
      const [number, pair, label, name, who, note] = fields;
      const row = places.get(pair);
      if (row === undefined) throw new Error(where + `row ${number} is not in this sample`);
      if (name !== scale.name) throw new Error(where + `the scale is ${name}`);
      if (!onScale(label)) throw new Error(where + `the label ${label} is not on the scale`);
      if (who === annotator) found.push([row, { label, note }]); else others.add(who);
    });
    if (!found.length) {
      throw new Error(`no labels by ${annotator}; by ${Array.from(others).join(", ") || "nobody"}`);
    }
    return found;
  }

  async function load(chosen) {
    try {
      const found = parsed(await chosen.text());
      for (const [row, entry] of found) change(row, entry);
      place = nextWithout(data.rows.length - 1);
      keep();
      show();
      say(`Loaded ${found.length} labels.`);
    } catch (error) {
      say(`${chosen.name}: ${error.message}`);
    }
  }

  function makeButtons() {
    for (const { label, keys } of choices) {
      const button = element("button", "");
      button.type = "button";
      button.dataset.label = label;
      if (keys.length) button.append(element("kbd", keys[0]));
      button.append(label);
      button.addEventListener("click", () => judge(label));
      at("labels").append(button);
    }
    const shown = [
      ...choices.filter(({ keys }) => keys.length).map(({ label, keys }) => [keys.join(" "), label]),
      ["← →", "previous, next pair"], ["Home End", "first, last pair"], ["u Ctrl+Z", "undo"],
      ["n", "write a note; Enter ends it"], ["Ctrl+S", "save the labels"], ["?", "these keys"],
    ];
    for (const [name, meaning] of shown) {
      at("keys").append(element("dt", name), element("dd", meaning));
    }
  }

  function press(event) {
    if (document.querySelector("dialog[open]") || event.altKey) return;
    const control = event.ctrlKey || event.metaKey;
    const writing = event.target.matches("input");
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const commands = control
      ? { s: save, ...(writing ? {} : { z: undo }) }
      : writing ? {} : {
        u: undo, n: () => at("note").focus(), "?": () => at("help").showModal(),
        ArrowRight: () => go(place + 1), ArrowLeft: () => go(place - 1),
        Home: () => go(0), End: () => go(data.rows.length - 1),
      };
    const choice = control || writing ? undefined : choices.find(({ keys }) => keys.includes(name));
    const command = commands[name] || (choice && (() => judge(choice.label)));
    if (!command) return;
    event.preventDefault();
    command();
  }

  function begin() {
    annotator = oneLine(at("name").value);
    if (!annotator) {
      at("name").focus();
      return;
    }
    at("start").close();
    recall();
    at("who").textContent = `by ${annotator}`;
    at("tools").hidden = at("content").hidden = false;
    show();
    at("content").focus();
  }

  function listen() {
    const clicks = {
      begin, save, undo, "open-help": () => at("help").showModal(),
      "close-help": () => at("help").close(), load: () => at("file").click(),
      previous: () => go(place - 1), next: () => go(place + 1),
    };
    for (const [id, action] of Object.entries(clicks)) at(id).addEventListener("click", action);
    document.addEventListener("keydown", press);
    at("name").addEventListener("keydown", (event) => {
      if (event.key === "Enter") begin();
    });
    at("start").addEventListener("close", () => {
      if (!annotator) at("start").showModal();
    });
    at("note").addEventListener("change", () => {
      change(place, { label: labelOf(place), note: oneLine(at("note").value) });
      keep();
      show();
    });
    at("note").addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") at("content").focus();
    });
    at("number").addEventListener("keydown", (event) => {
      if (event.key === "Escape") at("content").focus();
      if (event.key !== "Enter") return;
      const label = at("number").value;
      at("content").focus();
      if (onScale(label)) judge(label); else say(`${label} is not from ${scale.low} to ${scale.high}.`);
    });
    at("file").addEventListener("change", async () => {
      for (const chosen of at("file").files) await load(chosen);
      at("file").value = "";
    });
    window.addEventListener("beforeunload", (event) => {
      if (unsaved) event.preventDefault();
    });
  }

  makeButtons();
  at("exact").hidden = scale.words.length > 0;
  Object.assign(at("number"), { min: scale.low, max: scale.high });
  listen();
  at("name").value = data.annotator;
  if (data.annotator) begin(); else at("start").showModal();
})();
