// Two results without their names, again and again; then who came out ahead.

// Every result comes as often as the others, and no pair comes twice.
class Pairs {
  constructor(items) {
    this.items = items;
    this.seen = new Set();
    this.queue = [];
  }

  get total() {
    return (this.items.length * (this.items.length - 1)) / 2;
  }

  next() {
    while (!this.queue.length && this.seen.size < this.total) this.fill();
    return this.queue.shift();
  }

  fill() {
    const mixed = shuffled(this.items);
    for (let at = 0; at + 1 < mixed.length; at += 2) this.add(mixed[at], mixed[at + 1]);
    // Towards the end most rounds hold nothing new: what is left comes in any order.
    if (this.queue.length) return;
    const left = this.items.flatMap((one, at) =>
      this.items.slice(at + 1).map((other) => [one, other]),
    );
    for (const pair of shuffled(left)) this.add(...shuffled(pair));
  }

  add(one, other) {
    const key = [one, other].sort().join(" ");
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.queue.push([one, other]);
  }
}

class Blind extends Sheet {
  constructor(wall, cells) {
    super(wall, "Which one is better?");
    this.pairs = new Pairs(cells.map((cell) => cell.job));
    this.byJob = new Map(cells.map((cell) => [cell.job, cell]));
    this.count = 0;
    this.unsaved = new Set(); // the numbers of requests without an answer
    this.trouble = make("p", "mk-wall-trouble");
    this.trouble.setAttribute("role", "alert");
    this.figures = make("div", "mk-wall-figures");
    this.figures.dataset.count = 2;
    this.said = make("p", "mk-wall-soft");
    this.said.setAttribute("role", "status");
    const answer = (text, side) => makeButton("", text, "", () => this.answer(side));
    this.answers = make("div", "mk-wall-row mk-wall-answers");
    this.answers.append(
      answer("1 · Left is better", 0),
      answer("0 · Tie", null),
      answer("2 · Right is better", 1),
    );
    this.finish = makeButton("", "Finish", "Finish (Escape)", () => this.rank());
    this.tools.replaceChildren(this.finish);
    this.body.append(this.figures, this.answers, this.trouble, this.said);
    // The first Escape ends the questions, the next one closes the ranking.
    this.dialog.addEventListener("cancel", (event) => {
      if (this.isOver || !this.count) return;
      event.preventDefault();
      this.rank();
    });
    this.cleared = () => this.clear();
  }

  open() {
    super.open();
    this.ask();
  }

  clear() {
    this.together?.close();
    this.together = null;
  }

  ask() {
    this.clear();
    const pair = this.pairs.next();
    if (!pair) {
      this.rank();
      return;
    }
    this.pair = shuffled(pair);
    const players = [];
    const figures = this.pair.map((job, side) => {
      const words = side ? "Right" : "Left";
      const figure = make("figure", "mk-wall-figure");
      const cell = this.byJob.get(job);
      const medium = makeMedium(cell, "", { preload: "auto", label: words });
      if (medium.tagName === "VIDEO") players.push(medium);
      playCopy(this.wall, cell, medium, {
        plays: () => this.play(players),
        fails: (problem) => write(this.said, problem),
      });
      const box = make("div", "mk-wall-stage");
      box.append(medium);
      figure.append(box, make("figcaption", "mk-wall-soft", words));
      return figure;
    });
    this.figures.replaceChildren(...figures);
    const done = this.count ? `${many(this.count, "answer")} so far.` : "";
    write(this.said, `Pair ${this.count + 1} of ${this.pairs.total}. ${done}`.trim());
    // Not on an answer: Space would give it.
    this.dialog.focus({ preventScroll: true });
    if (players.length) this.play(players);
  }

  async play(players) {
    this.together?.pause();
    const together = new Together(players, () => {});
    this.together = together;
    await together.load();
    if (this.together === together) await together.play();
  }

  answer(side) {
    if (this.isOver) return;
    const [left, right] = this.pair;
    const [winner, loser] = side === 1 ? [right, left] : [left, right];
    const message = { do: "prefer", winner, loser, tie: side === null };
    if (!this.wall.send(message)) {
      write(this.said, GONE);
      return;
    }
    this.unsaved.add(this.wall.lastSent);
    this.count += 1;
    this.ask();
  }

  answered(number, error) {
    if (!this.unsaved.delete(number)) return;
    if (error) {
      this.count -= 1;
      write(this.trouble, `A preference was not saved: ${error}`);
    }
    if (this.isOver) this.drawRanking();
  }

  key(event) {
    const sides = { 1: 0, 2: 1, 0: null };
    if (this.isOver || !(event.key in sides) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) this.answer(sides[event.key]);
  }

  rank() {
    this.clear();
    if (!this.count) {
      this.dialog.close();
      return;
    }
    this.isOver = true;
    write(this.title, "Ranking");
    this.dialog.setAttribute("aria-label", this.title.textContent);
    this.list = make("ol", "mk-wall-ranking");
    this.body.replaceChildren(this.list, this.trouble, this.said);
    this.finish.replaceWith(makeButton("", "Close", "Close (Escape)", () => this.dialog.close()));
    this.drawRanking();
    this.tools.firstChild.focus();
  }

  updates() {
    if (this.isOver) this.drawRanking();
  }

  drawRanking() {
    const ranking = this.wall.ranking.filter(({ job }) => this.byJob.has(job));
    const order = (one, other) => one.group - other.group || other.strength - one.strength;
    const sorted = [...ranking].sort(order);
    const groups = new Set(sorted.map((each) => each.group)).size;
    const low = Math.min(...sorted.map((each) => each.low));
    const high = Math.max(...sorted.map((each) => each.high));
    const part = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
    const rows = sorted.map((each) => this.makeRank(each, part));
    sorted.forEach(({ group }, at) => {
      if (at && group !== sorted[at - 1].group) rows[at].classList.add("mk-wall-rank-apart");
    });
    this.list.replaceChildren(...rows);
    const saved = this.count - this.unsaved.size;
    write(
      this.said,
      [
        `${many(saved, "preference")} saved.`,
        sorted.length &&
          "The bars show how uncertain each strength is; bars that overlap may change places.",
        groups > 1 &&
          "Results on two sides of a line were never compared, even indirectly: they have no common ranking.",
      ]
        .filter(Boolean)
        .join(" "),
    );
  }

  makeRank({ job, strength, low, high }, part) {
    const cell = this.byJob.get(job);
    const row = make("li", "mk-wall-rank");
    const poster = this.wall.posterOf(cell) || (cell.medium === "image" ? cell.url : "");
    const picture = make(poster ? "img" : "span", "mk-wall-thumb");
    if (poster) Object.assign(picture, { src: poster, alt: "" });
    const words = make("div", "mk-wall-rank-words");
    words.append(make("b", "", this.wall.nameOf(cell)));
    const numbers = [strength, low, high].map((value) => value.toFixed(2));
    words.append(make("span", "mk-wall-soft", `${numbers[0]} (${numbers[1]} to ${numbers[2]})`));
    const scale = make("div", "mk-wall-scale");
    const bar = make("i");
    bar.style.left = `${part(low)}%`;
    bar.style.width = `${Math.max(0.5, part(high) - part(low))}%`;
    const dot = make("b");
    dot.style.left = `${part(strength)}%`;
    scale.append(bar, dot);
    row.append(picture, words, scale);
    return row;
  }
}
