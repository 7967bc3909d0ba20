// The wall itself: what is there, which page of it is shown, and what the keys do.

const ANY = "";
const NARROW_PX = 620;
const SAY_EVERY_MS = 10_000;
const COMPARE_AT_MOST = 9;
const STATES = [
  ["completed", "Completed"],
  ["running", "Running"],
  ["failed", "Failed"],
  ["unsent", "Unsent"],
  ["invalid", "Invalid"],
];
const KEYS = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

// The model's own array is changed in place: all views of it, and new ones, see it.
function hearUpdates(model, updates) {
  const cells = model.get("cells");
  if (updates.all) cells.splice(0, cells.length, ...updates.all);
  for (const [at, cell] of Object.entries(updates.cells ?? {})) cells[Number(at)] = cell;
  for (const name of ["wall", "header", "posters"])
    if (updates[name]) Object.assign(model.get(name), updates[name]);
  if (updates.ranking) model.get("ranking").splice(0, Infinity, ...updates.ranking);
}

class Wall {
  constructor(model, el) {
    this.model = model;
    this.id = Math.random().toString(36).slice(2);
    this.lastSent = 0;
    this.waiting = new Map(); // requests without an answer yet, by number
    this.copies = new Map(); // what plays in place of a result, by job: promises
    this.copying = new Map(); // who waits for a copy, by the number of the request
    this.wanted = new Set(); // posters that were asked for
    this.selected = new Set();
    this.tiles = new Map();
    this.seen = new Set(); // players in view
    this.filters = { status: ANY, rating: 0, kept: false, tag: ANY, text: "" };
    this.page = 0;
    this.active = null;
    this.startedMs = new Map();
    this.build();
    el.append(this.root);
    this.hears = (content, buffers) => this.hear(content, buffers);
    model.on("msg:custom", this.hears);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.root);
    this.ticker = setInterval(() => this.tick(), 1000);
    this.take();
    this.saidProgress = this.header.progress;
    this.draw();
  }

  close() {
    this.sheet?.dialog.close();
    this.model.off("msg:custom", this.hears);
    this.sizes.disconnect();
    this.views.disconnect();
    clearInterval(this.ticker);
    for (const tile of this.tiles.values()) tile.close();
    for (const copy of this.copies.values()) copy.then(({ url }) => url && URL.revokeObjectURL(url));
  }

  // What the kernel says.

  take() {
    this.data = this.model.get("wall");
    this.cells = this.model.get("cells");
    this.posters = this.model.get("posters");
    this.ranking = this.model.get("ranking");
    this.header = this.model.get("header");
    this.at = new Map(this.cells.map((cell, at) => [cell.index, at]));
    for (const { changes, job } of this.waiting.values())
      if (changes) for (const cell of this.of(job)) Object.assign(cell, changes);
  }

  of(job) {
    return this.cells.filter((cell) => cell.job === job);
  }

  cellAt(index) {
    return this.cells[this.at.get(index)];
  }

  hear({ updates, copy }, buffers) {
    if (copy && copy.view === this.id) {
      const url = URL.createObjectURL(new Blob([buffers[0]], { type: "video/mp4" }));
      this.copying.get(copy.number)?.({ url });
      this.copying.delete(copy.number);
    }
    if (!updates) return;
    for (const answer of updates.answers ?? []) this.answered(answer);
    hearUpdates(this.model, updates);
    if (updates.all) this.wanted.clear();
    this.take();
    if (updates.error) this.complain(updates.error);
    this.draw();
    this.sheet?.updates();
    if (updates.header) this.sayProgress();
  }

  answered({ view, number, error, said }) {
    if (view !== this.id) return;
    this.waiting.delete(number);
    if (!this.waiting.size) this.slow(false);
    this.copying.get(number)?.({ problem: error });
    if (this.copying.delete(number)) return;
    if (error) this.complain(error);
    else if (said) this.say(said);
    this.sheet?.answered(number, error);
  }

  get gone() {
    return this.lost || Boolean(this.root.closest(".jupyter-widgets-disconnected"));
  }

  // Returns whether the kernel can hear it.
  send(message) {
    this.lastSent += 1;
    const sent = { ...message, view: this.id, number: this.lastSent };
    if (!this.gone) {
      try {
        this.model.send(sent);
      } catch {
        this.lost = true; // there is no kernel at all
      }
    }
    if (this.gone) {
      this.complain(GONE);
      return false;
    }
    if (["posters", "copy"].includes(message.do)) return true;
    this.waiting.set(this.lastSent, message);
    clearTimeout(this.slowTimer);
    this.slowTimer = setTimeout(() => this.slow(this.waiting.size > 0), ANSWER_MS);
    return true;
  }

  slow(is) {
    if (is) this.complain(this.gone ? GONE : SLOW);
    else if (this.trouble.textContent === SLOW) this.complain("");
  }

  // What is there once.

  build() {
    this.root = make("div", "mk-wall");
    this.root.setAttribute("role", "group");
    // The notebook's own keys (cut a cell, delete it, add one) must not hear what is typed.
    this.root.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
    });
    this.can = this.model.get("can");
    this.buildHead();
    this.buildFilters();
    this.trouble = make("div", "mk-wall-trouble");
    this.trouble.setAttribute("role", "alert");
    this.grid = make("div", "mk-wall-grid");
    this.grid.setAttribute("role", "grid");
    this.grid.setAttribute("aria-multiselectable", "true");
    this.scroll = make("div", "mk-wall-scroll");
    this.scroll.append(this.grid);
    this.nothing = make("p", "mk-wall-soft mk-wall-nothing");
    this.buildFoot();
    this.spoken = make("div", "mk-wall-spoken");
    this.spoken.setAttribute("aria-live", "polite");
    // For as long as the wall is on the page, its static twin is not.
    const hides = make("style", "", this.model.get("hides"));
    const parts = [hides, this.head, this.facts, this.sentence, this.filterRow, this.trouble];
    this.root.append(...parts, this.scroll, this.nothing, this.pager, this.foot, this.spoken);
    this.views = new IntersectionObserver((entries) => this.see(entries), { threshold: 0.2 });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("focusin", (event) => this.focused(event));
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("dblclick", (event) => this.clicked(event, true));
  }

  buildHead() {
    this.head = make("div", "mk-wall-row mk-wall-between mk-wall-head");
    this.title = make("h3", "mk-wall-title");
    this.tools = make("div", "mk-wall-row");
    this.playAll = makeButton("", "Play all", "", () => this.togglePlaying());
    this.compareButton = makeButton("", "Compare", "", () => this.compareChosen());
    this.blindButton = makeButton("", "Blind A/B", "", () => this.blind());
    this.filterButton = makeButton("", "Filter", "", () => this.toggleFilters());
    this.exportButton = makeButton("", "Export", "", () => this.ask("export"));
    this.filterButton.setAttribute("aria-expanded", "false");
    this.blindButton.hidden = !this.can.prefer;
    this.exportButton.hidden = !this.can.export;
    this.tools.append(
      this.playAll,
      this.compareButton,
      this.blindButton,
      this.filterButton,
      this.exportButton,
    );
    this.head.append(this.title, this.tools);
    this.facts = make("div", "mk-wall-row mk-wall-between mk-wall-facts");
    this.figures = make("div", "mk-wall-figures-row");
    this.progress = make("div", "mk-wall-progress");
    this.progressBar = make("div", "mk-wall-progress-bar");
    this.progressBar.setAttribute("role", "progressbar");
    this.progressBar.append(make("i"), make("i"), make("i"));
    this.progressText = make("div", "mk-wall-soft");
    this.progress.append(this.progressBar, this.progressText);
    this.facts.append(this.figures, this.progress);
    this.sentence = make("div", "mk-wall-soft mk-wall-prompt-line");
  }

  buildFilters() {
    this.filterRow = make("div", "mk-wall-row mk-wall-filters");
    this.filterRow.hidden = true;
    const select = (label, name, read) => {
      const box = make("select");
      box.setAttribute("aria-label", label);
      box.addEventListener("change", () => this.filter(name, read(box.value)));
      return box;
    };
    const fill = (box, options) =>
      box.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    this.statusBox = select("Status", "status", String);
    fill(this.statusBox, [[ANY, "Any status"], ...STATES]);
    this.ratingBox = select("Rating", "rating", Number);
    const stars = [5, 4, 3, 2, 1].map((rating) => [rating, `${"★".repeat(rating)} or better`]);
    fill(this.ratingBox, [[0, "Any rating"], ...stars]);
    this.tagBox = select("Tag", "tag", String);
    this.keptBox = make("input");
    this.keptBox.type = "checkbox";
    this.keptBox.addEventListener("change", () => this.filter("kept", this.keptBox.checked));
    const kept = make("label", "mk-wall-row mk-wall-check");
    kept.append(this.keptBox, make("span", "", "Kept"));
    this.textBox = make("input");
    Object.assign(this.textBox, { type: "search", placeholder: "Search prompts, labels, notes" });
    this.textBox.setAttribute("aria-label", "Search prompts, labels, tags and notes");
    this.textBox.addEventListener("input", () => this.filter("text", this.textBox.value));
    this.clear = makeButton("", "Clear", "Clear all filters", () => this.clearFilters());
    this.matches = make("span", "mk-wall-soft");
    this.filterRow.append(
      this.statusBox,
      this.ratingBox,
      this.tagBox,
      kept,
      this.textBox,
      this.clear,
      this.matches,
    );
  }

  buildFoot() {
    this.pager = make("div", "mk-wall-row mk-wall-pager");
    this.pager.setAttribute("role", "navigation");
    this.pager.setAttribute("aria-label", "Pages");
    this.previous = makeButton("", "Previous", "Previous page (Page Up)", () => this.turn(-1));
    this.next = makeButton("", "Next", "Next page (Page Down)", () => this.turn(1));
    this.pageText = make("span", "mk-wall-soft");
    this.pager.append(this.previous, this.pageText, this.next);
    this.foot = make("div", "mk-wall-row mk-wall-between mk-wall-foot");
    this.nextStep = makeButton("mk-wall-primary", "", "", () => this.ask("next"));
    const rates = this.can.judge ? ["1–5 rate", "K keep", "T tags", "N note"] : [];
    const compares = ["Space play", "←↑→↓ move", "Enter open", "S select", "C compare"];
    const blind = this.can.prefer ? ["B blind A/B"] : [];
    const keys = make("span", "mk-wall-keys");
    keys.textContent = `Keys: ${[...rates, ...compares, ...blind].join(" · ")}`;
    this.foot.append(keys, this.nextStep);
  }

  // Names and words.

  nameOf(cell) {
    return cell.name;
  }

  promptOf(cell) {
    return this.data.prompts[cell.prompt - 1] ?? [];
  }

  posterOf(cell) {
    return cell.poster === true ? (this.posters[cell.index] ?? "") : (cell.poster ?? "");
  }

  // The seconds continue here: the kernel does not send each of them.
  runningText(cell) {
    const now = performance.now();
    const known = this.startedMs.get(cell.index);
    if (known === undefined) this.startedMs.set(cell.index, now - 1000 * (cell.runtime_s ?? 0));
    const s = Math.floor((now - this.startedMs.get(cell.index)) / 1000);
    return `running · ${s} s`;
  }

  tick() {
    for (const tile of this.tiles.values()) if (tile.cell.status === "running") tile.drawState();
    if (this.gone && this.trouble.textContent !== GONE) this.complain(GONE);
  }

  say(text) {
    write(this.spoken, text);
  }

  sayProgress() {
    const now = performance.now();
    const { running, total, progress } = this.header;
    const over = !running && this.wasRunning;
    this.wasRunning = running > 0;
    if (progress === this.saidProgress) return;
    this.saidProgress = progress;
    if (!total || (!over && now - (this.saidMs ?? 0) < SAY_EVERY_MS)) return;
    this.saidMs = now;
    this.say(progress);
  }

  complain(text) {
    write(this.trouble, text);
  }

  // Resolves with the address of a copy that plays here, or with why there is none.
  copyOf({ job }) {
    if (!this.copies.has(job)) {
      const asks = job && this.can.copy && this.send({ do: "copy", job });
      const answer = (resolve) => this.copying.set(this.lastSent, resolve);
      this.copies.set(job, asks ? new Promise(answer) : Promise.resolve({ problem: UNPLAYABLE }));
    }
    return this.copies.get(job);
  }

  // Which cells are shown.

  matchesFilters(cell) {
    const { status, rating, kept, tag, text } = this.filters;
    const states = { running: ["running", "queued"], unsent: ["unsent", "planned"] };
    if (status && !(states[status] ?? [status]).includes(cell.status)) return false;
    if ((cell.rating ?? 0) < rating || (kept && !cell.keep)) return false;
    if (tag && !cell.tags?.includes(tag)) return false;
    return !text || this.wordsOf(cell).includes(text.toLowerCase());
  }

  wordsOf(cell) {
    const { rows, cols } = this.data;
    const heads = [rows[cell.row] ?? [], cols[cell.col] ?? [], this.promptOf(cell)].map(plain);
    const own = [cell.name, cell.caption, cell.note, cell.problem, cell.job, ...(cell.tags ?? [])];
    return [...heads, ...own].filter(Boolean).join("\n").toLowerCase();
  }

  // Whole rows, of as many cells as a page has at most.
  pages() {
    const most = this.data.page_cells;
    const rows = new Map();
    for (const cell of this.found) {
      if (!rows.has(cell.row)) rows.set(cell.row, []);
      rows.get(cell.row).push(cell);
    }
    const pages = [];
    for (const row of rows.values()) {
      if (pages.length && pages.at(-1).length + row.length <= most) pages.at(-1).push(...row);
      else
        for (let at = 0; at < row.length; at += most) pages.push(row.slice(at, at + most));
    }
    return pages.length ? pages : [[]];
  }

  find() {
    const order = (one, other) =>
      one.row - other.row || one.col - other.col || this.at.get(one.index) - this.at.get(other.index);
    this.found = this.cells.filter((cell) => this.matchesFilters(cell)).sort(order);
    this.paged = this.pages();
    this.page = Math.max(0, Math.min(this.page, this.paged.length - 1));
    this.shown = this.paged[this.page];
  }

  filter(name, value) {
    this.filters[name] = value;
    this.page = 0;
    this.draw();
    this.say(`${many(this.found.length, "cell")} found`);
  }

  clearFilters() {
    this.filters = { status: ANY, rating: 0, kept: false, tag: ANY, text: "" };
    this.draw();
  }

  toggleFilters() {
    this.filterRow.hidden = !this.filterRow.hidden;
    this.filterButton.setAttribute("aria-expanded", String(!this.filterRow.hidden));
    if (!this.filterRow.hidden) this.textBox.focus();
  }

  turn(by, { last = false } = {}) {
    const page = this.page + by;
    if (page < 0 || page >= this.paged.length) return;
    const inGrid = this.grid.contains(document.activeElement);
    this.page = page;
    this.find();
    this.active = (last ? this.shown.at(-1) : this.shown[0])?.index ?? null;
    this.draw();
    this.scroll.scrollTop = 0;
    this.say(`Page ${page + 1} of ${this.paged.length}`);
    if (inGrid) this.focusTile();
  }

  // What is drawn.

  draw() {
    this.find();
    this.drawHead();
    this.drawFilters();
    this.drawGrid();
    this.drawFoot();
    this.askForPosters();
  }

  drawHead() {
    const { data, header } = this;
    write(this.title, data.title || "Results");
    set(this.grid, "aria-label", data.title || "Results");
    set(this.root, "aria-label", data.title || "Results");
    const figures = header.figures.map(([figure, name]) => {
      const element = make("div");
      element.append(make("b", "", figure), make("span", "mk-wall-soft", name));
      return element;
    });
    this.figures.replaceChildren(...figures);
    const part = (count) => `${header.total ? (100 * count) / header.total : 0}%`;
    const counts = [header.completed, header.running, header.failed];
    counts.forEach((count, at) => (this.progressBar.children[at].style.width = part(count)));
    set(this.progressBar, "aria-label", "Completed cells");
    set(this.progressBar, "aria-valuemin", "0");
    set(this.progressBar, "aria-valuemax", String(header.total));
    set(this.progressBar, "aria-valuenow", String(header.completed));
    set(this.progressBar, "aria-valuetext", header.progress);
    write(this.progressText, header.progress);
    const only = data.prompts.length === 1 ? plain(data.prompts[0]) : "";
    write(this.sentence, only === data.title ? "" : only);
    this.sentence.title = this.sentence.textContent;
    this.drawTools();
  }

  drawTools() {
    const players = this.shown.filter((cell) => isShown(cell) && cell.medium !== "image");
    this.playAll.hidden = !players.length;
    write(this.playAll, this.playing ? "Pause all" : "Play all");
    const chosen = this.chosen;
    write(this.compareButton, chosen.length > 1 ? `Compare ${chosen.length}` : "Compare");
    this.compareButton.disabled = chosen.length < 2 || chosen.length > COMPARE_AT_MOST;
    const what = this.selected.size ? "selected" : "kept";
    this.compareButton.title = this.compareButton.disabled
      ? `Select two to ${COMPARE_AT_MOST} results first (S)`
      : `Compare the ${chosen.length} ${what} results (C)`;
    this.blindButton.disabled = this.candidates.length < 2;
  }

  drawFilters() {
    const { filters } = this;
    const tags = [...new Set(this.cells.flatMap((cell) => cell.tags ?? []))].sort();
    if (filters.tag && !tags.includes(filters.tag)) tags.push(filters.tag);
    const options = [[ANY, "Any tag"], ...tags.map((tag) => [tag, `#${tag}`])];
    if (String(options) !== this.tagOptions)
      this.tagBox.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    this.tagOptions = String(options);
    this.tagBox.hidden = !tags.length;
    const values = [filters.status, String(filters.rating), filters.tag, filters.text];
    [this.statusBox, this.ratingBox, this.tagBox, this.textBox].forEach((box, at) => {
      if (box.value !== values[at]) box.value = values[at];
    });
    this.keptBox.checked = filters.kept;
    const active = Object.values(filters).some(Boolean);
    this.clear.hidden = !active;
    const shown = `${this.found.length} of ${this.cells.length}`;
    write(this.matches, active ? shown : "");
    write(this.filterButton, active ? `Filter · ${shown}` : "Filter");
  }

  drawGrid() {
    const cols = [...new Set(this.shown.map((cell) => cell.col))].sort((a, b) => a - b);
    const { data } = this;
    const heads = [data.row_axis, data.col_axis, data.rows, cols.map((col) => data.cols[col])];
    const shape = JSON.stringify([heads, this.shown.map((c) => [c.index, c.row, c.col])]);
    if (shape !== this.shape) this.layOut(cols);
    this.shape = shape;
    for (const cell of this.shown) this.tiles.get(cell.index).show(cell);
    const none = this.cells.length ? "No cell matches the filters." : "There are no cells yet.";
    write(this.nothing, this.shown.length ? "" : none);
    if (!this.tiles.has(this.active)) this.active = this.shown[0]?.index ?? null;
    for (const [index, tile] of this.tiles) tile.root.tabIndex = index === this.active ? 0 : -1;
  }

  // The places of a page are made again; the tiles in them, and what they play, stay.
  layOut(cols) {
    const { data } = this;
    const hadFocus = this.grid.contains(document.activeElement);
    const before = this.tiles;
    this.tiles = new Map();
    for (const cell of this.shown) {
      const tile = before.get(cell.index) ?? new Tile(this, cell);
      before.delete(cell.index);
      this.tiles.set(cell.index, tile);
    }
    for (const tile of before.values()) tile.close();
    const rows = [...new Set(this.shown.map((cell) => cell.row))];
    const parts = data.col_axis ? [this.makeHeads(cols)] : [];
    parts.push(...rows.map((row) => this.makeRow(row, cols)));
    this.grid.replaceChildren(...parts);
    this.grid.classList.toggle("mk-wall-headed", Boolean(data.row_axis));
    this.grid.classList.toggle("mk-wall-flow", !data.col_axis);
    this.grid.style.setProperty("--mk-cols", Math.max(1, cols.length));
    this.watch();
    this.fit();
    if (hadFocus && !this.grid.contains(document.activeElement)) this.wantsFocus = true;
    if (this.wantsFocus) queueMicrotask(() => this.focusTile());
  }

  makeHeads(cols) {
    const row = this.makeRole("div", "mk-wall-line mk-wall-heads", "row");
    if (this.data.row_axis) row.append(this.makeRole("div", "mk-wall-corner", "presentation"));
    for (const col of cols) {
      const head = this.makeRole("div", "mk-wall-colhead", "columnheader");
      writeMarked(head, this.data.cols[col] ?? []);
      head.title = `${this.data.col_axis}: ${head.textContent}`;
      row.append(head);
    }
    return row;
  }

  makeRow(row, cols) {
    const line = this.makeRole("div", "mk-wall-line", "row");
    if (this.data.row_axis) {
      const head = this.makeRole("div", "mk-wall-rowhead", "rowheader");
      const words = make("div", "mk-wall-rowwords");
      writeMarked(words, this.data.rows[row] ?? []);
      head.append(words);
      head.title = `${this.data.row_axis}: ${words.textContent}`;
      line.append(head);
    }
    for (const [at, col] of cols.entries()) {
      const place = this.makeRole("div", "mk-wall-place", "presentation");
      const here = this.shown.filter((cell) => cell.row === row && cell.col === col);
      place.classList.toggle("mk-wall-several", here.length > 1 || !this.data.col_axis);
      for (const cell of here) {
        const tile = this.tiles.get(cell.index).root;
        set(tile, "aria-colindex", this.data.col_axis ? String(at + 1) : null);
        place.append(tile);
      }
      line.append(place);
    }
    return line;
  }

  makeRole(tag, name, role) {
    const element = make(tag, name);
    element.setAttribute("role", role);
    return element;
  }

  drawFoot() {
    const pages = this.paged.length;
    this.pager.hidden = pages < 2;
    this.previous.disabled = this.page === 0;
    this.next.disabled = this.page === pages - 1;
    const before = this.paged.slice(0, this.page).reduce((sum, page) => sum + page.length, 0);
    const range = `${before + 1}–${before + this.shown.length} of ${this.found.length}`;
    write(this.pageText, `Page ${this.page + 1} of ${pages} · ${range}`);
    const label = this.header.next_label;
    this.nextStep.hidden = !(this.can.next && label);
    if (!this.nextStep.disabled) write(this.nextStep, label);
  }

  fit() {
    this.root.classList.toggle("mk-wall-narrow", this.root.clientWidth < NARROW_PX);
  }

  // The shape of the first picture is the shape of all places.
  askForPosters() {
    const missing = this.shown.filter(
      ({ index, poster }) => poster === true && !this.posters[index] && !this.wanted.has(index),
    );
    for (const { index } of missing) this.wanted.add(index);
    if (missing.length && !this.gone)
      this.send({ do: "posters", of: missing.map(({ index }) => index) });
    const first = this.shown.map((cell) => this.posterOf(cell)).find(Boolean);
    if (first && !this.shaped) {
      this.shaped = true;
      const picture = new Image();
      picture.onload = () => this.shapeAs(picture.naturalWidth, picture.naturalHeight);
      picture.src = first;
    }
  }

  shapeAs(width, height) {
    if (width && height) {
      this.shaped = true;
      const ratio = Math.max(0.5, Math.min(2.4, width / height));
      this.root.style.setProperty("--mk-ratio", ratio.toFixed(4));
    }
  }

  // Players.

  watch() {
    this.views.disconnect();
    this.seen.clear();
    for (const tile of this.tiles.values()) this.views.observe(tile.root);
  }

  see(entries) {
    for (const { target, isIntersecting } of entries) {
      const tile = this.tiles.get(Number(target.dataset.index));
      if (!tile) continue;
      if (isIntersecting) this.seen.add(tile);
      else this.seen.delete(tile);
      const { medium } = tile;
      if (!isPlayer(medium)) continue;
      if (!isIntersecting) medium.pause();
      // Without a poster, the first frame is the picture.
      else if (medium.tagName === "VIDEO" && !medium.poster) medium.preload = "metadata";
      if (isIntersecting && this.playing) tile.start();
    }
  }

  togglePlaying() {
    this.playing = !this.playing;
    for (const tile of this.seen) {
      if (!isPlayer(tile.medium)) continue;
      if (this.playing) tile.start();
      else tile.medium.pause();
    }
    this.drawTools();
  }

  rest() {
    this.playing = false;
    for (const { medium } of this.tiles.values()) if (isPlayer(medium)) medium.pause();
    this.drawTools();
  }

  // Focus and the keyboard.

  activate(index) {
    this.active = index;
    for (const [each, tile] of this.tiles) tile.root.tabIndex = each === index ? 0 : -1;
  }

  focused({ target }) {
    const tile = target.closest(".mk-wall-tile");
    if (tile) this.activate(Number(tile.dataset.index));
  }

  focusTile() {
    this.wantsFocus = false;
    const tile = this.tiles.get(this.active);
    if (!tile) return;
    tile.root.focus({ preventScroll: true });
    tile.root.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  clicked(event, twice = false) {
    const root = event.target.closest(".mk-wall-tile");
    if (!root || event.target.closest("button, a, audio, input")) return;
    const tile = this.tiles.get(Number(root.dataset.index));
    this.activate(tile.index);
    root.focus({ preventScroll: true });
    if (twice) this.compare([tile.cell]);
    else if (event.target.closest(".mk-wall-media")) tile.play();
  }

  key(event) {
    const tile = event.target.closest(".mk-wall-tile");
    if (!tile || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, audio")) return;
    if (event.target.closest("button") && ["Enter", " "].includes(event.key)) return;
    const cell = this.cellAt(Number(tile.dataset.index));
    if (cell && this.press(event.key, cell)) event.preventDefault();
  }

  // Returns whether the key means something here.
  press(key, cell) {
    if (key in KEYS) return this.move(KEYS[key]);
    if (this.judgeKey(cell, key)) return true;
    const tile = this.tiles.get(cell.index);
    const acts = {
      " ": () => tile.play(),
      Enter: () => this.compare([cell]),
      s: () => this.toggleSelected(cell.index),
      c: () => this.compareChosen(),
      b: () => this.blind(),
      r: () => this.retry(cell.index),
      t: () => this.editTags(tile),
      n: () => this.editNote(tile),
      "/": () => this.openSearch(),
      Home: () => this.goTo(this.shown[0]),
      End: () => this.goTo(this.shown.at(-1)),
      PageUp: () => this.turn(-1),
      PageDown: () => this.turn(1),
      Escape: () => this.clearSelected(),
    };
    const act = acts[key.length === 1 ? key.toLowerCase() : key];
    if (!act) return false;
    act();
    return true;
  }

  openSearch() {
    if (this.filterRow.hidden) this.toggleFilters();
    this.textBox.focus();
  }

  goTo(cell) {
    if (!cell) return;
    this.activate(cell.index);
    this.focusTile();
  }

  move(way) {
    const at = this.shown.findIndex((cell) => cell.index === this.active);
    const by = { left: -1, right: 1 }[way];
    if (by === undefined) this.goTo(this.beyond(way));
    else if (this.shown[at + by]) this.goTo(this.shown[at + by]);
    else this.turn(by, { last: by < 0 });
    return true;
  }

  // The nearest cell of the next line up or down, as it is on the page.
  beyond(way) {
    const box = (cell) => this.tiles.get(cell.index).root.getBoundingClientRect();
    const from = box({ index: this.active });
    const sign = way === "up" ? -1 : 1;
    const others = this.shown
      .map((cell) => ({ cell, down: sign * (box(cell).top - from.top), across: Math.abs(box(cell).left - from.left) }))
      .filter(({ down }) => down > from.height / 2)
      .sort((one, other) => one.down - other.down || one.across - other.across);
    const line = others.filter(({ down }) => down < others[0].down + from.height / 2);
    return line.sort((one, other) => one.across - other.across)[0]?.cell;
  }

  // Ratings and the like.

  // Returns whether the key judges.
  judgeKey(cell, key) {
    if (!this.can.judge || !cell.job) return false;
    if (/^[1-5]$/.test(key)) return this.judge(cell, { rating: Number(key) });
    if (key === "0") return this.judge(cell, { rating: null });
    if (key.toLowerCase() === "k") return this.judge(cell, { keep: !cell.keep });
    return false;
  }

  judge(cell, changes) {
    if (!cell.job || !this.send({ do: "judge", job: cell.job, changes })) return true;
    this.complain("");
    for (const each of this.of(cell.job)) Object.assign(each, changes);
    this.say(this.judgedText(cell, changes));
    this.draw();
    this.sheet?.updates();
    return true;
  }

  judgedText(cell, { rating, keep, tags }) {
    const name = this.nameOf(cell);
    if (rating !== undefined) return rating ? `${name}: rated ${rating} of ${BEST}` : `${name}: not rated`;
    if (keep !== undefined) return `${name}: ${keep ? "kept" : "not kept"}`;
    return `${name}: ${tags ? "tags" : "note"} saved`;
  }

  editTags(tile) {
    if (!this.can.judge || !tile.cell.job) return;
    tile.edit("Tags, separated by commas", (tile.cell.tags ?? []).join(", "), (text) => {
      const tags = text.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean);
      this.judge(this.cellAt(tile.index), { tags: [...new Set(tags)] });
    });
  }

  editNote(tile) {
    if (!this.can.judge || !tile.cell.job) return;
    tile.edit("Note", tile.cell.note ?? "", (note) =>
      this.judge(this.cellAt(tile.index), { note: note.trim() }),
    );
  }

  // Requests.

  isRetrying(index) {
    return [...this.waiting.values()].some((each) => each.do === "retry" && each.cell === index);
  }

  retry(index) {
    const { status } = this.cellAt(index);
    if (!this.can.retry || this.isRetrying(index) || !["failed", "unsent"].includes(status)) return;
    if (this.send({ do: "retry", cell: index })) this.say("Sending it again");
    this.draw();
  }

  ask(what) {
    const busy = [...this.waiting.values()].some((each) => each.do === what);
    if (!busy && this.send({ do: what })) this.complain("");
  }

  // Several cells.

  get chosen() {
    const cells = this.cells.filter((cell) => isShown(cell));
    const selected = cells.filter((cell) => this.selected.has(cell.index));
    return selected.length ? selected : cells.filter((cell) => cell.keep);
  }

  toggleSelected(index) {
    const cell = this.cellAt(index);
    if (!isShown(cell)) return;
    if (!this.selected.delete(index)) this.selected.add(index);
    this.say(`${many(this.selected.size, "cell")} selected`);
    this.draw();
  }

  clearSelected() {
    this.selected.clear();
    this.draw();
  }

  compareChosen() {
    if (!this.compareButton.disabled) this.compare(this.chosen);
    else this.say(this.compareButton.title);
  }

  compare(cells) {
    if (!cells.every(isShown) || this.sheet) return;
    this.rest();
    new Compare(this, cells).open();
  }

  // What can be compared blindly: of one medium, selected or else found.
  get candidates() {
    const finished = this.found.filter((cell) => isShown(cell) && cell.job);
    const selected = finished.filter((cell) => this.selected.has(cell.index));
    const cells = selected.length > 1 ? selected : finished;
    const media = cells.map((cell) => cell.medium);
    const count = (medium) => media.filter((each) => each === medium).length;
    const [most] = [...new Set(media)].sort((one, other) => count(other) - count(one));
    const jobs = new Map(cells.filter((c) => c.medium === most).map((c) => [c.job, c]));
    return [...jobs.values()];
  }

  blind() {
    if (!this.can.prefer || this.sheet || this.candidates.length < 2) return;
    this.rest();
    new Blind(this, this.candidates).open();
  }
}

function initialize({ model }) {
  const hear = ({ updates }) => updates && hearUpdates(model, updates);
  model.on("msg:custom", hear);
  return () => model.off("msg:custom", hear);
}

function render({ model, el }) {
  const wall = new Wall(model, el);
  return () => wall.close();
}

export default { initialize, render };
