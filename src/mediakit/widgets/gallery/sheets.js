// Modal sheets above the wall, such as results side by side.

class Sheet {
  constructor(wall, title) {
    this.wall = wall;
    this.dialog = make("dialog", "mk-frame mk-wall-sheet");
    this.dialog.setAttribute("aria-label", title);
    this.dialog.tabIndex = -1;
    this.title = make("h3", "mk-heading", title);
    const close = makeButton("Close", "Close (Escape)", () => this.dialog.close());
    this.tools = makeBox("mk-row", close);
    const bar = makeBox("mk-row mk-wall-between", this.title, this.tools);
    this.body = make("div", "mk-wall-sheet-body");
    this.dialog.append(bar, this.body);
    this.dialog.addEventListener("close", () => this.end());
    this.dialog.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("click", (event) => {
      const { left, right, top, bottom } = this.dialog.getBoundingClientRect();
      const { clientX: x, clientY: y } = event;
      const beside = x < left || x > right || y < top || y > bottom;
      if (event.target === this.dialog && beside) this.dialog.close();
    });
  }

  open() {
    this.wall.root.append(this.dialog);
    this.wall.sheet = this;
    this.dialog.showModal();
  }

  end() {
    this.cleared?.();
    this.dialog.remove();
    this.wall.sheet = null;
    this.wall.focusTile();
  }

  key() {}
  updates() {}
}

// A result at its full size, or the copy of it that plays here.
const makeLarge = (wall, cell, poster, label, trouble, plays) => {
  const medium = makeMedium(cell, poster, { preload: "auto", label });
  // The poster is small, so the first frame replaces it at full size once it is loaded.
  medium.addEventListener("loadeddata", () => medium.removeAttribute("poster"));
  playCopy(wall, cell, medium, {
    poster: poster ?? "",
    waits: (reason) => write(trouble, reason),
    plays: (reason) => {
      write(trouble, reason);
      plays();
    },
    fails: async (problem) => {
      write(trouble, problem);
      if (await isGone(cell.url)) write(trouble, DELETED);
    },
  });
  return medium;
};

// One to nine results side by side, or two of them behind a slider.
class Compare extends Sheet {
  constructor(wall, cells) {
    const [first] = cells;
    super(wall, cells.length > 1 ? `Compare ${cells.length}` : first.name);
    this.cells = cells;
    this.figures = make("div", "mk-wall-figures");
    this.figures.dataset.count = cells.length;
    this.views = cells.map((cell) => this.makeFigure(cell));
    this.figures.append(...this.views.map((view) => view.figure));
    this.body.append(this.figures);
    const players = this.views.map((view) => view.medium).filter((m) => m.tagName === "VIDEO");
    if (players.length) {
      this.transport = new Transport(players);
      this.body.append(this.transport.root);
    }
    this.hint = make("div", "mk-wall-foot");
    const isPair = cells.length === 2 && cells[0].medium === cells[1].medium;
    if (isPair && first.medium !== "audio") this.addWipe();
    this.drawKeys();
    this.body.append(this.hint);
    this.cleared = () => this.transport?.close();
  }

  drawKeys() {
    const keys = [];
    if (this.transport) keys.push(["Space", "play"], ["← →", "one frame"]);
    if (this.wipe) keys.push(["W", "wipe"]);
    const { rate, keep } = this.wall.acts;
    if (this.wall.can.judge && !this.isWiping)
      keys.push([rate.key, `${rate.label.toLowerCase()} the focused one`], [keep.key, `${keep.label.toLowerCase()} it`]);
    keys.push(["Escape", "close"]);
    this.hint.replaceChildren(makeKeys(keys, { isOpen: true }));
  }

  makeFigure(cell) {
    const figure = make("figure", "mk-wall-figure");
    figure.tabIndex = 0;
    figure.dataset.index = cell.index;
    const caption = make("figcaption", "mk-small-print");
    const trouble = make("div", "mk-wall-problem");
    const poster = this.wall.posterOf(cell);
    const medium = makeLarge(this.wall, cell, poster, cell.name, trouble, () => this.transport?.load());
    figure.append(makeBox("mk-wall-stage", medium), caption, trouble);
    const view = { figure, medium, caption };
    this.drawCaption(view, cell);
    return view;
  }

  drawCaption({ figure, caption }, cell) {
    const facts = [starsText(cell.rating), cell.keep ? "kept" : "", cell.price, cell.caption];
    const head = make("div", "mk-row");
    const isPrompt = cell.prompt && plain(cell.prompt) === cell.name; // shown once
    const name = make(isPrompt ? "span" : "b", "", cell.name);
    if (isPrompt) writeMarked(name, cell.prompt);
    head.append(name, openLink(cell, "Open"));
    const lines = [head, make("div", "mk-quiet mk-small-print", facts.filter(Boolean).join(" · "))];
    if (cell.prompt && !isPrompt) {
      lines.push(make("div"));
      writeMarked(lines.at(-1), cell.prompt);
    }
    const asides = [cell.tags?.map((tag) => `#${tag}`).join(" "), cell.note, cell.scores, cell.job];
    for (const text of asides.filter(Boolean)) lines.push(make("div", "mk-quiet mk-small-print", text));
    caption.replaceChildren(...lines);
    figure.setAttribute("aria-label", [cell.name, ...judged(cell)].join(", "));
  }

  addWipe() {
    const label = "How much of the first one is shown, in percent";
    this.wipe = makeSlider(label, { max: 100, step: 0.5, value: 50 });
    this.wipe.addEventListener("input", () => this.wipeTo(Number(this.wipe.value)));
    this.wiper = make("label", "mk-row mk-transport");
    this.wiper.append(make("span", "", "Wipe"), this.wipe);
    this.wiper.hidden = true;
    this.mode = makeButton("Wipe", "", () => this.toggleWipe());
    this.tools.prepend(this.mode);
    this.figures.after(this.wiper);
    const drag = (event) => {
      if (this.isWiping && event.buttons & 1) this.wipeAt(event);
    };
    this.figures.addEventListener("pointerdown", drag);
    this.figures.addEventListener("pointermove", drag);
    this.wipeTo(50);
    if (this.views[0].medium.tagName === "IMG") this.toggleWipe();
  }

  // Both results share one place then, so a key cannot refer to one of them.
  get isWiping() {
    return this.wipe && !this.wiper.hidden;
  }

  toggleWipe() {
    const on = this.wiper.hidden;
    this.wiper.hidden = !on;
    this.figures.classList.toggle("mk-wall-wipe", on);
    write(this.mode, on ? "Side by side" : "Wipe");
    this.mode.setAttribute("aria-pressed", String(on));
    this.drawKeys();
  }

  wipeAt(event) {
    event.preventDefault();
    const { left, width } = this.views[0].medium.getBoundingClientRect();
    const at = Math.max(0, Math.min(100, (100 * (event.clientX - left)) / width));
    this.wipe.value = at;
    this.wipeTo(at);
  }

  wipeTo(percent) {
    this.figures.style.setProperty("--mk-at", `${percent}%`);
  }

  open() {
    super.open();
    this.views[0].figure.focus();
    this.transport?.load();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inControl = event.target.matches("input, button, a, audio");
    const figure = event.target.closest?.(".mk-wall-figure");
    const cell = figure && this.cellOf(figure);
    if (event.key === " " && this.transport && !inControl) this.transport.group.toggle();
    else if (event.key.startsWith("Arrow") && !inControl) this.move(event.key);
    else if (event.key.toLowerCase() === "w" && this.wipe) this.toggleWipe();
    else if (!cell || inControl || this.isWiping || !this.wall.keyboard.judgeKey([cell.index], event.key)) return;
    event.preventDefault();
  }

  move(key) {
    if (this.transport) this.transport.step(key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1);
  }

  cellOf(figure) {
    const index = Number(figure.dataset.index);
    return this.wall.cellAt(index) ?? this.cells.find((cell) => cell.index === index);
  }

  updates() {
    for (const view of this.views) this.drawCaption(view, this.cellOf(view.figure));
  }
}
