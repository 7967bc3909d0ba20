// Sends files to the kernel in pieces, each when the kernel asks for it: a file is never
// read as a whole, and no message is long. What is offered is refused before its first
// byte is sent. The views of one widget show the same upload.

const MB = 1e6;
const QUIET_MS = 3000; // after which the kernel seems busy

const sizeText = (bytes) =>
  bytes >= MB ? `${(bytes / MB).toFixed(1)} MB` : `${Math.ceil(bytes / 1000)} kB`;

const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

class Uploads {
  constructor(model) {
    this.model = model;
    this.views = new Set();
    this.waiting = [];
    this.now = null; // { id, file, at, slow }
    this.problem = "";
    model.on("msg:custom", (message) => this.hear(message));
    model.on("change:disabled change:accept", () => this.draw());
  }

  add(files) {
    if (!files.length || this.model.get("disabled")) return;
    this.problem = "";
    if (files.length > 1 && !this.model.get("multiple")) {
      this.problem = "This field takes one file. Choose one of them.";
    } else {
      this.waiting.push(...files);
    }
    if (!this.now) this.next();
    this.draw();
  }

  next() {
    const file = this.waiting.shift();
    this.now = file ? { id: newId(), file, at: 0 } : null;
    if (file) {
      const { name, size, type } = file;
      this.send({ kind: "offer", id: this.now.id, name, size, type });
    }
    this.draw();
  }

  send(message, buffers) {
    clearTimeout(this.timer);
    const { now } = this;
    now.slow = false;
    this.timer = setTimeout(() => {
      now.slow = true;
      this.draw();
    }, QUIET_MS);
    this.model.send(message, undefined, buffers);
  }

  hear(message) {
    if (message.id !== this.now?.id) return;
    clearTimeout(this.timer);
    if (message.kind === "want") this.give(message);
    if (message.kind === "refused") this.end(message.text);
    if (message.kind === "done") this.end("");
  }

  async give({ id, at, length }) {
    const { file } = this.now;
    this.now.at = at;
    this.draw();
    let piece;
    try {
      piece = await file.slice(at, at + length).arrayBuffer();
    } catch {
      const problem = `The browser cannot read ${file.name} any more.`;
      if (this.now?.id === id) this.cancel(problem);
      return;
    }
    // It may have been cancelled while the piece was read.
    if (this.now?.id === id) this.send({ kind: "piece", id, at }, [piece]);
  }

  cancel(problem = "") {
    if (!this.now) return;
    this.send({ kind: "cancel", id: this.now.id });
    if (!problem) this.waiting = [];
    this.end(problem);
  }

  end(problem) {
    clearTimeout(this.timer);
    if (problem) this.problem = [this.problem, problem].filter(Boolean).join(" ");
    this.next();
  }

  get words() {
    const { file, at, slow } = this.now;
    const more = this.waiting.length ? ` · ${this.waiting.length} more` : "";
    const wait = slow ? " · waiting for the kernel" : "";
    return `${sizeText(at)} of ${sizeText(file.size)}${more}${wait}`;
  }

  draw() {
    for (const view of this.views) view();
  }
}

const make = (tag, className, traits = {}) =>
  Object.assign(document.createElement(tag), { className, ...traits });

const BUTTON = "jupyter-widgets jupyter-button widget-button mk-small";

function build(model) {
  const input = make("input", "", { type: "file", hidden: true });
  const button = make("button", BUTTON, { type: "button", textContent: "Upload" });
  const state = make("div", "mk-upload-state");
  const name = make("span", "mk-upload-name");
  const bar = make("progress", "mk-upload-bar");
  const words = make("span", "mk-upload-words mk-quiet");
  const cancel = make("button", BUTTON, { type: "button", textContent: "Cancel" });
  const problem = make("div", "mk-upload-problem mk-bad");
  problem.setAttribute("role", "alert");
  state.append(name, bar, words, cancel);
  return { input, button, state, name, bar, words, cancel, problem, model };
}

function show(parts, el, uploads) {
  const { input, button, state, name, bar, words, cancel, problem, model } = parts;
  const { now } = uploads;
  input.accept = model.get("accept");
  input.multiple = model.get("multiple");
  button.hidden = Boolean(now);
  button.disabled = model.get("disabled");
  button.title = model.get("hint");
  button.setAttribute("aria-label", `Upload: ${model.get("label")}`);
  state.hidden = !now;
  problem.textContent = uploads.problem;
  problem.hidden = !uploads.problem;
  el.classList.toggle("mk-upload-busy", Boolean(now || uploads.problem));
  if (!now) return;
  name.textContent = name.title = now.file.name;
  bar.max = now.file.size;
  bar.value = now.at;
  bar.setAttribute("aria-label", `Upload of ${now.file.name}`);
  words.textContent = uploads.words;
  cancel.setAttribute("aria-label", `Cancel the upload of ${now.file.name}`);
}

const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

// Files may be dropped anywhere on the field.
function takeDrops(zone, uploads, signal) {
  const mark = (on) => zone.classList.toggle("mk-upload-over", on);
  const over = (event) => {
    if (!holdsFiles(event) || uploads.model.get("disabled")) return;
    event.preventDefault();
    event.stopPropagation();
    mark(true);
  };
  const drop = (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    mark(false);
    uploads.add([...event.dataTransfer.files]);
  };
  zone.addEventListener("dragenter", over, { signal });
  zone.addEventListener("dragover", over, { signal });
  zone.addEventListener("drop", drop, { signal });
  const leave = (event) => zone.contains(event.relatedTarget) || mark(false);
  zone.addEventListener("dragleave", leave, { signal });
}

export default () => {
  let uploads;
  return {
    initialize({ model }) {
      uploads = new Uploads(model);
    },
    render({ model, el }) {
      const parts = build(model);
      const ended = new AbortController();
      const view = () => show(parts, el, uploads);
      parts.button.addEventListener("click", () => parts.input.click());
      parts.cancel.addEventListener("click", () => {
        uploads.cancel();
        parts.button.focus();
      });
      parts.input.addEventListener("change", () => {
        uploads.add([...parts.input.files]);
        parts.input.value = ""; // the same file may be chosen again
      });
      el.append(parts.input, parts.button, parts.state, parts.problem);
      uploads.views.add(view);
      view();
      // What it stands in is known once it is on the page.
      const placed = new ResizeObserver(() => {
        const zone = el.closest(".mk-media");
        if (!zone) return;
        placed.disconnect();
        takeDrops(zone, uploads, ended.signal);
      });
      placed.observe(parts.button);
      return () => {
        placed.disconnect();
        ended.abort();
        uploads.views.delete(view);
      };
    },
  };
};
