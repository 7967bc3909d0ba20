// A form: its fields, its price with the buttons that pay, and its jobs.
//
// The page holds the values. An edit sends what the kernel does not have yet, one
// message at a time. Generate sends every value, and the price on the button.

const ANSWER_MS = 3000;
const LATE_MS = 500; // after this, a price is marked as outdated
const RECIPE_BYTES = 256 * 1024;
const FOCUSABLE = "input:not([type=file]), textarea, select, button";
const CODE_HINT = "This call does the same. Click the code to select all of it.";

// Listens once for each model, and keeps what the kernel sends until it is drawn.
const PARTS = ["values", "names", "found"]; // only their changed entries are sent
function hearForm(model) {
  const onMessage = ({ form }) => {
    const state = model.get("form");
    for (const [name, part] of Object.entries(form ?? {}))
      state[name] = PARTS.includes(name) ? { ...state[name], ...part } : part;
  };
  model.on("msg:custom", onMessage);
  return () => model.off("msg:custom", onMessage);
}

function showError(place, text) {
  if (place.textContent === text) return;
  place.replaceChildren(...(text ? [makeRole("mk-error", "alert", text)] : []));
}

// Code behind a button, with a second button that copies it.
const FORM_KEYS = [
  ["Tab", "next field"],
  ["↑ ↓", "change a number"],
  ["Enter", "new line in a prompt, or press a button"],
  ["Ctrl+Z", "undo typing"],
  ["Ctrl+S", "save the notebook"],
  ["Shift+Enter, Ctrl+Enter", "send nothing"],
];

class Code {
  constructor(title, turn) {
    this.fold = folding(title, (isOpen) => {
      setFold(this.fold, isOpen);
      this.body.hidden = !isOpen;
      turn(isOpen);
    });
    this.body = make("div");
    this.body.hidden = true;
    this.hint = make("div", "mk-quiet mk-small-print");
    this.code = make("pre", "mk-code");
    this.code.tabIndex = 0;
    this.code.setAttribute("role", "region");
    this.code.setAttribute("aria-label", "Code");
    this.copy = button("Copy", "", () => this.take());
    this.body.append(this.hint, this.code, this.copy);
    this.root = makeBox("mk-column", this.fold, this.body);
  }

  show(code, hint) {
    write(this.hint, hint);
    write(this.code, code);
  }

  async take() {
    let words = "Copied";
    try {
      await navigator.clipboard.writeText(this.code.textContent);
    } catch {
      // Without a secure context there is no clipboard, so the code is selected
      // instead.
      getSelection().selectAllChildren(this.code);
      words = "Press Ctrl+C to copy";
    }
    write(this.copy, words);
    setTimeout(() => write(this.copy, "Copy"), 2000);
  }
}

class Form {
  constructor(model, el) {
    Object.assign(this, { model, view: newId(), number: 0, heardNumber: 0, focused: 0 });
    this.members = new Set(); // elements with a place and a line for problems
    this.media = new Set();
    this.uploads = new Map();
    this.fields = new Map();
    this.edits = new Map(); // the number of the last message with an edit of each field
    this.unsent = new Set();
    this.build();
    el.append(this.root);
    this.endJobs = drawJobs(model, this.results);
    this.wall = new FormSlots(model, "mk-below");
    this.root.append(this.past, this.wall.root);
    this.onMessage = (message) => this.onKernelMessage(message);
    model.on("msg:custom", this.onMessage);
    this.showFields();
    this.writeValues(Object.keys(this.state.values));
    this.showState();
    this.showFocus();
    // Another page, or this page before a reload, may have sent these.
    if (this.state.arriving?.length) this.send({ do: "upload", kind: "loaded" });
  }

  get state() {
    return this.model.get("form");
  }

  close() {
    this.model.off("msg:custom", this.onMessage);
    clearTimeout(this.timer);
    clearTimeout(this.lateTimer);
    clearTimeout(this.focusing);
    this.endJobs();
    this.endMark();
    this.wall.close();
    for (const member of this.fields.values()) member.control.close?.();
  }

  // -- built once

  build() {
    const { title, doc, facts } = this.state.head;
    this.root = make("div", "mk-form");
    keepKeys(this.root);
    this.endMark = markGone(this.model, this.root);
    const meta = makeBox("mk-facts mk-quiet mk-small-print mk-meta", ...facts.map((fact) => make("span", "", fact)));
    const top = makeBox("mk-facts", make("h3", "mk-heading", title), meta);
    const head = makeBox("mk-head", top, make("div", "mk-quiet", doc));
    this.controls = make("div", "mk-column mk-controls");
    this.results = make("div", "mk-results");
    const body = makeBox("mk-body", this.controls, this.results);
    this.main = make("div", "mk-flow mk-fields");
    this.more = make("div", "mk-flow mk-fields");
    this.more.hidden = true;
    this.fold = folding("More settings", (isOpen) => {
      setFold(this.fold, isOpen);
      this.more.hidden = !isOpen;
      this.showState();
    });
    this.pastText = make("span");
    this.past = make("div", "mk-row mk-past");
    this.past.append(this.pastText, button("Show its results", "Nothing is sent", () => this.model.send({ do: "sweep", past: true })));
    this.code = new Code("Copy as Python", (open) => this.model.send({ do: "code", open }));
    this.controls.append(this.main, this.fold, this.more, this.buildPay(), this.code.root, makeKeys(FORM_KEYS));
    this.wide = make("div", "mk-wide-slot"); // elements that need the whole width
    this.root.append(head, this.wide, body);
    this.takeDrops();
  }

  // A saved result that is dropped on the form fills in its settings, unless it is
  // dropped on a field that takes it as a file.
  takeDrops() {
    const listen = (name, act) =>
      this.root.addEventListener(name, (event) => {
        if (!holdsFiles(event)) return;
        event.preventDefault();
        event.stopPropagation();
        act(event.dataTransfer.files);
      });
    listen("dragover", () => {});
    listen("drop", ([file]) => this.sendRecipe(file));
  }

  async sendRecipe(file) {
    if (!file) return;
    const ends = [file.slice(0, RECIPE_BYTES), file.slice(Math.max(0, file.size - RECIPE_BYTES))];
    const buffers = await Promise.all(ends.map((end) => end.arrayBuffer()));
    this.model.send({ do: "recipe", name: file.name }, undefined, buffers);
  }

  buildPay() {
    const pay = make("div", "mk-frame mk-column mk-pay");
    const row = (...parts) => makeBox("mk-row", ...parts);
    this.amount = makeRole("mk-row mk-price", "status"); // read aloud, unlike the balance below
    this.go = button("Generate", "Send the request; you pay when it completes", () => this.generate(), "mk-go mk-paid");
    this.go.disabled = true;
    this.ownedText = makeRole("", "status");
    this.owned = row(this.ownedText, button("Show it", "Show your existing result; nothing is sent or charged", () => this.model.send({ do: "show_owned" })));
    this.reason = makeRole("mk-reason mk-quiet", "status");
    this.stop = button("Stop trying", "Send nothing more of this request", () => this.model.send({ do: "stop" }));
    this.bar = makeBox("mk-bar", make("i"));
    this.funds = make("span");
    this.caution = make("div", "mk-warn");
    this.slots = makeRole("mk-notice mk-slots", "status");
    this.lines = make("div");
    this.lines.hidden = true;
    const breakdown = folding("Price breakdown", (isOpen) => {
      setFold(breakdown, isOpen);
      this.lines.hidden = !isOpen;
      this.showLines();
    }, "mk-small mk-opens");
    breakdown.title = "Show how the price is calculated";
    const refresh = button("↻", "Read the balance again", () => this.model.send({ do: "refresh" }), "mk-small mk-quiet-button mk-icon");
    this.sweeping = folding("Sweep…", (open) => {
      setFold(this.sweeping, open);
      this.model.send({ do: "sweep", open });
    }, "mk-small mk-opens");
    this.sweeping.title = "Turn fields into lists, and see what all combinations cost";
    this.error = make("div");
    this.funded = makeBox("mk-quiet mk-small-print mk-funds", this.funds, refresh);
    const balance = makeBox("", this.bar, this.funded, this.caution);
    const buttons = row(breakdown, this.sweeping);
    pay.append(this.amount, this.go, this.slots, this.owned, makeBox("mk-row mk-delay", this.reason, this.stop), balance, buttons, this.lines, this.error);
    return pay;
  }

  // -- fields

  // A field with its label, its control and a line below; its place identifies it.
  field(spec, at) {
    const member = { spec, where: at.where, note: make("div", "mk-note mk-small-print"), used: false, isInner: Boolean(at.isInner) };
    const tell = () => {
      member.used = true;
      member.aside = "";
      at.tell();
    };
    const control = CONTROLS[spec.kind](this, spec, { ...at, tell });
    const root = make("div", `mk-field mk-${spec.kind}`);
    member.control = control;
    member.root = root;
    member.note.id = newId();
    const [help, helpText] = spec.help ? this.helpOf(spec) : [];
    const named = (name) => (help ? makeBox("mk-row mk-named", name, help) : name);
    if (control.isTick) {
      const line = make("label", "mk-row mk-check");
      member.name = make("span", "", spec.label);
      line.title = spec.hint ?? "";
      line.append(control.root, member.name);
      root.append(named(line));
    } else if (control.isNamed) {
      member.name = control.name;
      root.append(named(control.root));
    } else if (control.isGroup) {
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", spec.label ?? "");
      member.name = make("span", "mk-label", spec.label);
      member.name.title = spec.hint ?? "";
      if (control.bar) control.bar.prepend(named(member.name));
      else if (spec.label) root.append(named(member.name));
      root.append(control.root);
    } else {
      const label = labelFor(spec.label, control.input);
      label.title = spec.hint ?? "";
      member.name = label;
      root.append(named(label), control.root);
    }
    if (helpText) root.append(helpText);
    control.input?.setAttribute("aria-describedby", member.note.id);
    member.require = (isRequired) => write(member.name, isRequired ? `${spec.label} *` : (spec.label ?? ""));
    member.require(Boolean(spec.required));
    if (spec.start !== undefined || at.isInner) control.write(spec.start);
    root.append(member.note);
    this.members.add(member);
    return member;
  }

  // The description of a field, behind a button that works by click, key and touch.
  helpOf({ label, help }) {
    const text = make("div", "mk-quiet mk-small-print mk-help-text", help);
    text.id = newId();
    text.hidden = true;
    const mark = folding("?", (isOpen) => {
      setFold(mark, isOpen);
      text.hidden = !isOpen;
    }, "mk-help");
    mark.setAttribute("aria-label", "Help");
    mark.title = `What ${label} does`;
    mark.setAttribute("aria-controls", text.id);
    return [mark, text];
  }

  drop(member) {
    member.control.close?.();
    member.root.remove();
    this.members.delete(member);
  }

  // Fields whose description is unchanged keep their place on the page, and the focus.
  showFields() {
    const { fields } = this.state.schema;
    const before = this.fields;
    this.fields = new Map();
    for (const spec of fields) {
      const { name } = spec;
      const member = before.get(name);
      const stays = member && isSame(member.spec, spec);
      if (stays) before.delete(name);
      this.fields.set(name, stays ? member : this.topField(spec));
    }
    for (const member of before.values()) {
      member.timeline?.close();
      this.drop(member);
    }
    for (const [place, isMain] of [[this.main, true], [this.more, false]]) {
      const wanted = fields.filter(({ main }) => Boolean(main) === isMain).map(({ name }) => this.fields.get(name).root);
      wanted.forEach((root, at) => putAt(place, at, root));
    }
    this.fold.hidden = fields.every(({ main }) => main);
  }

  topField(spec) {
    const { name } = spec;
    const at = { where: () => name, tell: () => this.edited(name) };
    const member = this.field(spec, at);
    if (spec.timeline) this.addTimeline(member, spec);
    const prompt = this.fields.get("prompt");
    if (name === "prompt" || prompt) {
      this.cite = (text) => this.addCitation(text);
      this.renumberCitations = (tag, numbers) => this.renumber(tag, numbers);
    }
    return member;
  }

  addTimeline(member, spec) {
    const { name } = spec;
    const { control } = member;
    const found = (medium, url) => this.state.found?.[`${medium} ${url}`];
    const source = {
      read: () => control.read(),
      write: (rows) => {
        const before = control.read();
        control.write(rows);
        this.edited(name);
        if (this.lost) control.write(before);
        return !this.lost;
      },
      reveal: (place) => control.reveal(place),
      isLost: () => this.lost,
      pictureOf: (medium, url) =>
        found(medium, url)?.picture || (medium === "image" && /^https?:/i.test(url) ? url : ""),
      lengthOf: (medium, url) => found(medium, url)?.length_s,
    };
    member.timeline = new Timeline(source, spec, this.state.timelines[name]);
    this.wide.append(member.timeline.root);
    member.timeline.draw();
  }

  // Inserts a citation at the cursor in the prompt, as if it had been typed there.
  addCitation(citation) {
    const { input } = this.fields.get("prompt").control;
    const [before, after] = [input.value.slice(0, input.selectionStart), input.value.slice(input.selectionEnd)];
    const [front, back] = [before && !/\s$/.test(before) ? " " : "", /^\w/.test(after) ? " " : ""];
    input.setRangeText(front + citation + back, before.length, input.selectionEnd, "end");
    input.focus();
    this.edited("prompt");
  }

  // Renumbers the citations in the prompt, and removes those of removed media.
  renumber(tag, numbers) {
    const member = this.fields.get("prompt");
    const { control } = member;
    const text = control.read();
    const removed = new Set();
    const changed = text.replace(new RegExp(`( ?)${tag}(\\d+)(?!\\d)`, "g"), (found, space, number) => {
      const next = numbers[number - 1];
      if (next === undefined) return found;
      if (!next) removed.add(`${tag}${number}`);
      return next ? `${space}${tag}${next}` : "";
    });
    if (changed === text) return;
    control.write(changed);
    member.aside = removed.size ? `${[...removed].join(", ")} was removed from the prompt, too` : "";
    this.edited("prompt");
  }

  // -- user actions

  edited(name) {
    this.unsent.add(name);
    this.showNotes();
    this.lateTimer ??= setTimeout(() => this.setLate(true), LATE_MS);
    if (this.isWaiting) return;
    this.sendEdits();
  }

  sendEdits() {
    clearTimeout(this.timer);
    this.isWaiting = this.unsent.size > 0;
    if (!this.isWaiting) return;
    this.number += 1;
    for (const name of this.unsent) this.edits.set(name, this.number);
    this.unsent.clear();
    const values = Object.fromEntries([...this.edits.keys()].map((name) => [name, this.valueOf(name)]));
    this.send({ do: "edit", values });
    // Do not wait for a lost message.
    this.timer = setTimeout(() => this.sendEdits(), ANSWER_MS);
  }

  // Whether the displayed price may not be that of the values on the page.
  setLate(isLate) {
    if (!isLate) {
      clearTimeout(this.lateTimer);
      this.lateTimer = undefined;
    }
    if (this.isLate === isLate) return;
    this.isLate = isLate;
    this.showPay();
  }

  send(content) {
    try {
      this.model.send({ ...content, view: this.view, number: this.number });
    } catch {
      this.lost = true; // there is no kernel
      showError(this.error, KERNEL_GONE);
    }
  }

  valueOf(name) {
    return this.fields.get(name)?.control.read() ?? null;
  }

  generate() {
    const { price, go } = this.state;
    const values = Object.fromEntries([...this.fields.keys()].map((name) => [name, this.valueOf(name)]));
    const edited = [...new Set([...this.edits.keys(), ...this.unsent])].filter((name) => name in values);
    this.number += 1;
    for (const name of edited) this.edits.set(name, this.number);
    this.unsent.clear();
    this.go.disabled = true;
    this.send({ do: "generate", values, edited, price: price.ends ?? null, another: go.another });
  }

  // -- messages from the kernel

  onKernelMessage({ form, heard, set: forced = [], upload, brings }) {
    if (upload) this.uploads.get(upload.id)?.(upload);
    const [view, number] = heard ?? [];
    const isMine = view === this.view;
    if (isMine) {
      this.heardNumber = Math.max(this.heardNumber, number);
      for (const [name, last] of this.edits) if (last <= this.heardNumber) this.edits.delete(name);
    }
    if (form) {
      if (form.schema) this.showFields();
      const names = Object.keys(form.values ?? {}).filter((name) => this.fields.has(name));
      // Text that was typed since then stays, and will be sent to the kernel.
      const isOpen = (name) => !this.edits.has(name) && !this.unsent.has(name);
      this.writeValues(names.filter((name) => isOpen(name) && (!isMine || forced.includes(name))));
      if (form.schema) this.writeValues([...this.fields.keys()].filter(isOpen));
      if (form.found || form.names) for (const medium of this.media) medium.showFound();
      this.showState();
      if (form.focus) this.showFocus();
    }
    if (brings) this.wall.bring();
    if (isMine && this.heardNumber >= this.number) this.sendEdits();
    if (!this.edits.size && !this.unsent.size) this.setLate(false);
  }

  writeValues(names) {
    const { values } = this.state;
    for (const name of names) this.fields.get(name)?.control.write(values[name]);
  }

  showState() {
    const { state } = this;
    if (!state.price) return;
    this.root.classList.toggle("mk-returns", Boolean(state.returns));
    for (const [name, member] of this.fields) {
      const isOff = name in state.off;
      // Screen readers can still read the reason.
      for (const part of member.root.children) part.toggleAttribute("inert", isOff && part !== member.note);
      member.root.classList.toggle("mk-off", isOff);
      member.require(state.required.includes(name));
      member.control.follow?.();
      member.control.override?.(state.counts[name] ?? null);
      if (member.timeline && state.timelines[name]) member.timeline.show(state.timelines[name]);
    }
    this.showNotes();
    this.showPay();
    this.showSweep();
    setFold(this.sweeping, Boolean(state.sweep?.open));
    this.code.show(state.code, state.code_hint);
    showError(this.error, state.error);
    this.wall.draw(state.wall.map((id) => [id]));
    write(this.pastText, state.past);
    this.past.hidden = !state.past;
  }

  // Each problem is shown at the nearest enclosing place on the page. A missing value
  // is reported only in places that the user has visited, because a new item is empty,
  // not wrong.
  showNotes() {
    const { state } = this;
    if (!state.problems) return;
    const places = new Map();
    for (const member of this.members) {
      const place = member.where();
      if (place !== null && !places.has(place)) places.set(place, member);
    }
    const notes = new Map();
    const gaps = new Map();
    const add = (map, member, text, tone) => map.set(member, [...(map.get(member) ?? []), { text, tone }]);
    for (const { missing, tone, at } of state.problems) {
      const found = at.find(([place]) => places.has(place));
      if (!found) continue;
      const [place, name, text] = found;
      const member = places.get(place);
      if (member.isFolded && missing) add(gaps, member, name);
      else if (!missing || !(member.isInner ?? true) || member.used) add(notes, member, text, tone);
    }
    for (const [member, names] of gaps)
      add(notes, member, `Not filled in: ${names.map(({ text }) => text).join("; ")}`, "bad");
    for (const member of this.members) this.showNote(member, notes.get(member));
  }

  showNote(member, notes) {
    const reason = member.isInner === false ? this.state.off[member.spec.name] : null;
    let [text, tone] = ["", "quiet"];
    if (reason) text = reason;
    else if (notes) [text, tone] = [notes.map((each) => each.text).join("; "), notes[0].tone];
    else text = member.control?.note?.() ?? "";
    if (member.aside) text = [text, member.aside].filter(Boolean).join("; ");
    member.note.className = `mk-note mk-small-print mk-${tone}`;
    write(member.note, text);
    const { input } = member.control ?? {};
    if (input) set(input, "aria-invalid", notes && tone === "bad" ? "true" : null);
  }

  showPay() {
    const { price, go, owned } = this.state;
    const key = JSON.stringify([price, this.isLate]);
    if (this.priceKey !== key) {
      this.priceKey = key;
      this.amount.className = `mk-row mk-price mk-${this.isLate ? "quiet" : price.tone}`;
      const parts = price.text ? [make("b", "", price.text)] : [make("span", "mk-quiet", price.gap ?? "")];
      const kind = this.isLate ? "waiting for the kernel" : price.kind;
      if (kind) parts.push(make("span", "mk-tag", kind));
      this.amount.replaceChildren(...parts);
      this.bar.className = `mk-bar mk-${price.tone}`;
      this.bar.firstChild.style.width = `${price.share * 100}%`;
      write(this.funds, price.funds);
      this.funds.title = [price.funds, price.held].filter(Boolean).join(". ");
      write(this.caution, price.caution);
      this.showLines();
    }
    write(this.go, go.text);
    this.go.disabled = go.off;
    write(this.reason, go.hint);
    this.stop.hidden = !go.stop;
    write(this.slots, this.state.slots);
    write(this.ownedText, owned);
    this.owned.hidden = !owned;
  }

  showSweep() {
    const { sweep } = this.state;
    if (!sweep?.open) {
      this.sweep?.root.remove();
      return;
    }
    this.sweep ??= new Sweep(this);
    if (!this.sweep.root.parentNode) this.code.root.before(this.sweep.root);
    this.sweep.show(sweep);
  }

  showLines() {
    if (this.lines.hidden) {
      this.lines.replaceChildren();
      return;
    }
    const { lines = [], total, notes = [], no_lines: none } = this.state.price;
    if (!lines.length) {
      this.lines.replaceChildren(make("div", "mk-quiet", none));
      return;
    }
    const table = make("table", "mk-table mk-small-print mk-lines");
    const row = (tag, texts, span) => {
      const line = make("tr");
      texts.forEach((text, at) => {
        const cell = make(tag, at === texts.length - 1 ? "mk-num" : "", text);
        if (span && !at) cell.colSpan = span;
        line.append(cell);
      });
      table.append(line);
    };
    row("th", ["What", "Quantity", "Rate", "Amount"]);
    for (const line of lines) row("td", line);
    row("td", ["Total", total], 3);
    this.lines.replaceChildren(table, ...notes.map((note) => make("div", "mk-quiet", note)));
  }

  // Once the form is on the page, and once for each request.
  showFocus(tries = 40) {
    clearTimeout(this.focusing);
    const { focus } = this.state;
    if (!focus || focus === this.focused) return;
    const first = [...this.controls.querySelectorAll(FOCUSABLE)].find((each) => !each.disabled && each.getClientRects().length);
    if (first) {
      this.focused = focus;
      first.focus({ preventScroll: true });
      bringIntoView(this.controls);
    } else if (tries) this.focusing = setTimeout(() => this.showFocus(tries - 1), 50);
  }
}

function initialize({ model }) {
  const ends = [hearJobs(model), hearForm(model), keepCopies(model)];
  return () => ends.forEach((end) => end());
}

function render({ model, el }) {
  const form = new Form(model, el);
  return () => form.close();
}

export default { initialize, render };
