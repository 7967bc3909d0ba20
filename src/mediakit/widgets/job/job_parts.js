// Parts of job cards: the time, the slider over two results, downloads, and forms inside
// a card.

const STAGE_PX = 640;
const DRAWN_PX = 60;
const SLOW_FACTOR = 1.5;
const INPUT_GONE = "The input cannot be shown here: it may have expired.";

const secondsText = (s) => {
  if (s < 60) return `${s} s`;
  const [minutes, rest] = [Math.floor(s / 60), s % 60];
  if (minutes < 60) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`.replace(" 0 min", "");
};
const elapsedS = (since_ms) => Math.max(0, Math.floor((Date.now() - since_ms) / 1000));

// The running time: a sentence, and a bar that compares it with the usual time. The
// progress of the work is unknown, so no percentage is shown.
class JobTime {
  constructor() {
    this.words = make("div");
    this.bar = make("progress");
    this.root = makeBox("", this.words, this.bar);
  }

  show(clock) {
    this.clock = clock;
    this.root.hidden = !clock;
    this.tick();
  }

  tick() {
    const { clock } = this;
    if (!clock) return;
    const { before, since_ms, after, sent_ms, usual_s, runs } = clock;
    write(this.words, `${before}${since_ms === null ? "" : secondsText(elapsedS(since_ms))}${after}`);
    const gone_s = sent_ms === null ? Infinity : elapsedS(sent_ms);
    const isKnown = usual_s && gone_s <= SLOW_FACTOR * usual_s;
    this.bar.hidden = !runs;
    set(this.bar, "max", isKnown ? String(Math.round(usual_s)) : null);
    set(this.bar, "value", isKnown ? String(Math.min(gone_s, Math.round(usual_s))) : null);
    const label = isKnown ? `${gone_s} s so far, usually ${Math.round(usual_s)} s` : "running";
    set(this.bar, "aria-label", label);
  }
}

// The form of another widget, displayed in this one.
class FormSlot {
  constructor(model, id, close) {
    this.root = make("div", "mk-job-form");
    this.place = make("div");
    if (close) {
      this.root.append(makeButton("Close this form", "Its jobs continue", close, "mk-quiet-button"));
    }
    this.root.append(this.place);
    this.ready = this.open(model.widget_manager, id);
  }

  async open(manager, id) {
    const view = await manager.create_view(await manager.get_model(id));
    const { luminoWidget } = view;
    // Its parts are told that it is on the page.
    if (luminoWidget && this.place.isConnected) luminoWidget.constructor.attach(luminoWidget, this.place);
    else this.place.append(view.el);
    return view;
  }

  close() {
    this.root.remove();
    this.ready.then((view) => view.remove()).catch(() => {});
  }
}

// Forms by their model, in the order of a list; each is drawn once.
class FormSlots {
  constructor(model, name) {
    this.model = model;
    this.root = make("div", name);
    this.slots = new Map();
  }

  draw(forms, closing) {
    for (const [id, slot] of this.slots) {
      if (forms.some((form) => form.at(-1) === id)) continue;
      slot.close();
      this.slots.delete(id);
    }
    for (const form of forms.toReversed()) {
      const id = form.at(-1);
      let slot = this.slots.get(id);
      if (!slot) {
        slot = new FormSlot(this.model, id, closing?.(form));
        this.slots.set(id, slot);
        this.root.prepend(slot.root);
      } else if (form === forms[0] && this.root.firstChild !== slot.root) {
        this.root.prepend(slot.root);
      }
    }
  }

  // Scrolls the first into view once it has content.
  bring() {
    const [slot] = this.slots.values();
    const sizes = new ResizeObserver(() => {
      if (slot.root.offsetHeight < DRAWN_PX) return;
      sizes.disconnect();
      scrollTo(slot.root, "start");
    });
    if (slot) sizes.observe(slot.root);
  }

  close() {
    this.draw([]);
  }
}

// A redrawn block keeps at least its previous height, so that nothing below it moves
// under the pointer.
function keepHeight(block, draw) {
  const { offsetHeight: height, offsetWidth: width } = block;
  draw();
  if (height && block.offsetWidth === width && block.offsetHeight < height)
    block.style.minHeight = `${height}px`;
}

// A result over its input, with a slider between them; two clips play in step.
function drawCompare(stage, { result, before }, copyUrl) {
  const isVideo = result.medium === "video";
  const show = (url, label) => {
    const medium = makeMedium({ medium: result.medium, url }, null, { preload: "auto", label });
    medium.muted = label === "Before";
    medium.draggable = false;
    return medium;
  };
  const [figure, box] = [make("figure", "mk-compare"), make("div", "mk-compare-stage")];
  const [last, first] = [show(copyUrl ?? result.url, "After"), show(before, "Before")];
  const slider = makeSlider("Before and after", { max: 100, step: 1, value: 50 });
  const trouble = makeRole("mk-quiet", "status");
  const tags = [make("span", "mk-tag", "Before"), make("span", "mk-tag mk-compare-right", "After")];
  box.append(last, first, ...tags, make("div", "mk-compare-line"));
  figure.append(box, slider, trouble);

  const move = () => {
    box.style.setProperty("--mk-at", `${slider.value}%`);
    slider.setAttribute("aria-valuetext", `${slider.value}% before`);
  };
  const drag = (event) => {
    if (!event.buttons) return;
    const { left, width } = box.getBoundingClientRect();
    slider.value = Math.round((100 * (event.clientX - left)) / width);
    move();
  };
  slider.addEventListener("input", move);
  box.addEventListener("pointermove", drag);
  box.addEventListener("pointerdown", (event) => {
    box.setPointerCapture(event.pointerId);
    drag(event);
  });
  last.addEventListener(isVideo ? "loadedmetadata" : "load", () => {
    const [width, height] = [last.videoWidth || last.naturalWidth, last.videoHeight || last.naturalHeight];
    if (width && height) box.style.aspectRatio = `${width} / ${height}`;
  });
  first.addEventListener("error", async () => write(trouble, (await unreachable(before)) || INPUT_GONE));
  move();
  stage.append(figure);
  if (!isVideo) return () => {};
  const transport = new Transport([last, first]);
  figure.append(transport.root);
  transport.load();
  return () => transport.close();
}

function bringIntoView(card) {
  const { top, bottom, height } = card.getBoundingClientRect();
  // The visible part of the page: the area of the element that scrolls around it.
  const room = { top: 0, bottom: innerHeight };
  for (let box = card.parentElement; box; box = box.parentElement) {
    if (!/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    if (box.scrollHeight <= box.clientHeight) continue;
    const sides = box.getBoundingClientRect();
    room.top = Math.max(room.top, sides.top);
    room.bottom = Math.min(room.bottom, sides.bottom);
  }
  if (top >= room.top && bottom <= room.bottom) return;
  scrollTo(card, height > room.bottom - room.top ? "start" : "nearest");
}

function scrollTo(element, block) {
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block, behavior: isCalm ? "auto" : "smooth" });
}

// Shows a picture at its own size.
function enlarge(event, link) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const [dialog, size] = [make("dialog", "mk-own-size"), make("span")];
  dialog.setAttribute("aria-label", "The picture at its own size");
  const picture = make("img");
  picture.alt = link.querySelector("img").alt;
  picture.addEventListener("load", () =>
    write(size, `${picture.naturalWidth} × ${picture.naturalHeight} pixels`),
  );
  picture.src = link.href;
  const close = makeButton("Close", "", () => dialog.close());
  dialog.append(makeBox("mk-row", close, size), picture);
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target === picture) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}
