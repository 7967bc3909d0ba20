// Blind A/B: shows pairs of results without their names, then the ranking. The kernel
// chooses the pairs and counts the stored answers.

class Blind extends Sheet {
  constructor(wall) {
    super(wall, "Which one is better?");
    this.id = String(Math.random());
    this.count = 0;
    this.trouble = makeRole("mk-error", "alert");
    this.figures = make("div", "mk-wall-figures");
    this.figures.dataset.count = 2;
    this.status = makeRole("mk-quiet mk-small-print", "status");
    const answer = (text, side) => makeButton(text, "", () => this.answer(side));
    this.answers = makeBox(
      "mk-row mk-wall-answers",
      answer("1 · First is better", 0),
      answer("0 · Tie", null),
      answer("2 · Second is better", 1),
    );
    this.finish = makeButton("Finish", "Finish (Escape)", () => this.rank());
    this.tools.replaceChildren(this.finish);
    this.body.append(this.figures, this.answers, this.trouble, this.status);
    // The first Escape ends the questions, the second one closes the ranking.
    this.dialog.addEventListener("cancel", (event) => {
      if (this.isOver || !this.count) return;
      event.preventDefault();
      this.rank();
    });
    this.cleared = () => this.clear();
  }

  open() {
    super.open();
    this.ask({ do: "pair" });
  }

  clear() {
    this.group?.close();
    this.group = null;
  }

  // Asks for the next pair; an answer counts once the kernel has stored it.
  async ask(message) {
    this.waits = true;
    const { error, pair, count, left } = await this.wall.request({ ...message, sitting: this.id });
    this.waits = false;
    if (this.isOver) return;
    const stored = message.do === "prefer" ? "The preference was not saved: " : "";
    write(this.trouble, error ? `${stored}${error}` : "");
    if (error) return;
    this.count = count;
    if (pair.length) this.draw(pair, left);
    else this.rank();
  }

  draw(pair, left) {
    this.clear();
    this.pair = Math.random() < 0.5 ? pair : [pair[1], pair[0]];
    const players = [];
    const figures = this.pair.map((cell, side) => {
      const words = side ? "Second" : "First";
      const figure = make("figure", "mk-wall-figure");
      const medium = makeLarge(this.wall, cell, "", words, this.trouble, () => this.play(players));
      if (medium.tagName === "VIDEO") players.push(medium);
      const caption = make("figcaption", "mk-quiet mk-small-print", words);
      figure.append(makeBox("mk-wall-stage", medium), caption);
      return figure;
    });
    this.figures.replaceChildren(...figures);
    const saved = this.count ? `${many(this.count, "answer")} saved. ` : "";
    write(this.status, `${saved}${many(left, "pair")} left; the most informative come first.`);
    // Do not focus an answer: Space would give it.
    this.dialog.focus({ preventScroll: true });
    if (players.length) this.play(players);
  }

  async play(players) {
    this.group?.pause();
    const group = new PlayerGroup(players, () => {});
    this.group = group;
    await group.load();
    if (this.group === group) await group.play();
  }

  answer(side) {
    if (this.isOver || this.waits || !this.pair) return;
    const [first, second] = this.pair;
    const [winner, loser] = side === 1 ? [second, first] : [first, second];
    this.ask({ do: "prefer", winner: winner.job, loser: loser.job, tie: side === null });
  }

  key(event) {
    const sides = { 1: 0, 2: 1, 0: null };
    if (this.isOver || !(event.key in sides) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) this.answer(sides[event.key]);
  }

  async rank() {
    if (this.isOver) return;
    this.clear();
    this.isOver = true;
    write(this.title, "Ranking");
    this.dialog.setAttribute("aria-label", this.title.textContent);
    const list = make("ol", "mk-wall-ranking");
    this.body.replaceChildren(list, this.trouble, this.status);
    write(this.status, "");
    this.finish.replaceWith(makeButton("Close", "Close (Escape)", () => this.dialog.close()));
    this.tools.firstChild.focus();
    const { error, ranking, count, used } = await this.wall.request({ do: "rank", sitting: this.id });
    if (error) write(this.trouble, error);
    else if (ranking.length) this.drawRanking(list, ranking, count, used);
    else this.dialog.close();
  }

  drawRanking(list, ranking, count, used) {
    const groups = new Set(ranking.map((each) => each.group)).size;
    const low = Math.min(...ranking.map((each) => each.low));
    const high = Math.max(...ranking.map((each) => each.high));
    const part = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
    const rows = ranking.map((each) => this.makeRank(each, part));
    ranking.forEach(({ group }, at) => {
      if (at && group !== ranking[at - 1].group) rows[at].classList.add("mk-wall-rank-apart");
    });
    list.replaceChildren(...rows);
    const words = [
      `From ${many(used, "comparison")}${count < used ? `, ${count} of them new` : ""}.`,
      "Bars show uncertainty; where bars overlap, the order may change.",
    ];
    if (groups > 1)
      words.push(
        "Results on opposite sides of a line were never compared, even indirectly, so they have no common ranking.",
      );
    write(this.status, words.join(" "));
  }

  makeRank({ cell, poster, strength, low, high }, part) {
    const row = make("li", "mk-wall-rank");
    const shown = poster || (cell.medium === "image" ? cell.url : "");
    const picture = make(shown ? "img" : "span", "mk-thumb");
    if (shown) Object.assign(picture, { src: shown, alt: "" });
    const numbers = [strength, low, high].map((value) => value.toFixed(2).replace(/^-(0\.00)$/, "$1"));
    const range = `${numbers[0]} (${numbers[1]} to ${numbers[2]})`;
    const name = make("b", "", cell.name);
    const words = makeBox("mk-wall-rank-words", name, make("span", "mk-quiet mk-small-print", range));
    const bar = make("i");
    bar.style.left = `${part(low)}%`;
    bar.style.width = `${Math.max(0.5, part(high) - part(low))}%`;
    const dot = make("b");
    dot.style.left = `${part(strength)}%`;
    row.append(picture, words, makeBox("mk-wall-scale", bar, dot));
    return row;
  }
}
