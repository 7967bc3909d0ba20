// What stands above the tiles: the title and its buttons, the figures, and what was done.

const SAY_EVERY_MS = 10_000;
const COMPARE_AT_MOST = 9;

class Head {
  constructor(wall) {
    this.wall = wall;
    const button = (text, press) => makeButton(text, "", press);
    this.title = make("h3", "mk-heading");
    this.playAll = button("Play all", () => wall.togglePlaying());
    this.compareButton = button("Compare", () => wall.compareChosen());
    this.blindButton = button("Blind A/B", () => wall.blind());
    const exportButton = button("Export all", () => wall.ask({ do: "export" }));
    this.blindButton.hidden = !wall.can.prefer;
    exportButton.hidden = !wall.can.export;
    const { playAll, compareButton, blindButton } = this;
    const buttons = [playAll, compareButton, blindButton, wall.filters.button, exportButton];
    const tools = makeBox("mk-row", ...buttons);
    const bar = makeBox("mk-row mk-wall-between", this.title, tools);
    this.toldText = makeRole("", "status");
    const dismiss = makeButton("×", "Dismiss", () => this.tell(""), "mk-wall-mini");
    this.told = makeBox("mk-frame mk-row mk-wall-told", this.toldText, dismiss);
    this.told.hidden = true;
    this.figures = make("div", "mk-flow mk-wall-figures-row");
    this.progressBar = makeRole("mk-bar", "progressbar", make("i"), make("i"), make("i"));
    this.progressText = make("div", "mk-quiet mk-small-print");
    const progress = makeBox("mk-wall-progress", this.progressBar, this.progressText);
    const facts = makeBox("mk-row mk-wall-between mk-wall-facts", this.figures, progress);
    this.sentence = make("div", "mk-quiet mk-small-print mk-wall-lines mk-wall-prompt-line");
    this.parts = [bar, this.told, facts, this.sentence];
  }

  get canCompare() {
    return !this.compareButton.disabled;
  }

  // A sentence that everybody sees until it is dismissed.
  tell(text) {
    write(this.toldText, text);
    this.told.hidden = !text;
  }

  draw() {
    const { data } = this.wall;
    write(this.title, data.title || "Results");
    const figures = data.figures.map(([figure, name]) =>
      makeBox("", make("b", "", figure), make("span", "mk-quiet mk-small-print", name)),
    );
    this.figures.replaceChildren(...figures);
    const part = (count) => `${data.total ? (100 * count) / data.total : 0}%`;
    const counts = [data.completed, data.running, data.failed];
    counts.forEach((count, at) => (this.progressBar.children[at].style.width = part(count)));
    set(this.progressBar, "aria-label", "Completed cells");
    set(this.progressBar, "aria-valuemin", "0");
    set(this.progressBar, "aria-valuemax", String(data.total));
    set(this.progressBar, "aria-valuenow", String(data.completed));
    set(this.progressBar, "aria-valuetext", data.progress);
    write(this.progressText, data.progress);
    write(this.sentence, data.sentence);
    this.sentence.title = data.sentence;
    this.saidProgress ??= data.progress;
    this.drawTools();
  }

  drawTools() {
    const { wall } = this;
    const count = wall.data.chosen_count;
    this.playAll.hidden = !wall.cells.some((cell) => isShown(cell) && cell.medium !== "image");
    write(this.playAll, wall.playing ? "Pause all" : "Play all");
    const what = wall.selected.size ? "selected" : "kept";
    write(this.compareButton, count > 1 ? `Compare ${count} ${what}` : "Compare");
    this.compareButton.disabled = count < 2 || count > COMPARE_AT_MOST;
    this.compareButton.title = this.canCompare
      ? `Compare the ${count} ${what} results (C)`
      : `Select two to ${COMPARE_AT_MOST} results first (S)`;
    this.blindButton.disabled = wall.data.candidates < 2;
  }

  // Said aloud now and then, and in the end.
  sayProgress() {
    const now = performance.now();
    const { running, total, progress } = this.wall.data;
    const over = !running && this.wasRunning;
    this.wasRunning = running > 0;
    if (progress === this.saidProgress) return;
    this.saidProgress = progress;
    if (!total || (!over && now - (this.saidMs ?? 0) < SAY_EVERY_MS)) return;
    this.saidMs = now;
    this.wall.say(progress);
  }
}
