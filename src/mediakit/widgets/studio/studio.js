// The lists of the studio: its head, the functions, and the history. Everything else in
// the studio (a form, a job, a wall, the dashboard) is a separate widget below.

const PLACES = ["Make", "History", "Spend"];
const MOVES = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
const TYPING_MS = 300;
const BEST = 5;
const ICONS = { video: "▶", image: "▣", audio: "♪" };
const ORDERS = [
  ["newest", "Newest first"],
  ["oldest", "Oldest first"],
  ["dearest", "Highest charge first"],
];
const STATES = ["queued", "running", "completed", "failed"].map((state) => [
  state,
  state[0].toUpperCase() + state.slice(1),
]);
const RATINGS = ["5", "4", "3", "2", "1"].map((rating) => [
  rating,
  rating === "5" ? "★★★★★" : `${"★".repeat(Number(rating))} or more`,
]);
const KEPT = [
  ["yes", "Kept"],
  ["no", "Not kept"],
];

const button = (text, act, name = "mk-small", title = "") => makeButton(text, title, act, name);
const labelled = (text, box, name = "") => {
  const label = make("label", `mk-column mk-quiet mk-small-print mk-st-tool ${name}`);
  label.append(make("span", "", text), box);
  return label;
};
const fold = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

class Studio {
  constructor({ model, el }) {
    this.model = model;
    this.el = el;
    this.rows = new Map();
    this.cards = [];
    this.last = null;
    this.build();
    this.show();
    this.handlers = {
      "change:state": () => this.show(),
      "change:functions": () => this.showFunctions(),
      "msg:custom": (message) => this.onMessage(message),
    };
    for (const [name, act] of Object.entries(this.handlers)) model.on(name, act);
    this.attach();
  }

  tell(act, more = {}) {
    this.model.send({ act, ...more });
  }

  // -- built once ---------------------------------------------------------------------

  build() {
    this.service = make("span", "mk-quiet");
    const heading = make("h3", "mk-heading", "Studio");
    const title = makeBox("mk-facts mk-small-print", heading, this.service);
    const tabs = PLACES.map((place) => button(place, () => this.tell("go", { place })));
    for (const tab of tabs) tab.setAttribute("role", "tab");
    this.tabs = makeRole("mk-few mk-st-tabs", "tablist", ...tabs);
    this.tabs.setAttribute("aria-label", "Studio");
    this.tabs.addEventListener("keydown", (event) => this.move(event));
    this.facts = makeRole("mk-facts mk-quiet mk-small-print mk-st-facts-line", "status");
    const words = "Read the balance, charges and history again";
    const refresh = button("Refresh", () => this.tell("refresh"), "mk-small", words);
    const head = makeBox("mk-row mk-st-top", title, this.tabs, this.facts, refresh);
    this.notice = makeRole("mk-notice mk-st-said", "status");
    this.trouble = makeRole("mk-error mk-st-trouble", "alert");
    this.back = button("← All functions", () => this.tell("choose", { path: null }));
    this.list = button("← Back to the list", () => this.tell("stop_comparing"));
    const parts = [this.back, this.list, this.buildFunctions(), this.buildHistory()];
    this.panel = makeBox("mk-column mk-st-panel", ...parts);
    this.el.append(head, this.trouble, this.notice, this.panel);
    this.el.classList.add("mk-column", "mk-st-lists");
  }

  buildFunctions() {
    this.searchBox = make("input", "mk-st-ask");
    Object.assign(this.searchBox, { type: "search", dir: "auto" });
    this.searchBox.placeholder = "What do you want to make?";
    this.searchBox.setAttribute("aria-label", this.searchBox.placeholder);
    this.searchBox.value = this.model.get("state").search ?? "";
    this.searchBox.addEventListener("input", () => {
      this.search();
      this.tell("search", { text: this.searchBox.value });
    });
    this.grid = make("div", "mk-st-grid");
    this.none = makeRole("mk-quiet", "status");
    this.makes = makeBox("mk-column", this.searchBox, this.grid, this.none);
    this.showFunctions();
    return this.makes;
  }

  showFunctions() {
    this.cards = this.model.get("functions").map((each) => {
      const choose = () => this.tell("choose", { path: each.path });
      const card = button("", choose, "mk-frame mk-column mk-st-card");
      card.setAttribute("aria-label", each.title);
      card.setAttribute("aria-description", `${each.choose} ${each.price}`);
      card.append(
        make("b", "", each.title),
        make("span", "", each.choose),
        make("span", "mk-quiet", each.price),
      );
      return { ...each, card };
    });
    this.search();
  }

  search() {
    const words = fold(this.searchBox.value);
    const found = this.cards.filter((each) => words.every((w) => each.searched.includes(w)));
    const groups = new Map();
    for (const each of found) {
      if (!groups.has(each.purpose)) {
        const group = make("section", "mk-st-group");
        group.append(make("h4", "", each.purpose));
        groups.set(each.purpose, group);
      }
      groups.get(each.purpose).append(each.card);
    }
    for (const group of groups.values()) {
      const cards = group.children.length - 1;
      if (cards < 3) group.classList.add(`mk-st-n${cards}`);
    }
    this.grid.replaceChildren(...groups.values());
    const bind =
      "No functions of this service are known here. Bind them in mediakit.toml, under " +
      "[functions], or pass connect(catalog=...).";
    const none = this.cards.length ? "No matching functions. Try fewer words." : bind;
    write(this.none, found.length ? "" : none);
  }

  buildHistory() {
    this.boxes = {};
    const box = (tag, name, type) => {
      const made = make(tag);
      if (type) made.type = type;
      if (type === "search") made.dir = "auto";
      const event = type === "search" ? "input" : "change";
      const wait = type === "search" ? TYPING_MS : 0;
      made.addEventListener(event, () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.query(), wait);
      });
      this.boxes[name] = made;
      return made;
    };
    const tools = makeBox(
      "mk-row mk-st-tools",
      labelled("Search history", box("input", "text", "search"), "mk-st-search"),
      labelled("Function", box("select", "kind")),
      labelled("State", box("select", "status")),
      labelled("Order", box("select", "order")),
    );
    this.more = make("details", "mk-st-more");
    this.moreText = make("summary", "", "More filters");
    const more = makeBox(
      "mk-row mk-st-tools",
      labelled("Rating", box("select", "rating")),
      labelled("Kept", box("select", "keep")),
      labelled("Tag", box("select", "tag")),
      labelled("Project", box("select", "project")),
      labelled("Sweep", box("select", "sweep")),
      labelled("From (UTC)", box("input", "since", "date")),
      labelled("To (UTC)", box("input", "until", "date")),
      button("Clear filters", () => this.clear()),
    );
    this.more.append(this.moreText, more);
    this.buildBar();
    this.table = make("table", "mk-table mk-st-jobs");
    const head = make("tr");
    this.all = makeTick((on) => this.tell("select", { numbers: [...this.rows.keys()], on }));
    this.all.setAttribute("aria-label", "Select all on this page");
    const first = make("th", "mk-st-tick");
    first.append(this.all);
    head.append(first);
    for (const name of ["Job", "State", "Charge", "Date", "Actions"]) {
      head.append(make("th", `mk-st-${name.toLowerCase()}`, name));
    }
    const top = make("thead");
    this.body = make("tbody");
    top.append(head);
    this.table.append(top, this.body);
    this.previous = button("Previous", () => this.tell("turn", { by: -1 }));
    this.next = button("Next", () => this.tell("turn", { by: 1 }));
    this.place = makeRole("mk-quiet", "status");
    const pages = makeBox("mk-row", this.previous, this.next, this.place);
    const parts = [tools, this.more, this.bar, this.question, this.table, pages];
    this.history = makeBox("mk-column", ...parts);
    return this.history;
  }

  buildBar() {
    this.sum = makeRole("mk-st-sum", "status");
    this.acts = {
      select_match: button("Select all that match", () => this.tell("select_match")),
      clear: button("Clear", () => this.tell("clear")),
      compare: button("Compare", () => this.tell("compare")),
    };
    for (const { name, label } of Object.values(this.model.get("acts")))
      this.acts[name] = button(`${label.replace(/…$/, "")}…`, () => this.tell("question", { of: name }));
    this.bar = makeBox("mk-row mk-st-bar", this.sum, ...Object.values(this.acts));
    this.question = make("form", "mk-frame mk-row mk-st-question");
    this.questionText = make("span");
    this.folder = make("input");
    this.folder.type = "text";
    this.folder.value = "results";
    this.folderLabel = labelled("Folder", this.folder, "mk-st-folder");
    this.yes = button("", () => {}, "mk-small");
    this.yes.type = "submit";
    const no = button("Cancel", () => this.tell("question", { of: "" }));
    this.question.append(this.questionText, this.folderLabel, this.yes, no);
    this.question.addEventListener("submit", (event) => {
      event.preventDefault();
      this.tell("all", { name: this.model.get("state").question, folder: this.folder.value });
    });
  }

  attach() {
    const root = this.el.closest(".mk-studio");
    if (!root) {
      this.frame = requestAnimationFrame(() => this.attach());
      return;
    }
    holdKeys(root);
    this.root = root;
    // A widget opened below the list is scrolled into view as soon as it is there.
    this.sizes = new ResizeObserver(([{ target }]) => {
      if (!this.isOpening || !target.offsetHeight) return;
      this.isOpening = false;
      target.scrollIntoView({ block: "nearest" });
    });
    const content = root.querySelector(".mk-st-content");
    if (content) this.sizes.observe(content);
    this.namePanel();
  }

  // -- drawing ------------------------------------------------------------------------

  show() {
    const state = this.model.get("state");
    write(this.service, state.service);
    [...this.tabs.children].forEach((tab, at) => {
      const chosen = PLACES[at] === state.place;
      set(tab, "aria-selected", String(chosen));
      set(tab, "tabindex", chosen ? "0" : "-1");
    });
    this.showFacts(state.facts);
    write(this.notice, state.said);
    write(this.trouble, state.trouble);
    this.back.hidden = !(state.place === "Make" && state.form);
    this.makes.hidden = !(state.place === "Make" && !state.form);
    this.list.hidden = !(state.place === "History" && state.comparing);
    this.history.hidden = !(state.place === "History" && !state.comparing);
    if (!this.history.hidden) this.showHistory(state);
    this.namePanel();
  }

  showFacts(facts) {
    const text = JSON.stringify(facts);
    if (text === this.factsText) return;
    this.factsText = text;
    const parts = facts.map(({ amount, label, exact }) => {
      const fact = make("span");
      fact.title = exact;
      fact.append(make("b", "", amount), ` ${label}`);
      return fact;
    });
    this.facts.replaceChildren(...parts);
  }

  // The content of a tab is in this widget, or in the widgets below it.
  namePanel() {
    const { place, form, comparing } = this.model.get("state");
    const below = this.root?.querySelector(".mk-st-content");
    const isBelow = place === "Spend" || (place === "Make" ? form : comparing);
    for (const [part, is] of [
      [this.panel, !isBelow],
      [below, isBelow],
    ]) {
      if (!part) continue;
      set(part, "role", is ? "tabpanel" : null);
      set(part, "aria-label", is ? place : null);
    }
  }

  showHistory(state) {
    this.showQuery(state);
    const selected = new Set(state.selected);
    this.showRows(state.rows, selected, state.opened);
    const on = state.rows.filter((row) => selected.has(row.number)).length;
    this.all.checked = on > 0 && on === state.rows.length;
    this.all.indeterminate = on > 0 && on < state.rows.length;
    this.table.hidden = !state.rows.length;
    write(this.sum, state.selection);
    const { acts } = this;
    acts.select_match.hidden = !state.rows.length;
    acts.clear.hidden = !selected.size;
    for (const [name, count] of Object.entries(state.counts)) acts[name].hidden = !count;
    acts.compare.hidden = state.counts.compare < 2;
    this.question.hidden = !state.question;
    this.folderLabel.hidden = state.question !== "save";
    if (state.question) this.drawQuestion(state);
    this.previous.disabled = !state.has_previous;
    this.next.disabled = !state.has_next;
    this.previous.hidden = this.next.hidden = !state.has_previous && !state.has_next;
    write(this.place, state.page);
  }

  drawQuestion({ question: name, counts, kept }) {
    const { question, many: asked } = this.model.get("acts")[name];
    const results = many(counts[name], "result");
    const words = [
      asked.question.replace("{}", results),
      question && kept ? `You marked ${kept} of them to keep.` : "",
      ...(question?.points ?? []),
    ];
    this.questionText.hidden = !asked.question;
    write(this.questionText, words.filter(Boolean).join(" "));
    write(this.yes, asked.yes.replace("{}", results));
    this.yes.classList.toggle("mk-danger", Boolean(question));
  }

  showQuery({ query, choices }) {
    const lists = {
      kind: ["All functions", choices.kinds],
      status: ["All states", STATES],
      project: ["All projects", choices.projects],
      sweep: ["All sweeps", choices.sweeps],
      tag: ["All tags", choices.tags],
      rating: ["Any rating", RATINGS],
      keep: ["Any", KEPT],
    };
    const fill = (box, options) => {
      const text = JSON.stringify(options);
      if (box.dataset.options === text) return;
      box.dataset.options = text;
      box.replaceChildren(...options.map(([value, name]) => new Option(name, value)));
    };
    for (const [name, [every, options]] of Object.entries(lists)) {
      fill(this.boxes[name], [["", every], ...options]);
    }
    fill(this.boxes.order, ORDERS);
    for (const [name, box] of Object.entries(this.boxes)) {
      if (box !== document.activeElement && box.value !== query[name]) box.value = query[name];
    }
    const more = ["rating", "keep", "tag", "project", "sweep", "since", "until"];
    const count = more.filter((name) => query[name]).length;
    write(this.moreText, count ? `More filters (${count} on)` : "More filters");
  }

  query() {
    const boxes = Object.entries(this.boxes);
    this.tell("query", { query: Object.fromEntries(boxes.map(([name, box]) => [name, box.value])) });
  }

  clear() {
    for (const [name, box] of Object.entries(this.boxes)) box.value = name === "order" ? box.value : "";
    this.query();
  }

  showRows(rows, selected, opened) {
    const before = this.rows;
    this.rows = new Map();
    rows.forEach((row, at) => {
      const line = before.get(row.number) ?? this.makeRow(row.number);
      before.delete(row.number);
      this.rows.set(row.number, line);
      this.showRow(line, row, selected.has(row.number), row.job && row.job === opened);
      putAt(this.body, at, line.element);
    });
    for (const { element } of before.values()) element.remove();
  }

  makeRow(number) {
    const line = { number, element: make("tr", "mk-st-row") };
    const cell = (name, ...parts) => {
      const made = make("td", `mk-st-${name}`);
      made.append(...parts);
      line.element.append(made);
      return made;
    };
    line.tick = makeTick();
    line.tick.addEventListener("click", (event) => this.tick(line, event.shiftKey));
    cell("tick", line.tick);
    line.thumb = makeBox("");
    line.title = make("div", "mk-cut mk-st-prompt");
    line.facts = make("div", "mk-cut mk-quiet");
    line.stars = this.makeStars(line);
    const words = makeBox("mk-grow", line.title, makeBox("mk-st-facts", line.stars, line.facts));
    cell("job", makeBox("mk-row mk-st-what", line.thumb, words));
    line.state = cell("state");
    line.charge = cell("charge");
    line.date = cell("date");
    line.open = button("Open", () => this.tell("open", { number }));
    line.reuse = button("Reuse settings", () => this.tell("reuse", { number }));
    cell("actions", line.open, line.reuse);
    return line;
  }

  // One Tab stop: digits and arrows rate, 0 removes the rating.
  makeStars(line) {
    const stars = makeRole("mk-st-stars", "slider");
    stars.tabIndex = 0;
    for (const [name, value] of [["aria-valuemin", "0"], ["aria-valuemax", String(BEST)]]) stars.setAttribute(name, value);
    const rate = (rating) => this.tell("rate", { number: line.number, rating: Math.max(0, Math.min(BEST, rating)) });
    for (let rating = 1; rating <= BEST; rating += 1) {
      const star = make("span", "", "☆");
      star.title = `Rate ${rating} of ${BEST}`;
      star.addEventListener("click", () => rate(rating === line.rating ? 0 : rating));
      stars.append(star);
    }
    stars.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (by) rate(line.rating + by);
      else if (/^[0-5]$/.test(event.key)) rate(Number(event.key));
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return stars;
  }

  showRow(line, row, isSelected, isOpened) {
    line.tick.checked = isSelected;
    const text = JSON.stringify([row, isSelected, isOpened]);
    if (line.text === text) return;
    line.text = text;
    set(line.tick, "aria-label", `Select ${row.title}`);
    line.element.classList.toggle("mk-st-now", Boolean(isOpened));
    line.element.classList.toggle("mk-st-on", isSelected);
    if (line.thumbUrl !== row.thumb) {
      line.thumbUrl = row.thumb;
      const icon = make("div", "mk-thumb", ICONS[row.media] ?? "·");
      const image = Object.assign(make("img", "mk-thumb"), { src: row.thumb, alt: "" });
      const thumb = row.thumb ? image : icon;
      line.thumb.replaceWith(thumb);
      line.thumb = thumb;
    }
    write(line.title, row.title);
    line.title.title = row.title;
    const kept = row.kept ? "kept" : "";
    line.rating = row.rating;
    line.stars.hidden = !row.rates;
    [...line.stars.children].forEach((star, at) => write(star, at < row.rating ? "★" : "☆"));
    set(line.stars, "aria-label", `Rating of ${row.title}`);
    set(line.stars, "aria-valuenow", String(row.rating));
    set(line.stars, "aria-valuetext", row.rating ? `${row.rating} of ${BEST}` : "not rated");
    const facts = [row.function, kept, row.settings, row.project, ...row.tags];
    write(line.facts, facts.filter(Boolean).join(" · "));
    line.facts.title = line.facts.textContent;
    write(line.state, row.state);
    line.state.className = `mk-st-state mk-${row.tone}`;
    write(line.charge, row.charge);
    write(line.date, row.date);
    line.open.disabled = !row.job;
    line.open.title = row.problem;
    set(line.open, "aria-label", `Open ${row.title}`);
    set(line.reuse, "aria-label", `Reuse settings of ${row.title}`);
  }

  // -- user actions -------------------------------------------------------------------

  // With Shift, selects everything from the last tick to this one.
  tick(line, withShift) {
    const lines = [...this.rows.values()];
    const to = lines.indexOf(line);
    const from = lines.findIndex((each) => each.number === this.last);
    const range = withShift && from >= 0 ? lines.slice(Math.min(from, to), Math.max(from, to) + 1) : [line];
    this.last = line.number;
    const on = line.tick.checked;
    for (const each of range) each.tick.checked = on;
    this.tell("select", { numbers: range.map((each) => each.number), on });
  }

  move(event) {
    const all = [...this.tabs.children];
    const at = all.indexOf(event.target);
    if (at < 0 || !(event.key in MOVES)) return;
    const step = MOVES[event.key];
    const last = all.length - 1;
    const ends = step < 0 ? 0 : last;
    const to = Number.isFinite(step) ? (at + step + all.length) % all.length : ends;
    event.preventDefault();
    all[to].focus();
    all[to].click();
  }

  onMessage({ focus }) {
    this.isOpening = focus === "job";
    if (focus === "back") this.back.focus();
    if (focus === "list") this.list.focus();
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.sizes?.disconnect();
    clearTimeout(this.timer);
    for (const [name, act] of Object.entries(this.handlers)) this.model.off(name, act);
  }
}

function render(context) {
  const studio = new Studio(context);
  return () => studio.close();
}

export default { initialize: ({ model }) => keepCopies(model), render };
