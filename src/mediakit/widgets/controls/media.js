// Media in a form: paths and URLs with their pictures and facts, uploads, earlier results
// and painted masks.
//
// A file is sent to the kernel in pieces, each when the kernel requests it, so that the
// file is never read as a whole and no message is large. The kernel refuses a file
// before its first byte is sent.

const MB = 1e6;
const QUIET_MS = 3000; // after this, the kernel is reported as busy
const SEARCH_MS = 300;

const sizeText = (bytes) => (bytes >= MB ? `${(bytes / MB).toFixed(1)} MB` : `${Math.ceil(bytes / 1000)} kB`);
const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

// One path or URL. An uploaded file is shown by its own name until the user edits the
// box.
class Medium {
  constructor(form, spec, tell) {
    Object.assign(this, { form, spec, path: "" });
    this.input = box("input", { placeholder: "Path or URL", className: "mk-wide" }, () => {
      this.path = "";
      this.showFound();
      tell();
    });
    this.picture = make("div", "mk-media-picture");
    this.facts = make("div", "mk-media-facts mk-quiet mk-small-print");
  }

  get value() {
    return this.path || this.input.value;
  }

  set value(wire) {
    if (this.value === wire) return;
    const name = this.form.state.names?.[wire];
    this.path = name ? wire : "";
    fill(this.input, name ?? wire);
    this.showFound();
  }

  // Sets a file that was just uploaded, whose name is not in the state yet.
  take(path, name) {
    this.path = path;
    fill(this.input, name);
    this.showFound();
  }

  // The browser fetches a remote picture; it is not stored.
  showFound() {
    const value = this.value.trim();
    const seen = this.form.state.found?.[`${this.spec.medium} ${value}`];
    const isUrl = /^https?:\/\//i.test(value);
    const source = seen?.picture || (isUrl && this.spec.medium === "image" ? value : "");
    const facts = seen?.facts ?? (value && !isUrl ? "" : isUrl && !source ? "remote; length unknown" : "");
    const key = JSON.stringify([source, facts]);
    if (this.drawn === key) return;
    this.drawn = key;
    this.picture.replaceChildren();
    if (source) {
      const picture = Object.assign(make("img", "mk-thumb"), { src: source, alt: "" });
      picture.addEventListener("error", () => picture.remove());
      this.picture.append(picture);
    }
    write(this.facts, facts);
  }
}

// The buttons beside a box or a list of boxes: upload, earlier results, a mask to
// paint.
function mediaTools(form, spec, zone, { take, count, value, changed }) {
  const arrived = (path, name) => {
    take(path, name);
    if (!isPainted) return;
    // The painting is shown until its mask is uploaded.
    painting.strokes = [];
    close();
    buttons[1].focus();
  };
  const uploads = new Uploads(form, spec, zone, { take: arrived, count });
  const panel = make("div", "mk-frame mk-column");
  panel.hidden = true;
  const opens = [["From history", `Choose one of your results for ${spec.label}`, () => new Picker(form, spec, panel, choose)]];
  if (spec.mask_of)
    opens.push(["Paint…", "Paint the mask on a frame of the video", () => openPainter(form, spec, panel, value(), painting, painted)]);
  const painting = { strokes: [] }; // the strokes of a painter that was closed without using them
  let [open, isPainted] = [null, false];
  const close = () => {
    isPainted = false;
    open?.end?.();
    open = null;
    panel.replaceChildren();
    panel.hidden = true;
    buttons.forEach((each) => setFold(each, false));
  };
  const buttons = opens.map(([text, title, make_]) => {
    const fold = folding(text, (on) => {
      close();
      if (!on) return;
      setFold(fold, true);
      panel.hidden = false;
      open = make_();
    }, "mk-small mk-opens");
    fold.title = title;
    return fold;
  });
  const choose = (url) => {
    close();
    take(url);
    changed();
    buttons[0].focus();
  };
  const painted = (file) => {
    isPainted = true;
    uploads.add([file]);
  };
  return { uploads, buttons, panel, close, all: [uploads.button, ...buttons] };
}

CONTROLS.media = (form, given, at) => {
  const [root, spec] = [make("div", "mk-column mk-media"), { ...given }];
  const medium = new Medium(form, spec, at.tell);
  const take = (path, name) => {
    if (name) medium.take(path, name);
    else medium.value = path;
  };
  const tools = mediaTools(form, spec, root, {
    take,
    count: () => 0,
    value: () => medium.value,
    changed: at.tell,
  });
  const line = makeBox("mk-row", medium.input, makeBox("mk-row mk-tools", ...tools.all));
  const found = makeBox("mk-row mk-media-found", medium.picture, medium.facts);
  root.append(line, tools.uploads.state, tools.panel, found);
  form.media.add(medium);
  return {
    root,
    input: medium.input,
    read: () => medium.value,
    write: (wire) => (medium.value = wire ?? ""),
    note: () => spec.limits ?? "",
    become(next) {
      if (next.kind !== spec.kind || next.mask_of !== spec.mask_of) return false;
      Object.assign(spec, { limits: "" }, next);
      tools.uploads.input.accept = spec.accept;
      medium.showFound();
      return true;
    },
    close() {
      form.media.delete(medium);
      tools.uploads.close();
    },
  };
};

// Leaving the page ends its uploads, so the browser asks first.
const uploading = new Set();
const askBeforeLeaving = (event) => event.preventDefault();
function setUploading(upload, isUnderWay) {
  if (isUnderWay) uploading.add(upload);
  else uploading.delete(upload);
  if (uploading.size) addEventListener("beforeunload", askBeforeLeaving);
  else removeEventListener("beforeunload", askBeforeLeaving);
}

class Uploads {
  constructor(form, spec, zone, { take, count }) {
    Object.assign(this, { form, spec, take, count, waiting: [], now: null, problem: "" });
    this.input = Object.assign(make("input"), { type: "file", hidden: true, accept: spec.accept, multiple: spec.kind === "media_list" });
    this.input.addEventListener("change", () => {
      this.add([...this.input.files]);
      this.input.value = ""; // so that the same file can be chosen again
    });
    const words = spec.limits ? ` ${spec.limits}.` : "";
    this.button = button("Upload", `Upload from this computer, or drop a file here.${words}`, () => this.input.click());
    this.button.setAttribute("aria-label", `Upload: ${spec.label}`);
    this.name = make("span", "mk-upload-name mk-cut");
    this.bar = make("progress", "mk-upload-bar");
    this.words = make("span", "mk-quiet");
    this.cancelling = button("Cancel", "", () => {
      this.cancel();
      this.button.focus();
    });
    this.failed = makeRole("mk-bad", "alert");
    this.line = makeBox("mk-row", this.name, this.bar, this.words, this.cancelling);
    this.state = makeBox("mk-small-print", this.input, this.line, this.failed);
    this.takeDrops(zone);
    this.draw();
  }

  // Files may be dropped anywhere on the field.
  takeDrops(zone) {
    const mark = (on) => zone.classList.toggle("mk-upload-over", on);
    const listen = (name, act) =>
      zone.addEventListener(name, (event) => {
        if (!holdsFiles(event)) return;
        event.preventDefault();
        event.stopPropagation();
        act(event);
      });
    listen("dragenter", () => mark(!this.button.disabled));
    listen("dragover", () => mark(!this.button.disabled));
    listen("drop", (event) => {
      mark(false);
      if (!this.button.disabled) this.add([...event.dataTransfer.files]);
    });
    zone.addEventListener("dragleave", (event) => zone.contains(event.relatedTarget) || mark(false));
  }

  add(files) {
    if (!files.length) return;
    this.problem = "";
    if (files.length > 1 && !this.input.multiple) this.problem = "This field takes only one file. Choose one.";
    else this.waiting.push(...files);
    if (!this.now) this.next();
    this.draw();
  }

  next() {
    const file = this.waiting.shift();
    this.now = file ? { id: newId(), file, at: 0 } : null;
    setUploading(this, Boolean(file));
    if (file) {
      const { name, size, type } = file;
      this.form.uploads.set(this.now.id, (message) => this.onMessage(message));
      this.send({ kind: "offer", path: this.spec.path, name, size, type, count: this.count() });
    }
    this.draw();
  }

  send(message, buffers) {
    const { now } = this;
    clearTimeout(this.timer);
    now.slow = false;
    this.timer = setTimeout(() => {
      now.slow = true;
      this.draw();
    }, QUIET_MS);
    this.form.model.send({ do: "upload", id: now.id, ...message }, undefined, buffers);
  }

  onMessage(message) {
    if (message.id !== this.now?.id) return;
    clearTimeout(this.timer);
    if (message.kind === "want") this.give(message);
    if (message.kind === "refused") this.end(message.text);
    if (message.kind === "done") {
      this.take(message.path, message.name);
      this.form.edited(this.spec.path.split("/")[0]);
      this.end("");
    }
  }

  async give({ id, at, length }) {
    const { file } = this.now;
    this.now.at = at;
    this.draw();
    let piece;
    try {
      piece = await file.slice(at, at + length).arrayBuffer();
    } catch {
      if (this.now?.id === id) this.cancel(`The browser cannot read ${file.name} any more.`);
      return;
    }
    // It may have been cancelled while the piece was read.
    if (this.now?.id === id) this.send({ kind: "piece", at }, [piece]);
  }

  cancel(problem = "") {
    if (!this.now) return;
    this.send({ kind: "cancel" });
    if (!problem) this.waiting = [];
    this.end(problem);
  }

  end(problem) {
    clearTimeout(this.timer);
    this.form.uploads.delete(this.now.id);
    if (problem) this.problem = [this.problem, problem].filter(Boolean).join(" ");
    this.next();
  }

  close() {
    clearTimeout(this.timer);
    setUploading(this, false);
    if (this.now) this.form.uploads.delete(this.now.id);
  }

  draw() {
    const { now } = this;
    this.button.hidden = Boolean(now);
    this.line.hidden = !now;
    write(this.failed, this.problem);
    this.failed.hidden = !this.problem;
    this.state.hidden = !now && !this.problem;
    if (!now) return;
    const { file, at, slow } = now;
    write(this.name, file.name);
    this.name.title = file.name;
    Object.assign(this.bar, { max: file.size, value: at });
    this.bar.setAttribute("aria-label", `Upload of ${file.name}`);
    const more = this.waiting.length ? ` · ${this.waiting.length} more` : "";
    write(this.words, `${sizeText(at)} of ${sizeText(file.size)}${more}${slow ? " · waiting for the kernel" : ""}`);
    this.cancelling.setAttribute("aria-label", `Cancel the upload of ${file.name}`);
  }
}

// A list of earlier results to choose one from.
class Picker {
  constructor(form, spec, panel, choose) {
    Object.assign(this, { form, spec, choose, id: newId(), requestNumber: 0, count: 0 });
    this.search = box("input", { placeholder: `Search your ${spec.several}`, className: "mk-wide" }, () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(false), SEARCH_MS);
    });
    this.search.setAttribute("aria-label", "Search results");
    this.list = make("div", "mk-column mk-pick-list");
    this.status = makeRole("mk-quiet", "status", "Reading the history…");
    this.older = button("Show older results", "", () => this.ask(true), "mk-small mk-add");
    this.older.hidden = true;
    panel.append(this.search, this.list, this.status, this.older);
    this.ask(false);
  }

  end() {
    clearTimeout(this.timer);
    this.requestNumber = -1;
  }

  async ask(more) {
    const number = (this.requestNumber += 1);
    const { id, spec, form } = this;
    const search = { do: "results", picker: id, medium: spec.medium, text: this.search.value, more };
    const answer = await ask(form.model, search);
    if (number !== this.requestNumber) return;
    if (!more) this.list.replaceChildren();
    const first = this.list.children.length;
    const places = answer.rows.map((row) => this.add(row));
    write(this.status, answer.words);
    this.older.hidden = !answer.more;
    for (const [at, place] of places.entries()) {
      const { poster } = await ask(form.model, { do: "poster", picker: id, at: first + at });
      if (number !== this.requestNumber) return;
      if (poster) place.replaceChildren(Object.assign(make("img", "mk-thumb"), { src: poster, alt: "" }));
    }
  }

  add({ url, title, facts }) {
    const place = makeBox("", make("span", "mk-thumb"));
    const words = `Use ${title} · ${facts}`;
    const choose = makeButton(title, words, () => this.choose(url), "mk-link mk-pick-choose mk-cut");
    const text = makeBox("mk-grow", choose, make("div", "mk-quiet mk-small-print", facts));
    this.list.append(makeBox("mk-row mk-pick-row", place, text));
    return place;
  }
}

function openPainter(form, spec, panel, value, painting, done) {
  const status = makeRole("mk-quiet", "status", "Reading a frame of the video…");
  panel.append(status);
  const frameAt = (at_s, mask = "") => ask(form.model, { do: "frame", mask_of: spec.mask_of, value: mask, at_s });
  frameAt(painting.at_s, value).then((first) => {
    if (!status.isConnected) return;
    write(status, first.problem ?? "");
    if (!first.problem) panel.append(new Painter(first, painting, frameAt, done).root);
  });
  return {};
}
