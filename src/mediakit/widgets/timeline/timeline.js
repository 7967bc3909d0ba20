// The timeline of a form: rows of blocks to scale, which users move and stretch.
//
// It shares its value with the field's list, and edits it as a user would edit the list.
// The kernel then sends rows, names and problems ("shown"); times are drawn from the value.
// All text is set as text, never as markup.

const STEP_MS = 100;
const FAR_MS = 1000;
const EMPTY_MS = 10_000;
const SNAP_PX = 7;
const MOVED_PX = 3;
const EDGE_PX = 24;
const TICK_PX = 68;
const ZOOM = 1.5;
const TICKS_MS = [
  100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000,
];
const TIMELINE_KEYS = [
  ["← →", "move a block by 0.1 s"],
  ["Shift+← →", "by 1 s"],
  ["Alt+← →", "change its length"],
  ["↑ ↓", "select another block"],
  ["Enter", "go to its fields"],
  ["Delete", "remove it"],
  ["+ −", "zoom"],
  ["Ctrl+Z", "undo"],
];

const seconds = (ms) => String(Math.round(ms) / 1000);
const grouped = (ms) => (ms / 1000).toLocaleString("en");
const same = (one, other) => String(one) === String(other);
const clock = (ms) => {
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}:${String(Math.round((ms % 60_000) / 1000)).padStart(2, "0")}`;
};
const tickStep = (perMs) =>
  TICKS_MS.find((step) => step * perMs >= TICK_PX) ?? TICKS_MS.at(-1);

class Timeline {
  // `source` has read(), write(rows), reveal(place), isLost(), pictureOf(medium, url) and
  // lengthOf(medium, url).
  constructor(source, spec, shown) {
    this.source = source;
    this.name = spec.name;
    this.spans = new Spans(spec);
    this.picked = null; // the chosen block
    this.fresh = []; // new blocks, which take the length of their clips
    this.changes = []; // the value before and after each change, the newest last
    this.drag = null;
    this.perMs = null; // null shows everything
    this.wantsFocus = false;
    this.rows = [];
    this.build();
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.scroll);
    this.shown = shown;
    this.look();
  }

  close() {
    this.sizes.disconnect();
    this.root.remove();
  }

  // Building.

  build() {
    this.summary = make("span", "mk-quiet");
    this.zooms = ["−", "Fit", "+"].map((text, at) => {
      const words = ["Zoom out", "Fit all into view", "Zoom in"][at];
      return this.button(text, words, () => this.zoom(at - 1));
    });
    const bar = makeBox("mk-row mk-tl-bar", this.summary, makeBox("mk-row", ...this.zooms));
    this.adds = make("div", "mk-row mk-tl-adds");
    this.statusLine = makeRole("mk-tl-says", "status");
    this.spoken = make("div", "mk-spoken");
    this.spoken.setAttribute("aria-live", "polite");
    const parts = [bar, this.buildScroll(), this.adds, this.statusLine, makeKeys(TIMELINE_KEYS, { text: "Timeline keys" }), this.spoken];
    this.root = makeRole("mk-timeline", "group", ...parts);
    this.root.tabIndex = -1;
    this.listen();
  }

  buildScroll() {
    this.ticks = make("div", "mk-tl-lane");
    this.ruler = makeBox("mk-tl-row mk-tl-ruler", make("div", "mk-tl-head"), this.ticks);
    this.gaps = make("div", "mk-tl-marks mk-tl-gaps");
    this.end = make("div", "mk-tl-end");
    this.beyond = make("div", "mk-tl-beyond");
    this.guide = make("div", "mk-tl-guide");
    this.marks = makeBox("mk-tl-marks", this.end, this.beyond, this.guide);
    this.body = makeBox("mk-tl-body", this.gaps, this.ruler, this.marks);
    this.scroll = makeBox("mk-frame mk-tl-scroll", this.body);
    return this.scroll;
  }

  button(text, words, press) {
    const button = makeButton(text, words, press, "mk-small");
    button.setAttribute("aria-label", words);
    return button;
  }

  listen() {
    const listen = (name, act) => this.root.addEventListener(name, (event) => act(event));
    listen("pointerdown", (event) => this.grab(event));
    listen("pointermove", (event) => this.pull(event));
    listen("pointerup", () => this.drop());
    listen("pointercancel", () => this.drop());
    listen("dblclick", (event) => this.doubled(event));
    listen("keydown", (event) => this.key(event));
  }

  // State from the kernel.

  show(shown) {
    this.shown = shown;
    this.look();
    if (this.isCurrent) this.fit();
    else this.drag = null;
    this.draw();
  }

  // Stores the value, and whether the kernel has described its current blocks.
  look() {
    this.value = this.source.read();
    const shape = this.shown.rows.map((row) => `${row.kind}:${row.blocks.length + row.bare.length}`);
    this.isCurrent = shape.join(" ") === this.spans.shape(this.value);
  }

  // A new block gets the length of its clip, once known, unless the user has set one.
  fit() {
    for (const place of this.fresh) {
      const row = this.value[place[0]];
      const span = this.spans.of(row)[place[1]];
      const [medium, times] = [row && this.spans.mediumOf(row), this.spans.times(span)];
      const known_s = this.source.lengthOf(medium?.medium, span?.of[medium?.name]);
      if (!times || !known_s) continue;
      this.fresh = this.fresh.filter((each) => each !== place);
      if (times.length_ms !== NEW_BLOCK_MS) continue;
      const gaps_ms = this.spans.all(row).map(({ start_ms }) => start_ms - times.start_ms);
      const room_ms = Math.min(1000 * known_s, ...gaps_ms.filter((gap_ms) => gap_ms > 0));
      const length_ms = Math.max(LEAST_MS, Math.floor(room_ms));
      const before = this.value;
      this.source.write(this.spans.put(before, place, { ...times, length_ms }));
      this.look();
      this.note(before, this.changes.at(-1));
    }
  }

  // Changes the value, unless its blocks differ from the displayed ones.
  edit(change, place) {
    this.look();
    const before = this.value;
    const isSeen = this.isCurrent && !this.isGone;
    const done = isSeen && this.source.write(change(before));
    this.trouble = this.isGone ? KERNEL_GONE : "";
    this.look();
    if (done) {
      const noted = this.note(before, this.drag?.noted);
      if (this.drag) this.drag.noted = noted;
      this.choose(place, !this.isCurrent);
    } else this.drag = null;
    this.draw();
    return done;
  }

  // Records a change, or the continuation of the last one.
  note(before, noted) {
    const goesOn = noted?.after === JSON.stringify(before);
    const change = goesOn ? noted : { before };
    if (!goesOn) this.changes.push(change);
    change.after = JSON.stringify(this.value);
    return change;
  }

  // Undoes the last change, unless the value was changed elsewhere since.
  undo() {
    const last = this.changes.pop();
    this.look();
    if (last?.after !== JSON.stringify(this.value)) {
      this.changes = [];
      return;
    }
    const earlier = [...this.changes];
    const [row, at] = this.picked ?? [];
    const place = this.spans.of(last.before[row])[at] ? this.picked : null;
    this.fresh = [];
    this.wantsFocus = true;
    this.edit(() => last.before, place);
    this.changes = earlier;
    write(this.spoken, "The last change was undone.");
  }

  get isGone() {
    return Boolean(this.source.isLost() || this.root.closest(".mk-gone"));
  }

  // Blocks by their places.

  get chosen() {
    const [row, at] = this.picked ?? [];
    return this.spans.of(this.value[row])[at] ? this.picked : null;
  }

  times(row, block) {
    const span = this.spans.of(this.value[row])[block.at];
    return (this.isCurrent && this.spans.times(span)) || block;
  }

  all() {
    return this.shown.rows.flatMap((row, at) =>
      row.blocks.map((block) => ({ place: [at, block.at], ...this.times(at, block) })),
    );
  }

  timesAt(place) {
    return this.all().find((block) => same(block.place, place));
  }

  element(place) {
    return place && this.rows[place[0]]?.blocks.get(place[1])?.root;
  }

  // User actions.

  choose(place, isNew = false) {
    const isSame = same(place, this.picked);
    this.picked = place;
    if (place && (isNew || !isSame)) this.reveal(place);
    if (!isSame) this.draw();
  }

  // The fields of a block are in the form's list, which unfolds them.
  reveal([row, at]) {
    this.source.reveal(`${this.name}[${row}].${this.spans.inner}[${at}]`);
  }

  put(place, start_ms, length_ms) {
    this.fresh = [];
    this.edit((rows) => this.spans.put(rows, place, { start_ms, length_ms }), place);
  }

  remove(place) {
    const [row, at] = place;
    const left = this.spans.of(this.value[row]).length - 1;
    this.wantsFocus = true;
    this.fresh = [];
    this.edit((rows) => this.spans.remove(rows, place), left ? [row, Math.min(at, left - 1)] : null);
  }

  add(row, start_ms) {
    this.look();
    const place = this.spans.newPlace(this.value, row);
    if (!place) return;
    const times = this.spans.room(this.value[row], start_ms);
    this.wantsFocus = true;
    if (this.edit((rows) => this.spans.put(rows, place, times), place)) this.fresh.push(place);
  }

  addItem(kind) {
    this.look();
    const rows = this.spans.addItem(this.value, kind);
    this.fresh = [];
    this.edit(() => rows, [rows.length - 1, 0]);
  }

  openFields(place) {
    this.choose(place, true);
    this.root.closest(".mk-form")?.querySelector(".mk-chosen .mk-chosen input")?.focus();
  }

  zoom(by) {
    const fit = this.fitScale;
    const before = this.perMs ?? fit;
    const after = by && before * (by > 0 ? ZOOM : 1 / ZOOM);
    // The chosen block, or the middle, stays in place.
    const block = this.chosen && this.timesAt(this.chosen);
    const middle = this.scroll.scrollLeft + this.room / 2;
    const at = block ? block.start_ms : middle / before;
    const offset = at * before - this.scroll.scrollLeft;
    this.perMs = !by || after <= fit ? null : Math.min(after, 1);
    this.draw();
    this.scroll.scrollLeft = at * (this.perMs ?? fit) - offset;
  }

  // The pointer.

  grab(event) {
    const root = event.target.closest(".mk-tl-block");
    if (!root || event.button !== 0) return;
    const place = [Number(root.dataset.row), Number(root.dataset.at)];
    event.preventDefault();
    root.focus({ preventScroll: true });
    this.choose(place);
    root.setPointerCapture(event.pointerId);
    const { start_ms, length_ms } = this.timesAt(place);
    const mode = event.target.dataset.edge ?? "move";
    const from_ms = this.timeOf(event);
    this.drag = { place, mode, from_ms, start_ms, length_ms, x: event.clientX };
  }

  timeOf(event) {
    return (event.clientX - this.ticks.getBoundingClientRect().left) / this.scale;
  }

  pull(event) {
    const drag = this.drag;
    if (!drag) return;
    if (!drag.moved && Math.abs(event.clientX - drag.x) < MOVED_PX) return;
    drag.moved = true;
    this.roll(event);
    const by_ms = this.timeOf(event) - drag.from_ms;
    const free = event.altKey;
    const next = this.dragged(drag, by_ms, free);
    this.put(drag.place, next.start_ms, next.length_ms);
  }

  // Dragging to the edge of the view scrolls it.
  roll(event) {
    const { left, right } = this.scroll.getBoundingClientRect();
    if (event.clientX > right - EDGE_PX) this.scroll.scrollLeft += EDGE_PX;
    if (event.clientX < left + this.headPx + EDGE_PX) this.scroll.scrollLeft -= EDGE_PX;
  }

  dragged({ place, mode, start_ms, length_ms }, by_ms, free) {
    const end_ms = start_ms + length_ms;
    const snap = (ms, other) => (free ? Math.round(ms) : this.snap(place, ms, other));
    if (mode === "end") {
      const end = Math.max(start_ms + LEAST_MS, snap(end_ms + by_ms));
      return { start_ms, length_ms: end - start_ms };
    }
    if (mode === "start") {
      const latest = end_ms - LEAST_MS;
      const start = Math.min(latest, Math.max(0, snap(start_ms + by_ms)));
      return { start_ms: start, length_ms: end_ms - start };
    }
    const start = Math.max(0, snap(start_ms + by_ms, length_ms));
    return { start_ms: start, length_ms };
  }

  // Snaps to an edge of another block (either end, if it has a length), or to tenths.
  snap(place, ms, length_ms = 0) {
    const others = this.all().filter((block) => !same(block.place, place));
    const edges = others.flatMap((b) => [b.start_ms, b.start_ms + b.length_ms]);
    const goals = [0, ...edges].flatMap((edge) =>
      length_ms ? [{ edge, ms: edge }, { edge, ms: edge - length_ms }] : [{ edge, ms: edge }],
    );
    const far = (goal) => Math.abs(goal.ms - ms);
    const best = goals.reduce((one, other) => (far(other) < far(one) ? other : one));
    const near = far(best) * this.scale <= SNAP_PX;
    this.guideMs = near ? best.edge : null;
    return near ? best.ms : Math.round(ms / STEP_MS) * STEP_MS;
  }

  drop() {
    const { drag } = this;
    this.drag = this.guideMs = null;
    if (drag) this.draw();
  }

  // Moves the block back to where the drag began.
  letGo() {
    const { moved } = this.drag;
    this.drag = this.guideMs = null;
    if (moved) this.undo();
  }

  doubled(event) {
    const block = event.target.closest(".mk-tl-block");
    if (block) {
      this.openFields([Number(block.dataset.row), Number(block.dataset.at)]);
      return;
    }
    const lane = event.target.closest(".mk-tl-lane");
    const row = this.rows.findIndex((each) => each.lane === lane);
    if (row < 0) return;
    const ms = Math.max(0, this.timeOf(event));
    this.add(row, Math.floor(ms / STEP_MS) * STEP_MS);
  }

  // The keyboard.

  key(event) {
    if (event.key === "Escape" && this.drag) this.letGo();
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      event.stopPropagation();
      this.undo();
      return;
    }
    const block = event.target.closest(".mk-tl-block");
    if (!block || event.ctrlKey || event.metaKey) return;
    const place = [Number(block.dataset.row), Number(block.dataset.at)];
    const act = this.acts(event, place)[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  acts(event, place) {
    const step = event.shiftKey ? FAR_MS : STEP_MS;
    const remove = () => this.remove(place);
    return {
      ArrowLeft: () => this.nudge(place, -step, event.altKey),
      ArrowRight: () => this.nudge(place, step, event.altKey),
      ArrowUp: () => this.go(place, -1),
      ArrowDown: () => this.go(place, 1),
      Home: () => this.go(place, -Infinity),
      End: () => this.go(place, Infinity),
      Enter: () => this.openFields(place),
      " ": () => this.choose(place),
      Delete: remove,
      Backspace: remove,
      "+": () => this.zoom(1),
      "-": () => this.zoom(-1),
    };
  }

  nudge(place, by_ms, stretch) {
    this.choose(place);
    const { start_ms, length_ms } = this.timesAt(place);
    const start = stretch ? start_ms : Math.max(0, Math.round(start_ms + by_ms));
    const length = stretch ? Math.max(LEAST_MS, length_ms + by_ms) : length_ms;
    this.put(place, start, length);
    this.bringIntoView(place);
    const text = `starts at ${seconds(start)} s, ${seconds(length)} s long`;
    write(this.spoken, text);
  }

  go(place, by) {
    const blocks = this.all().sort(
      (one, other) => one.place[0] - other.place[0] || one.start_ms - other.start_ms,
    );
    const now = blocks.findIndex((block) => same(block.place, place));
    const next = Math.min(blocks.length - 1, Math.max(0, now + by));
    const to = blocks[next].place;
    this.choose(to);
    this.element(to)?.focus({ preventScroll: true });
    this.bringIntoView(to);
  }

  bringIntoView(place) {
    const block = this.timesAt(place);
    const row = this.rows[place[0]]?.root;
    if (!block || !row) return;
    const from = block.start_ms * this.scale;
    const to = from + block.length_ms * this.scale;
    const { scrollLeft, scrollTop } = this.scroll;
    if (to > scrollLeft + this.room) this.scroll.scrollLeft = to - this.room + EDGE_PX;
    if (from < this.scroll.scrollLeft) this.scroll.scrollLeft = from - EDGE_PX;
    const top = row.offsetTop - this.ruler.offsetHeight;
    if (top < scrollTop) this.scroll.scrollTop = top;
    const bottom = row.offsetTop + row.offsetHeight - this.scroll.clientHeight;
    if (bottom > scrollTop) this.scroll.scrollTop = bottom;
  }

  // Drawing.

  get headPx() {
    return this.ruler.firstChild.offsetWidth;
  }

  get room() {
    return Math.max(80, this.scroll.clientWidth - this.headPx);
  }

  get endMs() {
    return Math.max(0, ...this.all().map((b) => b.start_ms + b.length_ms));
  }

  // With some room after the last block.
  get span() {
    return this.endMs ? this.endMs * 1.05 : EMPTY_MS;
  }

  get fitScale() {
    return this.room / this.span;
  }

  draw() {
    if (!this.shown?.rows) return;
    const hadFocus = this.root.contains(document.activeElement);
    // The scale is fixed while a block is dragged, or the block would leave the pointer.
    if (!this.drag) this.scale = this.perMs ?? this.fitScale;
    const far = Math.max(this.span, this.drag ? this.room / this.scale : 0);
    this.lanePx = Math.max(this.room, Math.floor(far * this.scale));
    this.root.setAttribute("aria-label", `Timeline. ${keysText(TIMELINE_KEYS)}`);
    this.drawSummary();
    this.drawRuler();
    this.drawRows();
    this.drawMarks();
    this.drawAdds();
    this.drawWords();
    this.keepFocus(hadFocus);
  }

  keepFocus(hadFocus) {
    const lost = hadFocus && !this.root.contains(document.activeElement);
    const block = this.element(this.chosen);
    const [row, at] = this.chosen ?? [];
    const isDrawn = this.isCurrent && (block || !this.spans.times(this.spans.of(this.value[row])[at]));
    if (!lost && !(this.wantsFocus && isDrawn)) return;
    // A pressed button keeps the focus, so that it can be pressed again.
    const busy = document.activeElement?.classList.contains("mk-button");
    if (lost || !busy) (block ?? this.root).focus({ preventScroll: true });
    if (!isDrawn) return;
    if (this.wantsFocus && block) this.bringIntoView(this.chosen);
    this.wantsFocus = false;
  }

  drawSummary() {
    const { rows, item_name, span_name, limit_ms } = this.shown;
    const blocks = this.all().length;
    const facts = [many(rows.length, item_name), many(blocks, span_name)];
    if (blocks) {
      const limit = limit_ms === null ? "" : ` of at most ${grouped(limit_ms)} s`;
      facts.push(`ends at ${seconds(this.endMs)} s${limit}`);
    }
    write(this.summary, facts.join(" · "));
    this.zooms[0].disabled = this.zooms[1].disabled = this.perMs === null;
  }

  drawRuler() {
    const step = tickStep(this.scale);
    const texts = [];
    for (let ms = 0; ms * this.scale < this.lanePx - 12; ms += step) texts.push(ms);
    const long = texts.at(-1) >= 60_000 && step >= 1000;
    this.body.style.setProperty("--mk-lane", `${this.lanePx}px`);
    this.body.style.setProperty("--mk-tick", `${step * this.scale}px`);
    while (this.ticks.children.length > texts.length) this.ticks.lastChild.remove();
    texts.forEach((ms, at) => {
      const tick = this.ticks.children[at] ?? make("span", "mk-tl-tick");
      if (!tick.parentNode) this.ticks.append(tick);
      write(tick, long ? clock(ms) : `${seconds(ms)} s`);
      tick.style.left = `${ms * this.scale}px`;
    });
  }

  drawRows() {
    const { rows } = this.shown;
    while (this.rows.length > rows.length) this.rows.pop().root.remove();
    while (this.rows.length < rows.length) this.rows.push(this.makeRow());
    rows.forEach((row, at) => this.drawRow(this.rows[at], row, at));
  }

  makeRow() {
    const root = make("div", "mk-tl-row");
    const name = make("div", "mk-tl-name mk-cut");
    const kind = make("span");
    const bare = makeButton("", "", null, "mk-link");
    const lane = make("div", "mk-tl-lane");
    const head = makeBox("mk-tl-head", name, makeBox("mk-tl-facts mk-quiet mk-cut", kind, " ", bare));
    root.append(head, lane);
    this.body.insertBefore(root, this.marks);
    return { root, name, kind, bare, lane, blocks: new Map(), overlaps: [] };
  }

  drawRow(view, row, at) {
    const { item_name, span_name } = this.shown;
    view.root.setAttribute("role", "group");
    view.root.setAttribute("aria-label", `${titleCase(item_name)} ${at + 1}, ${row.name}`);
    view.root.dataset.medium = row.medium;
    write(view.name, row.name);
    view.name.title = row.name;
    write(view.kind, row.kind);
    view.bare.hidden = !row.bare.length;
    write(view.bare, `Add ${span_name}`);
    const words = `${many(row.bare.length, span_name)} without a time: place it here`;
    view.bare.setAttribute("aria-label", `${view.bare.textContent}: ${words}`);
    view.bare.title = titleCase(words);
    view.bare.onclick = () => this.add(at, null);
    this.drawBlocks(view, row, at);
    this.drawStrips(view, "overlaps", row.overlaps, view.lane, "mk-tl-overlap");
  }

  drawBlocks(view, row, at) {
    const there = new Set(row.blocks.map((block) => block.at));
    for (const [place, block] of view.blocks) {
      if (there.has(place)) continue;
      block.root.remove();
      view.blocks.delete(place);
    }
    for (const block of row.blocks) {
      if (!view.blocks.has(block.at))
        view.blocks.set(block.at, this.makeBlock(view.lane, at, block.at));
      this.drawBlock(view.blocks.get(block.at), row, at, block);
    }
  }

  makeBlock(lane, row, at) {
    const root = make("div", "mk-tl-block");
    root.setAttribute("role", "button");
    Object.assign(root.dataset, { row, at });
    const picture = make("img", "mk-tl-picture");
    picture.alt = "";
    picture.draggable = false;
    picture.addEventListener("error", () => {
      picture.dataset.broken = picture.getAttribute("src");
      picture.hidden = true;
    });
    const label = make("div", "mk-cut");
    const times = make("div", "mk-tl-times mk-cut");
    const words = makeBox("mk-tl-words", label, times);
    const [start, end] = ["start", "end"].map((edge) => {
      const handle = make("i", `mk-tl-edge mk-tl-${edge}`);
      handle.dataset.edge = edge;
      return handle;
    });
    root.append(picture, words, start, end);
    lane.append(root);
    return { root, picture, label, times };
  }

  drawBlock(view, row, at, block) {
    const { span_name } = this.shown;
    const { start_ms, length_ms } = this.times(at, block);
    const place = [at, block.at];
    const chosen = same(place, this.chosen);
    const width = Math.max(4, length_ms * this.scale);
    view.root.style.left = `${start_ms * this.scale}px`;
    view.root.style.width = `${width}px`;
    view.root.classList.toggle("mk-tl-wrong", Boolean(block.problem));
    view.root.classList.toggle("mk-tl-chosen", chosen);
    view.root.tabIndex = same(place, this.tabStop) ? 0 : -1;
    view.root.setAttribute("aria-pressed", String(chosen));
    const label = block.label || `no ${row.medium || "medium"} yet`;
    const end = seconds(start_ms + length_ms);
    write(view.label, label);
    view.label.classList.toggle("mk-tl-nothing", !block.label);
    write(view.times, `${seconds(start_ms)} – ${end} s`);
    const facts = [
      `${span_name} ${block.at + 1} of ${row.name}, ${label}`,
      `from ${seconds(start_ms)} to ${end} s`,
      block.problem,
    ].filter(Boolean);
    view.root.setAttribute("aria-label", titleCase(facts.join(", ")));
    view.root.title = [block.url || label, ...facts.slice(1)].join("\n");
    this.drawPicture(view.picture, block, width, row.medium);
  }

  drawPicture(picture, block, width, medium) {
    const source = this.source.pictureOf(medium, block.url);
    const broken = picture.dataset.broken === source;
    picture.hidden = !source || broken || width < 60;
    if (source && picture.getAttribute("src") !== source) picture.src = source;
  }

  // The block that the Tab key goes to: the chosen one, or the first.
  get tabStop() {
    const blocks = this.all();
    const chosen = blocks.find((block) => same(block.place, this.chosen));
    return (chosen ?? blocks[0])?.place;
  }

  drawStrips(view, name, strips, parent, style) {
    while (view[name].length > strips.length) view[name].pop().remove();
    strips.forEach(([start_ms, length_ms], at) => {
      view[name][at] ??= parent.appendChild(make("div", style));
      view[name][at].style.left = `${start_ms * this.scale}px`;
      view[name][at].style.width = `${Math.max(2, length_ms * this.scale)}px`;
    });
  }

  drawMarks() {
    const { gaps, limit_ms } = this.shown;
    this.gapStrips ??= [];
    this.drawStrips(this, "gapStrips", gaps, this.gaps, "mk-tl-gap");
    const at = (mark, ms) => {
      mark.hidden = ms === null || ms * this.scale > this.lanePx;
      if (!mark.hidden) mark.style.left = `${ms * this.scale}px`;
    };
    at(this.end, this.endMs || null);
    at(this.beyond, limit_ms);
    at(this.guide, this.drag?.moved ? (this.guideMs ?? null) : null);
  }

  drawAdds() {
    const { rows, span_name, item_name } = this.shown;
    const row = Math.min(this.chosen?.[0] ?? Infinity, Math.max(0, rows.length - 1));
    const isFull = rows.length >= (this.spans.spec.most ?? Infinity);
    const kinds = isFull ? [] : this.spans.kinds;
    const key = JSON.stringify([kinds, row, rows[row]?.name, span_name, item_name]);
    if (this.addsKey !== key) {
      this.addsKey = key;
      this.makeAdds(row, kinds);
    }
    const given = this.value[row];
    const [place] = this.adds.children;
    place.disabled = !rows[row] || !given || (this.spans.isFull(given) && !rows[row].bare.length);
  }

  makeAdds(row, kinds) {
    const { rows, span_name, item_name } = this.shown;
    const focused = [...this.adds.children].indexOf(document.activeElement);
    const on = rows[row] ? ` on ${rows[row].name}` : "";
    const place = this.button(
      `Add a ${span_name}`,
      `Add a ${span_name}${on}, after the others`,
      () => this.add(row, null),
    );
    const others = kinds.map((kind) => {
      const what = kind ? `${kind} ${item_name}` : item_name;
      return this.button(`+ ${what}`, `Add one more ${what}`, () => this.addItem(kind));
    });
    this.adds.replaceChildren(place, ...others);
    if (focused >= 0) (this.adds.children[focused] ?? place).focus();
  }

  drawWords() {
    const { hint, problems, cautions } = this.shown;
    const lines = [
      ...(this.trouble ? [["mk-warn", this.trouble]] : []),
      ...problems.map((text) => ["mk-bad", text]),
      ...cautions.map((text) => ["mk-warn", text]),
      ...(hint ? [["mk-quiet", hint]] : []),
    ];
    const key = JSON.stringify(lines);
    if (this.wordsKey === key) return;
    this.wordsKey = key;
    this.statusLine.replaceChildren(...lines.map(([name, text]) => make("div", name, text)));
  }
}
