// One cell on the page: its result or how it stands, its rating, and small editors.

class Tile {
  constructor(wall, cell) {
    this.wall = wall;
    this.index = cell.index;
    this.root = make("div", "mk-wall-tile");
    this.root.setAttribute("role", "gridcell");
    this.root.dataset.index = cell.index;
    this.root.tabIndex = -1;
    this.box = make("div", "mk-wall-media");
    this.bar = make("div", "mk-wall-bar");
    this.stars = make("span", "mk-wall-stars");
    this.price = make("span", "mk-wall-price");
    this.bar.append(this.stars, this.price);
    this.over = make("div", "mk-wall-over");
    this.select = this.button("✓", "Select for comparing (S)", () => wall.toggleSelected(this.index));
    this.select.classList.add("mk-wall-select");
    this.keep = this.button("Keep", "Keep (K)", () => wall.judgeKey(wall.cellAt(this.index), "k"));
    this.open = this.button("⤢", "Open (Enter)", () => wall.compare([wall.cellAt(this.index)]));
    this.over.append(this.select, this.keep, this.open);
    this.caption = make("div", "mk-wall-caption");
    this.root.append(this.box, this.caption);
    if (wall.can.judge) this.addStars();
    else this.keep.hidden = true;
    this.show(cell);
  }

  button(text, words, press) {
    const button = makeButton("mk-wall-mini", text, words, (event) => {
      event.stopPropagation();
      this.wall.activate(this.index);
      press();
    });
    button.tabIndex = -1; // every one of them has a key of its own
    return button;
  }

  addStars() {
    for (let rating = 1; rating <= BEST; rating += 1) {
      const star = make("span", "mk-wall-star", "☆");
      star.addEventListener("click", (event) => {
        event.stopPropagation();
        this.wall.activate(this.index);
        this.wall.judge(this.wall.cellAt(this.index), { rating });
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
    this.showPoster();
    this.drawState();
    this.drawJudgement();
    this.drawCaption();
    this.drawSelected();
  }

  drawBox(cell) {
    if (isPlayer(this.medium)) letGo(this.medium);
    this.medium = null;
    this.state = null;
    this.box.dataset.status = cell.status;
    if (isShown(cell) && ["video", "image", "audio"].includes(cell.medium)) {
      this.medium = makeMedium(cell, this.wall.posterOf(cell), { label: "" });
      this.medium.tabIndex = -1;
      if (cell.medium !== "audio") this.medium.setAttribute("aria-hidden", "true");
      const { medium } = this;
      this.copy = playCopy(this.wall, cell, medium, {
        waits: () => this.wall.complain(COPYING),
        plays: () => {
          this.wall.complain("");
          medium.play().catch(() => {});
        },
        fails: (problem) => this.fail(problem),
        waitsForPlay: true,
      });
      for (const name of ["loadedmetadata", "load"])
        this.medium.addEventListener(name, () => this.shapeWall());
      for (const name of ["play", "pause"])
        this.medium.addEventListener(name, () => this.drawPlaying());
      this.box.replaceChildren(this.medium, this.bar, this.over);
      this.drawPlaying();
      return;
    }
    this.state = make("div", "mk-wall-state");
    this.box.replaceChildren(this.state, ...(isShown(cell) ? [this.bar] : []));
  }

  // Where no poster tells the shape of the places, the first result does.
  shapeWall() {
    const { videoWidth, videoHeight, naturalWidth, naturalHeight } = this.medium ?? {};
    if (!this.wall.shaped)
      this.wall.shapeAs(videoWidth || naturalWidth, videoHeight || naturalHeight);
  }

  drawPlaying() {
    this.root.classList.toggle("mk-wall-plays", isPlayer(this.medium) && !this.medium.paused);
  }

  fail(problem) {
    if (this.wall.trouble.textContent === COPYING) this.wall.complain("");
    this.medium = null;
    this.state = make("div", "mk-wall-state");
    const link = make("a", "", "Open its address");
    Object.assign(link, { href: this.cell.url, target: "_blank", rel: "noopener noreferrer" });
    this.state.append(make("span", "", problem), link);
    this.box.replaceChildren(this.state, this.bar, this.over);
    this.failed = true;
  }

  showPoster() {
    const poster = this.wall.posterOf(this.cell);
    if (this.medium?.tagName !== "VIDEO") return;
    if (poster && this.medium.getAttribute("poster") !== poster) this.medium.poster = poster;
  }

  drawState() {
    if (!this.state || this.failed) return;
    const { cell } = this;
    const word = cell.status === "running" ? this.wall.runningText(cell) : NOT_RUNNING[cell.status];
    this.retry ??= this.button("Retry", "", () => this.wall.retry(this.index));
    const parts = [];
    if (cell.status !== "failed" || !cell.problem) parts.push(make("span", "", word));
    if (cell.problem) parts.push(make("span", "mk-wall-problem", cell.problem));
    const key = parts.map((part) => part.textContent).join("\n");
    if (this.wall.can.retry && ["failed", "unsent"].includes(cell.status)) parts.push(this.retry);
    this.retry.disabled = this.wall.isRetrying(this.index);
    write(this.retry, this.retry.disabled ? "Sending again …" : "Retry (R)");
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
    this.root.classList.toggle("mk-wall-kept", Boolean(cell.keep));
    write(this.keep, cell.keep ? "Kept" : "Keep");
    this.keep.setAttribute("aria-pressed", String(Boolean(cell.keep)));
    const words = [this.wall.nameOf(cell)];
    words.push(cell.status === "running" ? "running" : isShown(cell) ? (cell.medium ?? "") : NOT_RUNNING[cell.status]);
    words.push(cell.problem ?? "", ...judged(cell), cell.price ?? "");
    if (cell.tags) words.push(`tags ${cell.tags.join(", ")}`);
    if (cell.note) words.push(`note: ${cell.note}`);
    set(this.root, "aria-label", words.filter(Boolean).join(", "));
  }

  drawCaption() {
    const { cell, wall } = this;
    const lines = [];
    if (wall.data.shows_prompt && cell.prompt) {
      lines.push(make("div", "mk-wall-prompt"));
      writeMarked(lines.at(-1), wall.promptOf(cell));
    }
    if (cell.caption) lines.push(make("div", "mk-wall-soft", cell.caption));
    const tags = (cell.tags ?? []).map((tag) => make("span", "mk-wall-tag", tag));
    if (tags.length) lines.push(make("div", "mk-wall-tags"));
    lines.at(-1)?.append(...tags);
    if (cell.note) lines.push(make("div", "mk-wall-note", cell.note));
    this.caption.replaceChildren(...lines);
    this.root.title = cell.prompt ? plain(wall.promptOf(cell)) : "";
  }

  drawSelected() {
    const selected = this.wall.selected.has(this.index);
    this.root.classList.toggle("mk-wall-selected", selected);
    set(this.root, "aria-selected", String(selected));
    this.select.setAttribute("aria-pressed", String(selected));
    this.select.hidden = !isShown(this.cell);
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

  // A small editor in the tile: Enter saves, Escape leaves it as it was.
  edit(label, value, save) {
    this.editor?.remove();
    const form = make("label", "mk-wall-editor");
    const box = make("input");
    box.value = value;
    form.append(make("span", "", label), box);
    let isOpen = true;
    const close = (saves) => {
      if (!isOpen) return;
      isOpen = false;
      if (saves && box.value !== value) save(box.value);
      form.remove();
      if (this.editor === form) this.editor = null;
    };
    box.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
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
