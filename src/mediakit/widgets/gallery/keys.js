// The keys of the wall: the list below it, and their effects.

// The wall's own keys; those of acts come from the kernel.
const WALL_KEYS = [
  ["Space", "play"],
  ["← ↑ → ↓", "move"],
  ["Enter", "open"],
  ["S, Ctrl+click", "select"],
  ["Shift+arrow, Shift+click", "select several"],
  ["Esc", "clear the selection"],
  ["C", "compare"],
  ["A", "actions", "tile"],
  ["R", "go to Retry", "retry"],
  ["B", "blind A/B", "prefer"],
  ["/", "filter"],
];
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };

class Keyboard {
  constructor(wall) {
    this.wall = wall;
    // Acts with a key that judge a result, or open its menu at the act.
    const isHere = ({ key, places }) =>
      key && ((wall.can.judge && places.includes("tile")) || (wall.can.tile && places.includes("menu")));
    this.acts = Object.values(wall.acts).filter(isHere);
    wall.grid.addEventListener("keydown", (event) => this.onKeyDown(event));
  }

  // The keys and their names, for the list below the wall.
  get list() {
    const acts = this.acts.map(({ key, label }) => [key, label.toLowerCase()]);
    return [...acts, ...WALL_KEYS.filter(([, , can]) => !can || this.wall.can[can])];
  }

  onKeyDown(event) {
    const root = event.target.closest(".mk-wall-tile");
    if (!root || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, audio")) return;
    if (event.target.closest("button") && ["Enter", " "].includes(event.key)) return;
    const tile = this.wall.tiles.get(Number(root.dataset.index));
    if (tile && this.press(event.key, tile, event.shiftKey)) event.preventDefault();
  }

  // Returns whether the key has an effect here.
  press(key, tile, isShifted) {
    if (key in ARROWS) return isShifted ? this.extend(ARROWS[key]) : this.move(ARROWS[key]);
    if (this.judgeKey(this.wall.together(tile.index), key) || this.actKey(tile, key)) return true;
    const acts = {
      " ": () => tile.play(),
      Enter: () => this.wall.compare([tile.now]),
      a: () => tile.openMenu(),
      s: () => this.wall.toggleSelected(tile.index),
      c: () => this.wall.compareChosen(),
      b: () => this.wall.blind(),
      r: () => tile.retry?.focus(), // only Enter or Space on a button pays
      "/": () => this.wall.filters.open(),
      Home: () => this.wall.goTo(this.wall.cells[0]),
      End: () => this.wall.goTo(this.wall.cells.at(-1)),
      PageUp: () => this.wall.turn(-1),
      PageDown: () => this.wall.turn(1),
      Escape: () => this.wall.selectOnly(new Set()),
    };
    const act = acts[key.length === 1 ? key.toLowerCase() : key];
    act?.();
    return Boolean(act);
  }

  // Returns whether the key belongs to an act, and opens its editor or menu.
  actKey(tile, key) {
    const act = this.acts.find((each) => each.key.toLowerCase() === key.toLowerCase());
    const edit = { tags: () => this.wall.editTags(tile), note: () => this.wall.editNote(tile) };
    if (act) (edit[act.name] ?? (() => tile.openMenu(act.name)))();
    return Boolean(act);
  }

  move(way) {
    const at = this.wall.cells.findIndex((cell) => cell.index === this.wall.active);
    const by = { left: -1, right: 1 }[way];
    if (by === undefined) this.wall.goTo(this.nearest(way));
    else if (this.wall.cells[at + by]) this.wall.goTo(this.wall.cells[at + by]);
    else this.wall.turn(by, { last: by < 0 });
    this.wall.anchor = this.wall.active;
    return true;
  }

  // Selects up to the next cell on the page.
  extend(way) {
    const { wall } = this;
    const at = wall.cells.findIndex((cell) => cell.index === wall.active);
    const by = { left: -1, right: 1 }[way];
    const next = by === undefined ? this.nearest(way) : wall.cells[at + by];
    wall.anchor ??= wall.active;
    wall.goTo(next);
    wall.selectTo(wall.active);
    return true;
  }

  // The nearest cell in the next line up or down, by its position on the page.
  nearest(way) {
    const box = ({ index }) => this.wall.tiles.get(index).root.getBoundingClientRect();
    const from = box({ index: this.wall.active });
    const sign = way === "up" ? -1 : 1;
    const others = this.wall.cells
      .map((cell) => ({ cell, box: box(cell) }))
      .map((each) => ({ ...each, down: sign * (each.box.top - from.top), across: Math.abs(each.box.left - from.left) }))
      .filter(({ down }) => down > from.height / 2)
      .sort((one, other) => one.down - other.down || one.across - other.across);
    const line = others.filter(({ down }) => down < others[0].down + from.height / 2);
    return line.sort((one, other) => one.across - other.across)[0]?.cell;
  }

  // Returns whether the key rates or keeps the results.
  judgeKey(cells, key) {
    if (!this.wall.can.judge || !cells.some((index) => this.wall.cellAt(index)?.job)) return false;
    if (/^[0-5]$/.test(key)) this.wall.judge(cells, { rating: Number(key) || null });
    else if (key.toLowerCase() === this.wall.acts.keep.key.toLowerCase()) this.wall.keep(cells);
    else return false;
    return true;
  }
}
