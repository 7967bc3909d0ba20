// Jobs as cards, or as lines in a cell that waits. Only changed parts are drawn again, so
// players, downloads, open menus and questions stay.

const USED_AS = { image: "picture", video: "clip", audio: "sound" };
// Listens once for each model, and keeps messages of the kernel until they are drawn.
function hearJobs(model) {
  const onMessage = ({ jobs }) => {
    if (!jobs) return;
    const current = model.get("jobs");
    const byId = new Map([...current, ...jobs.changed].map((job) => [job.id, job]));
    current.splice(0, Infinity, ...jobs.order.map((id) => byId.get(id)).filter(Boolean));
  };
  model.on("msg:custom", onMessage);
  return () => model.off("msg:custom", onMessage);
}

// Draws a model's jobs at the end of an element; returns a function that stops this.
function drawJobs(model, element) {
  guardPaidClicks();
  const isLines = model.get("jobs_as") === "lines";
  const drawing = isLines ? new JobLines(model) : new JobCards(model);
  const hides = make("style", "", model.get("hides"));
  const names = "change:older_count change:jobs_set change:job_forms change:job_uses";
  const onMessage = ({ jobs }) => jobs && drawing.draw(true);
  const draw = () => drawing.draw();
  const hide = () => write(hides, model.get("hides"));
  keepKeys(drawing.root);
  const endMark = markGone(model, drawing.root);
  element.append(hides, drawing.root);
  model.on("msg:custom", onMessage);
  model.on(names, draw);
  model.on("change:hides", hide);
  drawing.draw();
  const timer = setInterval(() => drawing.tick(), 1000);
  return () => {
    clearInterval(timer);
    model.off("msg:custom", onMessage);
    endMark();
    for (const name of names.split(" ")) model.off(name, draw);
    model.off("change:hides", hide);
    drawing.close();
  };
}

class JobCards {
  constructor(model) {
    this.model = model;
    this.cards = new Map();
    this.root = make("div", "mk-jobs");
    this.list = make("div");
    this.older = makeButton("", "", () => model.send({ jobs: "all" }), "mk-older");
    this.forms = new FormSlots(model, "mk-jobs-forms");
    this.root.append(this.list, this.older, this.forms.root);
  }

  draw(isNews) {
    const jobs = this.model.get("jobs");
    const ids = new Set(jobs.map((job) => job.id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.close();
      this.cards.delete(id);
    }
    jobs.forEach((job, at) => {
      const isNew = !this.cards.has(job.id);
      if (isNew) this.cards.set(job.id, new JobCard(this.model));
      const card = this.cards.get(job.id);
      putAt(this.list, at, card.root);
      if (card.job !== job) card.show(job);
      if (isNew && isNews && job.arrives) bringIntoView(card.root);
    });
    const count = this.model.get("older_count");
    write(this.older, `Show ${many(count, "earlier result")}`);
    this.older.hidden = !count;
    this.forms.draw(this.model.get("job_forms").map((id) => [id]));
  }

  tick() {
    for (const card of this.cards.values()) card.tick();
  }

  close() {
    for (const card of this.cards.values()) card.close();
    this.forms.close();
  }
}

class JobCard {
  constructor(model) {
    this.model = model;
    this.drawn = {};
    this.compares = false;
    this.buttons = new Map();
    this.root = make("article", "mk-frame mk-job");
    this.stage = make("div", "mk-job-stage");
    this.beside = makeRole("mk-job-beside", "status");
    this.prompt = make("div", "mk-job-prompt");
    this.title = makeRole("mk-job-title", "status");
    this.time = new JobTime();
    this.actions = make("div", "mk-row mk-job-actions");
    this.note = makeRole("mk-job-note", "status");
    this.menu = make("div", "mk-column mk-use");
    this.forms = new FormSlots(model, "mk-job-forms");
    this.facts = make("div");
    const details = make("details");
    details.append(make("summary", "", "Details"), this.facts);
    this.left = makeBox("mk-job-left", this.stage, this.beside);
    this.standing = makeBox("", this.title, this.time.root);
    const rest = [this.standing, this.actions, this.note, details];
    const right = makeBox("mk-column mk-job-right", this.prompt, ...rest);
    this.root.append(makeBox("mk-flow mk-job-main", this.left, right), this.menu, this.forms.root);
    this.sizes = new ResizeObserver(() => this.forgetHeights());
    this.sizes.observe(this.root);
  }

  close() {
    this.sizes.disconnect();
    this.download?.abort();
    this.endStage();
    this.forms.close();
    this.root.remove();
  }

  // Draws a part again only when its data has changed.
  part(name, data, draw) {
    const key = JSON.stringify(data);
    if (this.drawn[name] === key) return;
    this.drawn[name] = key;
    draw();
  }

  show(job) {
    this.job = job;
    const { result } = job;
    this.compares &&= Boolean(job.before);
    set(this.root, "aria-label", job.short || job.title);
    this.part("prompt", [job.title, job.take], () => this.drawPrompt());
    // The outcome of a job takes at least as much room as its progress did.
    keepHeight(this.standing, () => {
      const words = [job.word, job.tone, job.line, job.failure, job.reused, job.trouble];
      this.part("title", words, () => this.drawTitle());
      this.time.show(job.clock);
    });
    const shown = [result?.url, result?.address, result?.medium, job.place, job.erased, this.compares];
    keepHeight(this.stage, () => this.part("stage", shown, () => this.drawStage()));
    this.fitResult();
    this.part("facts", job.facts, () => this.facts.replaceChildren(...job.facts.map(makeFact)));
    this.part("note", [job.note, job.alert], () => this.say(job.note, job.alert));
    keepHeight(this.actions, () => this.drawActions());
    this.part("forms", job.forms, () =>
      this.forms.draw(job.forms, ([path]) => () => this.act("close_form", { path })),
    );
    this.tick();
  }

  tick() {
    this.time.tick();
  }

  forgetHeights() {
    const width = this.root.offsetWidth;
    if (this.width !== undefined && this.width !== width)
      for (const block of [this.standing, this.stage, this.actions]) block.style.minHeight = "";
    this.width = width;
  }

  get acts() {
    return this.model.get("job_acts");
  }

  act(act, more = {}) {
    this.model.send({ job: this.job.id, act, ...more });
  }

  ask(act, more = {}) {
    return ask(this.model, { job: this.job.id, act, ...more });
  }

  say(text, isAlert = false) {
    const line = make("span", isAlert ? "mk-bad" : "", text);
    if (isAlert) line.setAttribute("role", "alert");
    this.note.replaceChildren(...(text ? [line] : []));
  }

  drawPrompt() {
    const { title, short, take } = this.job;
    const aside = make("span", "mk-quiet", take ? ` · ${take}` : "");
    if (!short) {
      this.prompt.replaceChildren(make("b", "", title), aside);
      return;
    }
    const [fold, head] = [make("details"), make("summary")];
    const count = make("span", "mk-quiet", ` (all ${title.length.toLocaleString("en")} characters)`);
    head.append(make("b", "", short), aside, count);
    fold.append(head, make("div", "mk-job-whole", title));
    this.prompt.replaceChildren(fold);
  }

  drawTitle() {
    const { job } = this;
    const line = make("div");
    line.append(make("b", `mk-job-word mk-${job.tone}`, job.word), " ", make("span", "mk-quiet", job.line));
    const rows = [line];
    if (job.failure) {
      const [happened, advice, said] = job.failure;
      const why = make("div");
      why.append(make("span", "mk-bad", happened), ` ${advice}`);
      rows.push(why, make("div", "mk-quiet", said));
    }
    if (job.reused) rows.push(make("div", "", job.reused));
    if (job.trouble) rows.push(make("div", "mk-warn", job.trouble));
    this.title.replaceChildren(...rows);
  }

  // The result, a placeholder until there is one, or the reason why there is none.

  endStage() {
    this.endCompare?.();
    this.endCompare = null;
    if (this.medium) letGo(this.medium);
    if (this.copyUrl) URL.revokeObjectURL(this.copyUrl);
    this.medium = this.copyUrl = null;
  }

  drawStage() {
    const { result, place, erased } = this.job;
    this.endStage();
    this.beside.replaceChildren();
    this.stage.replaceChildren();
    this.stage.classList.remove("mk-job-place");
    this.left.hidden = !(erased || place || result);
    if (erased) {
      this.stage.textContent = erased;
    } else if (result?.address) {
      const why = "The result's address is not a web address, so it is not opened: ";
      this.stage.append(why, make("code", "", result.address));
    } else if (result) {
      if (this.compares) this.endCompare = drawCompare(this.stage, this.job, this.copyUrl);
      else if (result.medium in USED_AS) this.drawMedium(result);
      this.sayOriginal();
    } else if (place) {
      this.stage.classList.add("mk-job-place");
    }
    if (place && !erased) this.shape(place);
  }

  drawMedium(result) {
    const { label } = result;
    const medium = makeMedium(result, result.poster, { preload: "metadata", label, controls: true });
    this.medium = medium;
    this.stage.append(medium);
    if (medium.tagName === "IMG") this.linkPicture(medium, result);
    for (const name of ["loadedmetadata", "load"])
      medium.addEventListener(name, () => {
        const [width, height] = [medium.videoWidth || medium.naturalWidth, medium.videoHeight || medium.naturalHeight];
        if (width && height) this.shape([width, height]);
      });
    const source = { copyOf: () => this.copyOf() };
    playCopy(source, result, medium, {
      poster: result.poster ?? "",
      waits: (reason) => this.sayOriginal(reason),
      plays: (reason) => this.sayCopy(medium, reason),
      fails: (problem) => this.sayOriginal(this.job.result.notice, problem),
    });
  }

  linkPicture(picture, result) {
    const link = makeLink(result.url);
    link.addEventListener("click", (event) => enlarge(event, link));
    picture.replaceWith(link);
    link.append(picture);
  }

  async copyOf() {
    const { problem, buffers } = await this.ask("copy");
    if (problem) return { problem };
    const { medium, type } = this.job.result;
    this.copyUrl = URL.createObjectURL(new Blob(buffers, { type: medium === "video" ? "video/mp4" : type }));
    this.isCopy = true;
    return { url: this.copyUrl };
  }

  // The shape of a result, and of its placeholder.
  shape([width, height]) {
    this.stage.style.aspectRatio = `${width} / ${height}`;
    this.stage.style.maxWidth = `${Math.round(Math.min(STAGE_PX, (STAGE_PX * width) / height))}px`;
    if (this.compares || this.job.result?.medium === "audio") this.stage.style.aspectRatio = "";
  }

  // Facts about a result that arrive later do not replace its player.
  fitResult() {
    const { result } = this.job;
    if (!result || !this.medium) return;
    if (result.size && !this.medium.videoWidth && !this.medium.naturalWidth) this.shape(result.size);
    if (result.poster && this.medium.tagName === "VIDEO" && !this.medium.poster) this.medium.poster = result.poster;
  }

  sayCopy(medium, reason) {
    const { notice, copy_note: note } = this.job.result;
    const picture = medium.closest("a");
    if (picture) picture.href = medium.src;
    this.isFar = Boolean(reason);
    this.sayOriginal(reason || notice, medium.tagName === "VIDEO" ? note : "");
  }

  sayOriginal(...sentences) {
    const { result } = this.job;
    const rows = sentences.filter(Boolean).map((text) => make("div", "mk-quiet", text));
    const words = `Open the ${sentences.length > 1 ? "original " : ""}${result.what} in a new tab`;
    const link = makeLink(result.url, this.isFar ? `${words} (your browser cannot reach it)` : words);
    this.beside.replaceChildren(...rows, link);
  }

  // Acts.

  drawActions() {
    if (this.question) return;
    const { job } = this;
    const buttons = job.acts.map((act) => this.button(act));
    if (buttons.some((button, at) => this.actions.children[at] !== button) || buttons.length !== this.actions.children.length) {
      const focused = document.activeElement;
      this.actions.replaceChildren(...buttons);
      if (buttons.includes(focused)) focused.focus();
    }
    for (const act of job.acts) this.button(act).disabled = job.busy.includes(act);
    for (const [act, text] of Object.entries(job.prices))
      if (job.acts.includes(act)) write(this.button(act), text);
    if (job.acts.includes("compare"))
      write(this.button("compare"), this.compares ? "Show the result" : this.acts.compare.label);
    if (!job.acts.includes("use")) this.menu.replaceChildren();
  }

  button(act) {
    if (!this.buttons.has(act)) {
      const { label, hint, is_paid: isPaid } = this.acts[act];
      this.buttons.set(act, makeButton(label, hint, () => this.press(act), isPaid ? "mk-paid" : ""));
    }
    return this.buttons.get(act);
  }

  press(act) {
    const own = {
      use: () => this.turnMenu(),
      compare: () => this.turnCompare(),
      download: () => this.turnDownload(),
      save: () => this.save(false),
    }[act];
    if (own) own();
    else this.send(act);
  }

  // Buys at the price on the button, after the act's question.
  send(act) {
    const { question } = this.acts[act];
    const text = this.job.prices[act];
    const send = (ticked) => this.act(act, { ...(text && { text }), ...(question && { ticked }) });
    if (question) this.open(text ? { ...question, yes: text, isPaid: true } : question, send);
    else send();
  }

  async save(overwrite) {
    const { taken } = await this.ask("save", { overwrite });
    if (taken) this.open(this.acts.save.replaces, () => this.save(true));
  }

  turnCompare() {
    this.compares = !this.compares;
    this.show(this.job);
  }

  turnMenu() {
    const { job } = this;
    if (this.menu.firstChild) {
      this.menu.replaceChildren();
      return;
    }
    const { medium } = job.result;
    const row = make("div", "mk-row");
    const taken = new Set(job.finals.map(([path]) => path));
    const others = (this.model.get("job_uses")[medium] ?? []).filter(([path]) => !taken.has(path));
    const uses = [...job.finals, ...others];
    for (const [path, title, words] of uses) {
      const choose = () => {
        this.menu.replaceChildren();
        this.act("use", { path });
      };
      row.append(makeButton(title, words, choose));
    }
    this.menu.replaceChildren(make("b", "", `Use this ${USED_AS[medium]} in`), row);
    row.firstChild?.focus();
  }

  // A question replaces the buttons; nothing is done until it is answered.
  open(question, act) {
    const end = () => {
      this.question = null;
      this.drawActions();
    };
    const answer = (ticked) => {
      end();
      act(ticked);
    };
    this.say("");
    this.question = question;
    showQuestion(this.actions, question, this.job.knows, answer, end);
  }

  // The page fetches the file, or the kernel does if the page is not allowed to.
  async turnDownload() {
    if (this.download) {
      this.download.abort();
      return;
    }
    const button = this.button("download");
    const { result } = this.job;
    const { type, name } = result;
    this.download = new AbortController();
    const { signal } = this.download;
    try {
      const blob = await fetchFile(result.url, result, signal, (text) => write(button, `Cancel · ${text}`)).catch(async (error) => {
        if (signal.aborted) throw error;
        write(button, "Cancel · …");
        const { problem, buffers } = await this.ask("file");
        if (problem) throw new Error(problem);
        return new Blob(buffers, { type });
      });
      const whole = await withRecipe(blob, this.ask("recipe").catch(() => null));
      if (!signal.aborted) {
        handOver(whole, name);
        this.say(`Your browser saved ${name}.`);
      }
    } catch (error) {
      if (!signal.aborted) this.say(error.message, true);
    } finally {
      this.download = null;
      write(button, this.acts.download.label);
    }
  }
}

// A line for each job; many jobs share one progress line above a fold.
class JobLines {
  constructor(model) {
    this.model = model;
    this.root = make("div", "mk-wait");
    this.words = make("b");
    this.words.setAttribute("role", "status");
    this.bar = make("progress");
    this.bar.setAttribute("aria-label", "jobs that have ended");
    this.fold = make("details");
    this.summary = make("summary");
    this.lines = make("div", "mk-wait-lines");
    this.fold.append(this.summary);
    this.root.append(this.words, this.bar, this.fold, this.lines);
  }

  draw() {
    const { text, done, failed } = this.model.get("jobs_set");
    const jobs = this.model.get("jobs");
    write(this.words, text ?? "");
    this.bar.hidden = this.fold.hidden = !text;
    this.bar.className = failed ? "mk-bad" : done === jobs.length ? "mk-good" : "";
    Object.assign(this.bar, { max: jobs.length || 1, value: done ?? 0 });
    write(this.summary, `Show the ${jobs.length} jobs`);
    const place = text ? this.fold : this.root;
    if (this.lines.parentElement !== place) place.append(this.lines);
    while (this.lines.children.length > jobs.length) this.lines.lastChild.remove();
    jobs.forEach((job, at) => this.drawLine(job, this.lines.children[at] ?? this.lines.appendChild(makeLine())));
  }

  drawLine({ word, tone, texts: [title, ...known], clock, trouble }, line) {
    const [words, warning] = line.children;
    const [head, rest] = words.children;
    head.className = `mk-${tone}`;
    write(head, word);
    const usual = clock?.usual_s ? `, usually ${secondsText(Math.round(clock.usual_s))}` : "";
    const time = clock && clock.sent_ms !== null ? [`${secondsText(elapsedS(clock.sent_ms))} so far${usual}`] : [];
    write(rest, [title, ...time, ...known].join(" · "));
    write(warning, trouble);
  }

  tick() {
    if (this.model.get("jobs").some((job) => job.clock)) this.draw();
  }

  close() {}
}

const makeLine = () => makeBox("", makeBox("mk-cut", make("b"), " ", make("span", "mk-quiet")), make("div", "mk-warn"));
const makeFact = ([label, text, isCode]) => {
  const value = make(isCode ? "code" : "span", "mk-grow", text);
  return makeBox("mk-job-fact", make("span", "mk-quiet", `${label}:`), value);
};
