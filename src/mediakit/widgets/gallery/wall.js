// The wall itself: it draws the page that the kernel sends, and handles its buttons.

const NARROW_PX = 620;
const LONG = ["copy", "act", "export", "recipe", "rest", "retry"]; // slow requests

const titleOf = (axis, text) => (text.startsWith(`${axis} `) ? text : `${axis}: ${text}`);

class Wall {
  constructor(model, el) {
    this.model = model;
    this.waiting = new Set(); // requests that have no answer yet
    this.copies = new Map(); // promises of copies that play in place of results, by job
    this.selected = new Set();
    this.anchor = null; // where a range of selected cells begins
    this.tiles = new Map();
    this.seen = new Set(); // players in view
    this.active = null;
    this.menuClosedMs = -Infinity;
    this.startedMs = new Map();
    this.can = model.get("can");
    this.acts = model.get("acts");
    this.build();
    el.append(this.root);
    this.handlers = {
      "change:page": () => this.onPageChange(),
      "change:posters": () => this.draw(),
      "msg:custom": ({ answer, error, sending }) => {
        if (sending) this.head.showSending(sending);
        else if (answer === undefined) this.complain(error);
      },
    };
    for (const [name, act] of Object.entries(this.handlers)) model.on(name, act);
    this.sizes = new ResizeObserver(() => {
      this.fit();
      this.begin();
    });
    this.sizes.observe(this.root);
    this.ticker = setInterval(() => this.tick(), 1000);
    this.take();
    this.draw();
    guardPaidClicks();
  }

  close() {
    this.sheet?.dialog.close();
    this.menu?.close();
    this.head.close();
    for (const [name, act] of Object.entries(this.handlers)) this.model.off(name, act);
    this.sizes.disconnect();
    this.views.disconnect();
    clearInterval(this.ticker);
    for (const tile of this.tiles.values()) tile.close();
    for (const copy of this.copies.values()) copy.then(({ url }) => url && URL.revokeObjectURL(url));
  }

  // State from the kernel.

  take() {
    this.data = this.model.get("page");
    // Ratings are shown before they are stored.
    const judged = [...this.waiting].filter((message) => message.do === "judge");
    const now = (cell) =>
      Object.assign({}, cell, ...judged.filter((message) => message.cells.includes(cell.index)).map(({ changes }) => changes));
    this.cells = this.data.cells.map(now);
    this.chosen = this.data.chosen.map(now);
    if (!this.isWaiting("view")) this.selected = new Set(this.data.selected);
    this.known = new Map([...this.chosen, ...this.cells].map((cell) => [cell.index, cell]));
  }

  cellAt(index) {
    return this.known.get(index);
  }

  isWaiting(what, cell) {
    return [...this.waiting].some((message) => message.do === what && message.cell === cell);
  }

  posterOf(cell) {
    return this.model.get("posters")[cell.index] ?? cell.poster ?? "";
  }

  onPageChange() {
    this.drawAgain();
    this.head.sayProgress();
  }

  drawAgain() {
    this.take();
    this.draw();
    this.sheet?.updates();
  }

  get gone() {
    return this.lost || Boolean(this.root.closest(".jupyter-widgets-disconnected"));
  }

  // Resolves with the kernel's answer, or with an error if there is no kernel.
  async request(message) {
    clearTimeout(this.slowTimer);
    if (!this.gone) {
      this.waiting.add(message);
      this.slowTimer = setTimeout(() => this.slow(true), ANSWER_MS);
      const answer = await ask(this.model, message).catch(() => null); // no kernel at all
      this.lost ||= !answer;
      this.waiting.delete(message);
      if (!this.waiting.size) this.slow(false);
      this.drawAgain();
      if (answer) return answer;
    }
    this.complain(KERNEL_GONE);
    return { error: KERNEL_GONE };
  }

  // Requests an action; its error or its message appears above the wall.
  async ask(message) {
    if (this.isWaiting(message.do)) return;
    this.complain("");
    const { error, said, tone, path, home } = await this.request(message);
    // Of several results, some may be done and others not.
    if (error) this.complain(error);
    if (said) this.head.tell(said, tone, path && serverUrl(path, home));
  }

  // At the price and the budget on the button.
  sendRest() {
    const { rest: text } = this.data;
    if (text) this.ask({ do: "rest", text });
  }

  // Resolves when the kernel has sent the requested page.
  show(changes) {
    this.shown = this.request({ do: "view", changes });
    return this.shown;
  }

  slow(is) {
    const waits = [...this.waiting].some((message) => !LONG.includes(message.do));
    // An existing error stays: it is more useful than a note about a late answer.
    const mayComplain = this.gone || !this.trouble.textContent;
    if (is && waits && mayComplain) this.complain(this.gone ? KERNEL_GONE : SLOW);
    else if (!is && this.trouble.textContent === SLOW) this.complain("");
  }

  // Building.

  build() {
    this.root = makeRole("mk-frame mk-wall", "group");
    holdKeys(this.root);
    this.filters = new Filters(this);
    this.head = new Head(this);
    this.trouble = makeRole("mk-error", "alert");
    this.grid = makeRole("mk-wall-grid", "grid");
    this.grid.setAttribute("aria-multiselectable", "true");
    this.scroll = makeBox("mk-wall-scroll", this.grid);
    this.nothing = make("p", "mk-quiet mk-small-print mk-wall-nothing");
    this.keyboard = new Keyboard(this);
    this.buildFoot();
    this.spoken = make("div", "mk-spoken");
    this.spoken.setAttribute("aria-live", "polite");
    // While the wall is on the page, its static copy is hidden.
    const hides = make("style", "", this.model.get("hides"));
    const below = [this.scroll, this.nothing, this.pager, this.foot, this.spoken];
    this.root.append(hides, ...this.head.parts, this.filters.row, this.trouble, ...below);
    this.views = new IntersectionObserver((entries) => this.see(entries), { threshold: 0.2 });
    this.grid.addEventListener("focusin", ({ target }) => {
      const tile = target.closest(".mk-wall-tile");
      if (tile) this.activate(Number(tile.dataset.index));
    });
    // The second click of a double click on a menu must not reach the tile below it.
    const hold = (event) => {
      if (performance.now() - this.menuClosedMs < SECOND_MS) event.stopPropagation();
    };
    for (const name of ["click", "dblclick"]) this.grid.addEventListener(name, hold, true);
    // Shift would select the text between two clicks.
    this.grid.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault());
    this.grid.addEventListener("click", (event) => this.clicked(event));
    this.grid.addEventListener("dblclick", (event) => this.clicked(event, true));
  }

  buildFoot() {
    this.previous = makeButton("Previous", "Previous page (Page Up)", () => this.turn(-1));
    this.next = makeButton("Next", "Next page (Page Down)", () => this.turn(1));
    this.pageText = make("span", "mk-quiet mk-small-print");
    const turns = [this.previous, this.pageText, this.next];
    this.pager = makeRole("mk-row mk-wall-pager", "navigation", ...turns);
    this.pager.setAttribute("aria-label", "Pages");
    this.foot = makeBox("mk-wall-foot", makeKeys(this.keyboard.list, { isOpen: true }));
  }

  // Texts.

  // The page counts the seconds, because the kernel does not send each of them.
  wordOf(cell, counts = true) {
    if (cell.status !== "running" || !counts) return cell.word;
    const now = performance.now();
    const known = this.startedMs.get(cell.index);
    if (known === undefined) this.startedMs.set(cell.index, now - 1000 * (cell.runtime_s ?? 0));
    return `${cell.word} · ${Math.floor((now - this.startedMs.get(cell.index)) / 1000)} s`;
  }

  tick() {
    for (const tile of this.tiles.values()) if (tile.cell.status === "running") tile.drawState();
    if (!this.gone) return;
    stopPaying(this.root);
    if (this.trouble.textContent !== KERNEL_GONE) this.complain(KERNEL_GONE);
  }

  say(text) {
    write(this.spoken, text);
  }

  complain(text) {
    write(this.trouble, text);
  }

  // Resolves with the URL of a copy that plays here, or with the problem.
  copyOf(cell) {
    if (!this.copies.has(cell.job)) this.copies.set(cell.job, this.askForCopy(cell));
    return this.copies.get(cell.job);
  }

  async askForCopy({ job, url, medium }) {
    if (!job || !this.can.copy) return { problem: UNPLAYABLE };
    const { error, buffers } = await this.request({ do: "copy", job });
    if (error) return { problem: (await isGone(url)) ? DELETED : error };
    return { url: URL.createObjectURL(new Blob(buffers, { type: medium === "video" ? "video/mp4" : "" })) };
  }

  // Filters and pages.

  async filter(changes) {
    await this.show(changes);
    this.say(`${many(this.data.found, "cell")} found`);
  }

  async turn(by, { last = false } = {}) {
    const page = this.data.page + by;
    if (page < 0 || page >= this.data.pages || this.isWaiting("view")) return;
    const inGrid = this.grid.contains(document.activeElement);
    const { error } = await this.show({ page });
    if (error) return;
    this.activate((last ? this.cells.at(-1) : this.cells[0])?.index ?? null);
    this.scroll.scrollTop = 0;
    this.say(`Page ${page + 1} of ${this.data.pages}`);
    if (inGrid) this.focusTile();
  }

  // Drawing.

  draw() {
    for (const named of [this.grid, this.root]) set(named, "aria-label", this.data.title || "Results");
    this.head.draw();
    this.filters.draw();
    this.drawGrid();
    this.drawFoot();
  }

  drawGrid() {
    const { data } = this;
    const shape = JSON.stringify([data.rows, data.cols, this.cells.map((c) => [c.index, c.row, c.col])]);
    if (shape !== this.shape) this.layOut();
    this.shape = shape;
    for (const cell of this.cells) this.tiles.get(cell.index).show(cell);
    const none = data.total ? "No cell matches the filters." : "There are no cells yet.";
    write(this.nothing, this.cells.length ? "" : none);
    if (!this.tiles.has(this.active)) this.active = this.cells[0]?.index ?? null;
    this.activate(this.active);
    this.takeShape();
  }

  // Rebuilds the places of a page; the tiles in them, and their players, stay.
  layOut() {
    const { data } = this;
    const hadFocus = this.grid.contains(document.activeElement);
    const before = this.tiles;
    this.tiles = new Map();
    for (const cell of this.cells) {
      this.tiles.set(cell.index, before.get(cell.index) ?? new Tile(this, cell));
      before.delete(cell.index);
    }
    for (const tile of before.values()) tile.close();
    const cols = [...new Set(this.cells.map((cell) => cell.col))].sort((a, b) => a - b);
    const rows = [...new Set(this.cells.map((cell) => cell.row))];
    const heads = data.col_axis ? [this.makeHeads(cols)] : [];
    this.grid.replaceChildren(...heads, ...rows.map((row) => this.makeRow(row, cols)));
    this.grid.classList.toggle("mk-wall-headed", Boolean(data.row_axis));
    this.grid.classList.toggle("mk-wall-flow", !data.col_axis);
    this.grid.style.setProperty("--mk-cols", Math.max(1, cols.length));
    this.watch();
    this.fit();
    const focuses = hadFocus && !this.grid.contains(document.activeElement);
    if (focuses) queueMicrotask(() => this.focusTile());
  }

  makeHeads(cols) {
    const row = makeRole("mk-wall-line", "row");
    if (this.data.row_axis) row.append(makeRole("mk-wall-corner", "presentation"));
    for (const col of cols) {
      const head = makeRole("mk-wall-colhead", "columnheader");
      writeMarked(head, this.data.cols[col] ?? []);
      head.title = titleOf(this.data.col_axis, head.textContent);
      row.append(head);
    }
    return row;
  }

  makeRow(row, cols) {
    const { row_axis: rowAxis, col_axis: colAxis, rows } = this.data;
    const line = makeRole("mk-wall-line", "row");
    if (rowAxis) {
      const words = make("div", "mk-wall-lines mk-wall-rowwords");
      writeMarked(words, rows[row] ?? []);
      const head = makeRole("mk-wall-rowhead", "rowheader", words);
      head.title = titleOf(rowAxis, words.textContent);
      line.append(head);
    }
    for (const [at, col] of cols.entries()) {
      const place = makeRole("mk-wall-place", "presentation");
      const here = this.cells.filter((cell) => cell.row === row && cell.col === col);
      place.classList.toggle("mk-wall-several", here.length > 1 || !colAxis);
      for (const cell of here) {
        const tile = this.tiles.get(cell.index).root;
        set(tile, "aria-colindex", colAxis ? String(at + 1) : null);
        place.append(tile);
      }
      line.append(place);
    }
    return line;
  }

  drawFoot() {
    const { page, pages, before, found } = this.data;
    this.pager.hidden = pages < 2;
    this.previous.disabled = page === 0;
    this.next.disabled = page === pages - 1;
    const range = `${before + 1}–${before + this.cells.length} of ${found}`;
    write(this.pageText, `Page ${page + 1} of ${pages} · ${range}`);
  }

  // Compares results chosen elsewhere, once, as soon as the wall is on the page.
  begin() {
    if (!this.model.get("compares") || this.gone) return;
    this.model.set("compares", false);
    this.model.save_changes();
    if (this.head.canCompare) this.compare(this.chosen);
  }

  fit() {
    this.root.classList.toggle("mk-wall-narrow", this.root.clientWidth < NARROW_PX);
  }

  // All places have the shape of the first picture.
  takeShape() {
    const first = this.cells.map((cell) => this.posterOf(cell)).find(Boolean);
    if (!first || this.shaped) return;
    this.shaped = true;
    const picture = new Image();
    picture.onload = () => this.shapeAs(picture.naturalWidth, picture.naturalHeight);
    picture.src = first;
  }

  shapeAs(width, height) {
    if (!width || !height) return;
    this.shaped = true;
    const ratio = Math.max(0.5, Math.min(2.4, width / height));
    this.root.style.setProperty("--mk-ratio", ratio.toFixed(4));
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
      // Without a poster, the first frame is shown.
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
    this.head.drawTools();
  }

  rest() {
    this.playing = false;
    for (const { medium } of this.tiles.values()) if (isPlayer(medium)) medium.pause();
    this.head.drawTools();
  }

  // Focus and clicks.

  activate(index) {
    this.active = index;
    for (const [each, tile] of this.tiles) tile.root.tabIndex = each === index ? 0 : -1;
  }

  focusTile() {
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
    if (event.shiftKey || event.ctrlKey || event.metaKey) {
      if (twice) return;
      if (event.shiftKey) this.selectTo(tile.index);
      else this.toggleSelected(tile.index);
      return;
    }
    this.anchor = tile.index;
    if (twice) this.compare([tile.now]);
    else if (event.target.closest(".mk-wall-media")) tile.play();
  }

  goTo(cell) {
    if (!cell) return;
    this.activate(cell.index);
    this.focusTile();
  }

  // Ratings, tags and notes.

  async judge(cells, changes) {
    this.complain("");
    const able = cells.filter((index) => !(changes.rating || changes.keep) || this.cellAt(index)?.status !== "failed");
    const answer = this.request({ do: "judge", cells: able.length ? able : cells, changes });
    if (able.length) this.drawAgain();
    const { error, count } = await answer;
    if (error) this.complain(error);
    else this.say(this.judgedText(cells.length > 1 ? many(count, "result") : this.cellAt(cells[0]).name, changes));
  }

  areKept(cells) {
    const known = cells.map((index) => this.cellAt(index)).filter((cell) => cell && cell.status !== "failed");
    return known.length > 0 && known.every((cell) => cell.keep);
  }

  // Keeps all of them, or, if all are kept, none.
  keep(cells) {
    this.judge(cells, { keep: !this.areKept(cells) });
  }

  keepTogether(index) {
    if (this.can.judge && this.cellAt(index)?.job) this.keep(this.together(index));
  }

  judgedText(name, { rating, keep, tags }) {
    if (rating !== undefined) return rating ? `${name}: rated ${rating} of ${BEST}` : `${name}: not rated`;
    if (keep !== undefined) return `${name}: ${keep ? "kept" : "not kept"}`;
    return `${name}: ${tags ? "tags" : "note"} saved`;
  }

  editTags(tile) {
    if (!this.can.judge || !tile.cell.job) return;
    tile.edit("Tags, separated by commas", (tile.cell.tags ?? []).join(", "), (text) => {
      const tags = text.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean);
      this.judge([tile.index], { tags: [...new Set(tags)] });
    });
  }

  editNote(tile) {
    if (!this.can.judge || !tile.cell.job) return;
    tile.edit("Note", tile.cell.note ?? "", (note) => this.judge([tile.index], { note: note.trim() }));
  }

  // Actions of tiles.

  async retry(index) {
    const { retry: text } = this.cellAt(index);
    if (!this.can.retry || this.isWaiting("retry", index) || !text) return;
    const answer = this.request({ do: "retry", cell: index, text });
    this.draw();
    const { error, said } = await answer;
    if (error) this.complain(error);
    else if (said) this.head.tell(said);
  }

  openMenu(cells, place, first = "") {
    this.menu?.close();
    this.menu = new Menu(this, cells, place, first);
  }

  act(cells, offer, ticked) {
    if (offer.name === "download") this.download(this.cellAt(cells[0]), offer);
    else this.ask({ do: "act", cells, offer, ticked });
  }

  // The browser saves it, or the kernel does if pages cannot read from the storage.
  async download(cell, offer) {
    try {
      const blob = await fetchFile(cell.url, cell);
      const recipe = this.request({ do: "recipe", job: cell.job });
      handOver(await withRecipe(blob, recipe), offer.file);
      this.head.tell(`${offer.file} is in your browser's downloads.`);
    } catch {
      this.ask({ do: "act", cells: [cell.index], offer });
    }
  }

  // Selections.

  // What an act on a cell is for: all selected cells, if it is one of them.
  together(index) {
    return this.selected.has(index) ? [...this.selected].sort((a, b) => a - b) : [index];
  }

  // Selects the cells from the anchor to this one, in the order of the page.
  selectTo(index) {
    const order = this.cells.map((cell) => cell.index);
    const [from, to] = [Math.max(0, order.indexOf(this.anchor ?? index)), order.indexOf(index)];
    const range = this.cells.slice(Math.min(from, to), Math.max(from, to) + 1);
    this.selectOnly(new Set(range.filter(isSelectable).map((cell) => cell.index)));
  }

  toggleSelected(index) {
    if (!isSelectable(this.cellAt(index))) return;
    this.anchor = index;
    const selected = new Set(this.selected);
    if (!selected.delete(index)) selected.add(index);
    this.selectOnly(selected);
  }

  selectOnly(selected) {
    this.show({ selected: [...selected] });
    if (this.gone) return;
    this.selected = selected;
    this.say(`${many(selected.size, "cell")} selected`);
    for (const tile of this.tiles.values()) tile.drawSelected();
  }

  async compareChosen() {
    await this.shown; // the latest selection
    if (this.head.canCompare) this.compare(this.chosen);
    else this.say(this.head.compareButton.title);
  }

  compare(cells) {
    if (!cells.every(isShown) || this.sheet) return;
    this.rest();
    new Compare(this, cells).open();
  }

  blind() {
    if (!this.can.prefer || this.sheet || this.data.candidates < 2) return;
    this.rest();
    new Blind(this).open();
  }
}

function render({ model, el }) {
  const wall = new Wall(model, el);
  return () => wall.close();
}

export default { initialize: ({ model }) => keepCopies(model), render };
