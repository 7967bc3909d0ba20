// The tile of a cell: its result or state, its rating and its actions.

class Tile {
  constructor(wall, cell) {
    this.wall = wall;
    this.index = cell.index;
    this.root = makeRole("mk-wall-tile", "gridcell");
    this.root.dataset.index = cell.index;
    this.root.tabIndex = -1;
    this.box = make("div", "mk-wall-media");
    const select = () => wall.toggleSelected(this.index);
    this.select = this.button("✓", "Select (S)", select, "mk-wall-select");
    const { keep } = wall.acts;
    this.keep = this.button(keep.label, `${keep.hint} (${keep.key})`, () => wall.keepTogether(this.index), "mk-wall-keep");
    this.more = this.button("⋯", "More actions (A)", () => this.openMenu());
    this.open = this.button("⤢", "Open (Enter)", () => wall.compare([this.now]));
    this.keep.hidden = !wall.can.judge;
    this.over = makeBox("mk-wall-over", this.select, this.more, this.open, this.keep);
    this.stars = make("span", "mk-wall-stars");
    this.price = make("span");
    this.strip = makeBox("mk-small-print mk-wall-strip", this.stars, this.price);
    this.caption = make("div", "mk-small-print mk-wall-caption");
    // Its height is fixed: a tag must not move the tiles below.
    this.judgement = make("div", "mk-wall-said-of");
    this.judgement.hidden = !wall.can.judge;
    this.root.append(this.box, this.strip, this.caption, this.judgement);
    if (wall.can.judge) this.addStars();
    this.show(cell);
  }

  get hasMenu() {
    return Boolean(this.wall.can.tile && this.now?.has_menu);
  }

  get now() {
    return this.wall.cellAt(this.index);
  }

  button(text, words, press, name = "") {
    const act = (event) => {
      event.stopPropagation();
      this.wall.activate(this.index);
      press();
    };
    const button = makeButton(text, words, act, `mk-wall-mini ${name}`);
    button.tabIndex = -1; // each has its own key
    return button;
  }

  addStars() {
    for (let rating = 1; rating <= BEST; rating += 1) {
      const star = make("span", "mk-wall-star", "☆");
      star.addEventListener("click", (event) => {
        event.stopPropagation();
        this.wall.activate(this.index);
        this.wall.judge(this.wall.together(this.index), { rating });
      });
      this.stars.append(star);
    }
  }

  close() {
    if (isPlayer(this.medium)) letGo(this.medium);
    this.root.remove();
  }

  show(cell) {
    const shape = [cell.status, cell.medium, cell.url, cell.problem].join(" ");
    if (shape !== this.shape) this.drawBox(cell);
    this.shape = shape;
    this.cell = cell;
    this.root.classList.toggle("mk-wall-made", Boolean(cell.made));
    const poster = this.wall.posterOf(cell);
    if (this.medium?.tagName === "VIDEO" && poster && this.medium.getAttribute("poster") !== poster)
      this.medium.poster = poster;
    this.more.hidden = !this.hasMenu;
    this.drawState();
    this.drawJudgement();
    this.drawCaption();
    this.drawSelected();
  }

  drawBox(cell) {
    if (isPlayer(this.medium)) letGo(this.medium);
    this.medium = this.state = null;
    this.failed = false;
    this.box.dataset.status = cell.status;
    // It keeps its room, so that the tiles of a line are equally high.
    this.strip.style.visibility = isShown(cell) ? "" : "hidden";
    if (!isShown(cell) || !["video", "image", "audio"].includes(cell.medium)) {
      this.state = make("div", "mk-column mk-small-print mk-wall-state");
      this.box.replaceChildren(this.state, makeBox("mk-wall-over", this.select, this.more));
      return;
    }
    this.over.append(this.select, this.more, this.open, this.keep);
    const medium = makeMedium(cell, this.wall.posterOf(cell), { label: "" });
    this.medium = medium;
    medium.tabIndex = -1;
    if (cell.medium !== "audio") medium.setAttribute("aria-hidden", "true");
    this.copy = playCopy(this.wall, cell, medium, {
      waits: (reason) => this.wall.complain(reason),
      plays: (reason) => {
        this.wall.complain(reason);
        if (isPlayer(medium)) medium.play().catch(() => {});
      },
      poster: this.wall.posterOf(cell),
      fails: (problem) => this.fail(problem),
      waitsForPlay: true,
    });
    for (const name of ["loadedmetadata", "load"])
      medium.addEventListener(name, () => this.shapeWall());
    this.box.replaceChildren(medium, this.over);
  }

  // Without a poster, the first result determines the shape of the places.
  shapeWall() {
    const { videoWidth, videoHeight, naturalWidth, naturalHeight } = this.medium ?? {};
    if (!this.wall.shaped)
      this.wall.shapeAs(videoWidth || naturalWidth, videoHeight || naturalHeight);
  }

  async fail(problem) {
    this.wall.complain("");
    this.medium = null;
    const said = make("span", "", problem);
    this.state = makeBox("mk-column mk-small-print mk-wall-state", said, openLink(this.cell, "Open its URL"));
    this.box.replaceChildren(this.state, this.over);
    this.failed = true;
    if (await isGone(this.cell.url)) write(said, DELETED);
  }

  drawState() {
    if (!this.state || this.failed) return;
    const { cell, wall } = this;
    const word = isShown(cell) ? NO_RESULT : wall.wordOf(cell);
    this.retry ??= this.button("Retry", "", () => wall.retry(this.index), "mk-link mk-paid");
    const parts = [];
    const saysAll = ["completed", "failed"].includes(cell.status) || cell.problem?.startsWith(word);
    if (!cell.problem || !saysAll) parts.push(make("span", "", word));
    if (cell.problem) parts.push(make("span", "mk-wall-problem", cell.problem));
    const key = parts.map((part) => part.textContent).join("\n");
    if (wall.can.retry && cell.retry) parts.push(this.retry);
    this.retry.disabled = wall.isWaiting("retry", this.index);
    write(this.retry, this.retry.disabled ? "Sending again …" : (cell.retry ?? ""));
    if (key === this.stateKey && this.state.childElementCount === parts.length) return;
    this.stateKey = key;
    this.state.replaceChildren(...parts);
  }

  drawJudgement() {
    const { cell } = this;
    const stars = starsText(cell.rating);
    if (this.wall.can.judge) [...this.stars.children].forEach((star, at) => write(star, stars[at]));
    else write(this.stars, cell.rating ? stars : "");
    write(this.price, cell.price ?? "");
    write(this.keep, cell.keep ? "Kept" : "Keep");
    set(this.keep, "aria-pressed", String(Boolean(cell.keep)));
    const words = [cell.name, isShown(cell) ? (cell.medium ?? "") : this.wall.wordOf(cell, false)];
    words.push(cell.problem ?? "", ...judged(cell), cell.price ?? "");
    if (cell.tags) words.push(`tags ${cell.tags.join(", ")}`);
    if (cell.note) words.push(`note: ${cell.note}`);
    if (cell.scores) words.push(`scores: ${cell.scores}`);
    set(this.root, "aria-label", words.filter(Boolean).join(", "));
    const tags = (cell.tags ?? []).map((tag) => make("span", "mk-tag mk-cut", tag));
    const note = cell.note ? [make("span", "mk-wall-note mk-cut", cell.note)] : [];
    const scores = cell.scores ? [make("span", "mk-quiet mk-cut", cell.scores)] : [];
    this.judgement.replaceChildren(...tags, ...note, ...scores);
    this.judgement.title = [...this.judgement.children].map((each) => each.textContent).join(" ");
  }

  drawCaption() {
    const { cell } = this;
    const lines = [];
    if (cell.shows_prompt && cell.prompt) {
      lines.push(make("div", "mk-quiet mk-wall-lines"));
      writeMarked(lines.at(-1), cell.prompt);
    }
    if (cell.caption) lines.push(make("div", "mk-quiet mk-small-print", cell.caption));
    this.caption.replaceChildren(...lines);
    this.root.title = plain(cell.prompt);
  }

  drawSelected() {
    const selected = this.wall.selected.has(this.index);
    this.root.classList.toggle("mk-wall-selected", selected);
    set(this.root, "aria-selected", String(selected));
    set(this.select, "aria-pressed", String(selected));
    this.select.hidden = !isSelectable(this.cell);
  }

  play() {
    if (!isPlayer(this.medium)) return;
    if (this.medium.paused) this.start();
    else this.medium.pause();
  }

  start() {
    if (!this.medium.dataset.needsCopy) {
      this.medium.play().catch(() => {});
      return;
    }
    delete this.medium.dataset.needsCopy;
    this.copy();
  }

  // Opens the menu of further acts: of the selection, if this is part of it.
  openMenu(first = "") {
    const cells = this.wall.together(this.index);
    if (cells.length > 1 || this.hasMenu) this.wall.openMenu(cells, this.box, first);
  }

  // A small editor in the tile: Enter saves, Escape discards changes.
  edit(label, value, save) {
    this.editor?.remove();
    const form = make("label", "mk-frame mk-column mk-wall-editor");
    const box = make("input");
    Object.assign(box, { value, dir: "auto" });
    form.append(make("span", "mk-quiet mk-small-print", label), box);
    let isOpen = true;
    const close = (saves) => {
      if (!isOpen) return;
      isOpen = false;
      if (saves && box.value !== value) save(box.value);
      form.remove();
      if (this.editor === form) this.editor = null;
    };
    box.addEventListener("keydown", (event) => {
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation(); // Ctrl+Enter would run the cell, which may send unsent requests
      close(event.key === "Enter");
      this.root.focus();
    });
    box.addEventListener("blur", () => close(true));
    form.addEventListener("click", (event) => event.stopPropagation());
    this.editor = form;
    this.root.append(form);
    box.focus();
    box.select();
  }
}
