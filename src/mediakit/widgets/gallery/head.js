// The head of the wall: the title, its buttons, the figures, and messages.

const SAY_EVERY_MS = 10_000;
const TOLD_MS = 6000;

// The Jupyter server's URL of a file on the kernel's machine; "" if the server does not
// serve it, or there is no server.
const serverUrl = (path, home) => {
  const config = document.getElementById("jupyter-config-data")?.textContent;
  const { baseUrl, serverRoot } = config ? JSON.parse(config) : {};
  const root = serverRoot?.replace(/^~/, home).replace(/\/$/, "");
  if (!baseUrl || !root || !path.startsWith(`${root}/`)) return "";
  const parts = path.slice(root.length + 1).split("/");
  return `${baseUrl}files/${parts.map(encodeURIComponent).join("/")}`;
};

class Head {
  constructor(wall) {
    this.wall = wall;
    const { stop } = wall.acts;
    const button = (text, press) => makeButton(text, "", press);
    this.title = make("h3", "mk-heading");
    this.playAll = button("Play all", () => wall.togglePlaying());
    this.compareButton = button("Compare", () => wall.compareChosen());
    this.actsButton = button("", () => wall.openMenu(wall.together([...wall.selected][0]), this.actsButton));
    this.blindButton = button("Blind A/B", () => wall.blind());
    const exportButton = button("Export all", () => wall.ask({ do: "export" }));
    this.stopButton = button("Stop", () => wall.ask({ do: "stop" }));
    this.stopButton.title = "Send no more cells; jobs that were already sent continue";
    this.restButton = makeButton("", "", () => wall.sendRest(), "mk-paid mk-wall-rest");
    this.restButton.title = "Send the remaining unsent cells; you pay when they complete";
    this.blindButton.hidden = !wall.can.prefer;
    exportButton.hidden = !wall.can.export;
    const { playAll, compareButton, actsButton, blindButton } = this;
    const buttons = [this.stopButton, playAll, compareButton, actsButton, blindButton, wall.filters.button, exportButton];
    const tools = makeBox("mk-row", ...buttons);
    const bar = makeBox("mk-row mk-wall-between", this.title, tools);
    this.toldText = makeRole("", "status");
    const dismiss = makeButton("×", "Dismiss", () => this.tell(""), "mk-wall-mini");
    this.told = makeBox("mk-frame mk-row mk-wall-told", this.toldText, dismiss);
    this.told.hidden = true;
    this.waitText = makeRole("mk-warn", "status");
    this.endButton = makeButton(stop.label, stop.hint, () => wall.ask({ do: "stop_sending" }));
    this.waits = makeBox("mk-row mk-delay", this.waitText, this.endButton);
    this.sending = { text: "", can_stop: false };
    this.figures = make("div", "mk-flow mk-wall-figures-row");
    this.progressBar = makeRole("mk-bar", "progressbar", make("i"), make("i"), make("i"));
    this.progressText = make("div", "mk-quiet mk-small-print");
    const progress = makeBox("mk-wall-progress", this.progressBar, this.progressText);
    const facts = makeBox("mk-row mk-wall-between mk-wall-facts", this.figures, progress);
    this.sentence = make("div", "mk-quiet mk-small-print mk-wall-lines mk-wall-prompt-line");
    this.parts = [bar, this.told, this.waits, facts, this.restButton, this.sentence];
  }

  get canCompare() {
    return !this.compareButton.disabled;
  }

  // Shows a sentence for a while, or until it is dismissed.
  tell(text, tone = "good", link = "") {
    clearTimeout(this.toldTimer);
    this.toldText.replaceChildren(text, ...(link ? [" ", makeLink(link, "Open the report")] : []));
    this.told.hidden = !text;
    this.told.dataset.tone = tone;
    if (text) this.toldTimer = setTimeout(() => this.untell(), TOLD_MS);
  }

  // Not while the user is reading it.
  untell() {
    if (this.told.matches(":hover, :focus-within")) this.toldTimer = setTimeout(() => this.untell(), TOLD_MS);
    else this.tell("");
  }

  close() {
    clearTimeout(this.sayTimer);
    clearTimeout(this.toldTimer);
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
    this.announcedProgress ??= data.progress;
    this.drawWaits();
    this.drawTools();
  }

  // Messages about requested actions, and reasons why cells wait.
  showSending(sending) {
    this.sending = sending;
    this.drawWaits();
  }

  drawWaits() {
    const { text, can_stop: canStop } = this.sending;
    write(this.waitText, [text, this.wall.data.waits].filter(Boolean).join(" "));
    this.waits.hidden = !this.waitText.textContent;
    this.endButton.hidden = !canStop;
  }

  drawTools() {
    const { wall } = this;
    const { chosen_count: count, compared_at_most: most } = wall.data;
    this.playAll.hidden = !wall.cells.some((cell) => isShown(cell) && cell.medium !== "image");
    write(this.playAll, wall.playing ? "Pause all" : "Play all");
    const what = wall.selected.size ? "selected" : "kept";
    write(this.compareButton, count > 1 ? `Compare ${count} ${what}` : "Compare");
    this.compareButton.disabled = count < 2 || count > most;
    this.compareButton.title = this.canCompare
      ? `Compare the ${count} ${what} results (C)`
      : `Select two to ${most} results first (S)`;
    this.actsButton.hidden = wall.selected.size < 2;
    write(this.actsButton, `Actions for ${wall.selected.size}…`);
    this.actsButton.title = `Rate, keep, save or send again the ${many(wall.selected.size, "selected cell")} (A)`;
    this.blindButton.disabled = wall.data.candidates < 2;
    this.stopButton.hidden = !wall.can.stop || !wall.data.can_stop;
    this.restButton.hidden = !wall.can.rest || !wall.data.rest;
    this.restButton.disabled = wall.isWaiting("rest");
    write(this.restButton, this.restButton.disabled ? "Sending …" : (wall.data.rest ?? ""));
  }

  // Announces the progress now and then while cells run, and always the final state.
  sayProgress() {
    clearTimeout(this.sayTimer);
    const { running, total, progress } = this.wall.data;
    if (!total || progress === this.announcedProgress) return;
    const waitMs = running ? SAY_EVERY_MS - (performance.now() - (this.announcedMs ?? 0)) : 0;
    if (waitMs > 0) {
      this.sayTimer = setTimeout(() => this.sayProgress(), waitMs);
      return;
    }
    this.announcedMs = performance.now();
    this.announcedProgress = progress;
    this.wall.say(progress);
  }
}
