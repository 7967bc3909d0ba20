// A mask painted on a frame of a clip: rectangles, brush and eraser, by mouse, finger
// or keys. Strokes are in pixels of the clip, and the mask has the size of the clip. One
// mask covers all frames; another frame can be shown at any time.

const TINT = "rgba(255, 45, 85, 0.55)";
const CURSOR = ["rgba(0, 0, 0, 0.8)", "rgba(255, 255, 255, 0.95)"];
const TOOLS = [
  ["rectangle", "Rectangle", "Paint rectangles"],
  ["brush", "Brush", "Paint with a round brush"],
  ["erase", "Eraser", "Erase with a round brush"],
];
const DIRECTIONS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const MIN_SIZE_PX = 4;
const GROW = 1.25;
const STEPS_ACROSS = 50;
const HALF = 127;
const MASK_KEYS = [
  ["← ↑ → ↓", "move the cursor"],
  ["Shift+arrow", "by one pixel"],
  ["Alt+arrow", "change a rectangle's shape"],
  ["+ −", "change the size"],
  ["Enter", "paint"],
  ["Ctrl+Z", "undo"],
  [", .", "earlier or later frame"],
];
const WHOLE_CLIP =
  "The mask is the same in every frame of the video. Look at other frames to see whether " +
  "it covers what moves.";
const FRAME_STEP_S = 0.1;

const clamp = (number, low, high) => Math.min(Math.max(number, low), high);
const canvasOf = (width, height) =>
  Object.assign(document.createElement("canvas"), { width, height });

async function picture(bytes, type) {
  if (!bytes?.byteLength) return null;
  return createImageBitmap(new Blob([bytes], { type }));
}

// The bright pixels of an earlier mask become opaque.
function asAlpha(bitmap, width, height) {
  const canvas = canvasOf(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0, width, height);
  const image = context.getImageData(0, 0, width, height);
  for (let at = 0; at < image.data.length; at += 4) image.data[at + 3] = image.data[at];
  context.putImageData(image, 0, 0);
  return canvas;
}

// Returns the finished mask as a file: the region is white, the rest black. `painting`
// keeps the strokes; it may come from a painter that was closed.
class Painter {
  constructor(first, painting, frameAt, done) {
    const { width, height, at_s, duration_s, buffers } = first;
    Object.assign(this, { width, height, duration_s, painting, frameAt, done });
    this.shown_s = painting.at_s = at_s;
    this.tool = "rectangle";
    this.box = { w: this.width / 4, h: this.height / 4 };
    this.brush = Math.round(Math.min(this.width, this.height) / 10);
    this.at = { x: this.width / 2, y: this.height / 2 };
    this.currentStroke = null;
    this.showsCursor = false;
    this.build();
    this.load(...buffers);
  }

  get strokes() {
    return this.painting.strokes;
  }

  build() {
    this.canvas = make("canvas", "mk-mask-canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `A frame of the video. Drag to paint. ${keysText(MASK_KEYS)}`);
    this.status = makeRole("mk-quiet mk-mask-says", "status");
    const finish = () => this.finish();
    this.use = this.button("Use this mask", "Make this the mask", finish, "mk-mask-done");
    const row = makeBox("mk-row", this.use, this.status);
    const parts = [this.buildBar(), this.canvas, this.buildFrames(), row, makeKeys(MASK_KEYS, { text: "Mask keys" })];
    this.root = makeRole("mk-column mk-mask", "group", ...parts);
    this.root.setAttribute("aria-label", "Paint the mask");
    this.listen();
    this.choose(this.tool);
  }

  buildBar() {
    this.tools = TOOLS.map(([tool, text, words]) =>
      this.button(text, words, () => this.choose(tool)),
    );
    this.undo = this.button("Undo", "Undo the last step", () => this.undoLast());
    const smaller = this.button("−", "Smaller", () => this.resize(1 / GROW));
    const larger = this.button("+", "Larger", () => this.resize(GROW));
    const invert = this.button("Invert", "Swap the painted and the unpainted area", () =>
      this.add({ tool: "invert" }),
    );
    const clear = this.button("Clear", "Erase everything", () =>
      this.add({ tool: "clear" }),
    );
    const groups = [this.tools, [smaller, larger], [this.undo, invert, clear]];
    return makeBox("mk-row mk-mask-bar", ...groups.map((group) => makeBox("mk-row", ...group)));
  }

  // A clip of unknown length has no other frames to choose.
  buildFrames() {
    this.time = make("span", "mk-mask-time");
    const range = { min: 0, max: this.duration_s ?? 0, step: FRAME_STEP_S };
    this.slider = makeSlider("Frame of the video", range, "mk-slider");
    this.slider.addEventListener("input", () => this.showFrame(Number(this.slider.value)));
    this.problem = makeRole("mk-quiet mk-bad", "status");
    const line = makeBox("mk-row mk-mask-frames", make("span", "", "Frame at"), this.slider, this.time);
    line.hidden = !this.duration_s;
    this.writeTime();
    return makeBox("mk-column", line, this.problem, make("div", "mk-quiet", WHOLE_CLIP));
  }

  writeTime() {
    const { at_s } = this.painting;
    this.slider.value = at_s;
    write(this.time, `${at_s.toFixed(1)} s of ${(this.duration_s ?? 0).toFixed(1)} s`);
    this.slider.setAttribute("aria-valuetext", this.time.textContent);
  }

  // Frames are read one after another; of the frames requested meanwhile, only the last.
  async showFrame(at_s) {
    this.painting.at_s = clamp(Math.round(at_s * 10) / 10, 0, this.duration_s ?? 0);
    this.writeTime();
    if (this.isReading) return;
    this.isReading = true;
    while (this.shown_s !== this.painting.at_s) {
      this.shown_s = this.painting.at_s;
      const { problem, buffers } = await this.frameAt(this.shown_s);
      write(this.problem, problem ? "This frame of the video cannot be read." : "");
      if (!problem) this.frame = await picture(buffers[0], "image/jpeg");
      this.draw();
    }
    this.isReading = false;
  }

  button(text, words, press, name = "") {
    return makeButton(text, words, press, `mk-small ${name}`);
  }

  listen() {
    const on = (name, act) => this.canvas.addEventListener(name, act);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", () => this.release());
    on("pointercancel", () => this.cancel());
    on("keydown", (event) => this.key(event));
    // On a button, the browser would undo text typed elsewhere.
    this.root.addEventListener("keydown", (event) => {
      if (this.isUndo(event)) this.key(event);
    });
    on("blur", () => this.point(false));
    on("focus", () => this.point(this.canvas.matches(":focus-visible")));
  }

  async load(frameBytes, baseBytes) {
    const [frame, base] = await Promise.all([
      picture(frameBytes, "image/jpeg"),
      picture(baseBytes, "image/png").catch(() => null), // it may not be a picture
    ]);
    const { width, height } = frame;
    Object.assign(this.canvas, { width, height });
    this.scale = width / this.width;
    this.earlierMask = base && asAlpha(base, this.width, this.height);
    this.mask = canvasOf(width, height);
    this.frame = frame;
    this.redraw();
  }

  // Painting.

  add(stroke) {
    this.strokes.push(stroke);
    this.redraw();
  }

  undoLast() {
    this.strokes.pop();
    this.redraw();
  }

  // Draws the mask at the size of a canvas.
  paint(canvas) {
    const { width, height } = canvas;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.clearRect(0, 0, width, height);
    if (this.earlierMask) context.drawImage(this.earlierMask, 0, 0, width, height);
    for (const stroke of this.strokes) this.apply(context, stroke, width / this.width);
    return context;
  }

  redraw() {
    if (!this.frame) return;
    const context = this.paint(this.mask);
    const isLast = !this.strokes.length && document.activeElement === this.undo;
    this.undo.disabled = !this.strokes.length;
    if (isLast) this.canvas.focus();
    const share = this.paintedShare(context);
    this.use.disabled = !share;
    const percent = share < 0.01 ? "Less than 1" : Math.round(share * 100);
    this.status.textContent = share
      ? `${percent}% of the frame is painted.`
      : "Nothing is painted yet.";
    this.draw();
  }

  paintedShare(context) {
    const { width, height } = this.mask;
    const { data } = context.getImageData(0, 0, width, height);
    let painted = 0;
    for (let at = 3; at < data.length; at += 4) painted += data[at] > HALF;
    return painted / (width * height);
  }

  apply(context, { tool, points = [], size = 0 }, scale) {
    context.save();
    context.fillStyle = context.strokeStyle = "#fff";
    if (tool === "clear" || tool === "invert") {
      const { width, height } = context.canvas;
      context.globalCompositeOperation =
        tool === "clear" ? "destination-out" : "source-out";
      context.fillRect(0, 0, width, height);
    }
    context.scale(scale, scale);
    if (tool === "rectangle") {
      const [x, y, right, bottom] = points;
      context.fillRect(x, y, right - x, bottom - y);
    }
    if (tool === "brush" || tool === "erase") {
      if (tool === "erase") context.globalCompositeOperation = "destination-out";
      context.lineWidth = size;
      context.lineCap = context.lineJoin = "round";
      context.beginPath();
      context.moveTo(points[0], points[1]);
      // A line of length zero is a dab.
      for (let at = 0; at < points.length; at += 2)
        context.lineTo(points[at], points[at + 1]);
      context.stroke();
    }
    context.restore();
  }

  draw() {
    if (!this.frame) return;
    const { width, height } = this.canvas;
    const overlay = canvasOf(width, height);
    const tint = overlay.getContext("2d");
    tint.drawImage(this.mask, 0, 0);
    if (this.currentStroke) this.apply(tint, this.currentStroke, this.scale);
    tint.globalCompositeOperation = "source-in";
    tint.fillStyle = TINT;
    tint.fillRect(0, 0, width, height);
    const context = this.canvas.getContext("2d");
    context.drawImage(this.frame, 0, 0, width, height);
    context.drawImage(overlay, 0, 0);
    if (this.showsCursor) this.drawCursor(context);
  }

  drawCursor(context) {
    context.save();
    context.scale(this.scale, this.scale);
    for (const [at, colour] of CURSOR.entries()) {
      context.strokeStyle = colour;
      context.lineWidth = (at ? 2 : 4) / this.scale;
      context.beginPath();
      if (this.tool === "rectangle") {
        const { x, y, w, h } = this.cursorBox();
        context.rect(x, y, w, h);
      } else context.arc(this.at.x, this.at.y, this.brush / 2, 0, 2 * Math.PI);
      context.stroke();
    }
    context.restore();
  }

  // User actions.

  choose(tool) {
    this.tool = tool;
    for (const [at, button] of this.tools.entries())
      button.setAttribute("aria-pressed", String(TOOLS[at][0] === tool));
    this.draw();
  }

  resize(by) {
    if (this.tool === "rectangle") {
      this.box.w = clamp(this.box.w * by, MIN_SIZE_PX, this.width);
      this.box.h = clamp(this.box.h * by, MIN_SIZE_PX, this.height);
    } else {
      const most = Math.max(this.width, this.height);
      this.brush = clamp(Math.round(this.brush * by), MIN_SIZE_PX, most);
    }
    this.announce();
  }

  cursorBox() {
    const w = Math.round(this.box.w);
    const h = Math.round(this.box.h);
    const x = Math.round(clamp(this.at.x - w / 2, 0, this.width - w));
    const y = Math.round(clamp(this.at.y - h / 2, 0, this.height - h));
    return { x, y, w, h };
  }

  announce() {
    const { x, y, w, h } = this.cursorBox();
    const where = `${Math.round(this.at.x)}, ${Math.round(this.at.y)}`;
    const name = this.tool === "brush" ? "Brush" : "Eraser";
    this.status.textContent =
      this.tool === "rectangle"
        ? `Rectangle of ${w} by ${h} pixels at ${x}, ${y}.`
        : `${name} of ${this.brush} pixels at ${where}.`;
    this.draw();
  }

  point(shows) {
    this.showsCursor = shows;
    if (shows) this.announce();
    else this.draw();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width;
    const y = ((event.clientY - box.top) / box.height) * this.height;
    return { x: clamp(x, 0, this.width), y: clamp(y, 0, this.height) };
  }

  press(event) {
    if (event.button || !this.frame) return;
    event.preventDefault();
    this.canvas.focus();
    this.canvas.setPointerCapture(event.pointerId);
    this.at = this.place(event);
    const { x, y } = this.at;
    this.showsCursor = false;
    const points = this.tool === "rectangle" ? [x, y, x, y] : [x, y];
    this.currentStroke = { tool: this.tool, points };
    if (this.tool !== "rectangle") this.currentStroke.size = this.brush;
    this.draw();
  }

  move(event) {
    if (!this.currentStroke) return;
    this.at = this.place(event);
    const { x, y } = this.at;
    if (this.tool === "rectangle") this.currentStroke.points.splice(2, 2, x, y);
    else this.currentStroke.points.push(x, y);
    this.draw();
  }

  release() {
    const stroke = this.currentStroke;
    this.currentStroke = null;
    if (!stroke) return;
    stroke.points = stroke.points.map(Math.round);
    const [x, y, right, bottom] = stroke.points;
    const isFlat = stroke.tool === "rectangle" && (right === x || bottom === y);
    if (isFlat) this.draw();
    else this.add(stroke);
  }

  cancel() {
    this.currentStroke = null;
    this.draw();
  }

  isUndo({ key, ctrlKey, metaKey }) {
    return (ctrlKey || metaKey) && key === "z";
  }

  key(event) {
    const act = this.action(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    this.showsCursor = true;
    act();
  }

  action(event) {
    const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
    if (this.isUndo(event)) return () => this.undoLast();
    if (ctrlKey || metaKey) return null;
    if (key === "Enter") return () => this.stamp();
    if (key === "+" || key === "=") return () => this.resize(GROW);
    if (key === "-" || key === "_") return () => this.resize(1 / GROW);
    if (key === "," || key === ".") {
      const way = key === "," ? -1 : 1;
      return () => this.showFrame(this.painting.at_s + way * FRAME_STEP_S);
    }
    if (!(key in DIRECTIONS)) return null;
    const step = shiftKey ? 1 : Math.max(1, Math.round(this.width / STEPS_ACROSS));
    const [dx, dy] = DIRECTIONS[key].map((way) => way * step);
    return altKey ? () => this.reshape(dx, dy) : () => this.moveCursor(dx, dy);
  }

  moveCursor(dx, dy) {
    const { w, h } = this.tool === "rectangle" ? this.box : { w: 0, h: 0 };
    this.at.x = clamp(this.at.x + dx, w / 2, this.width - w / 2);
    this.at.y = clamp(this.at.y + dy, h / 2, this.height - h / 2);
    this.announce();
  }

  reshape(dx, dy) {
    this.box.w = clamp(this.box.w + dx, MIN_SIZE_PX, this.width);
    this.box.h = clamp(this.box.h + dy, MIN_SIZE_PX, this.height);
    this.announce();
  }

  stamp() {
    const { x, y, w, h } = this.cursorBox();
    const { tool } = this;
    const at = [Math.round(this.at.x), Math.round(this.at.y)];
    if (tool === "rectangle") this.add({ tool, points: [x, y, x + w, y + h] });
    else this.add({ tool, points: at, size: this.brush });
  }

  // Each pixel is white or black, even at the edge of a brush.
  finish() {
    const { width, height } = this;
    const canvas = canvasOf(width, height);
    const context = this.paint(canvas);
    const image = context.getImageData(0, 0, width, height);
    for (let at = 0; at < image.data.length; at += 4) {
      image.data.fill(image.data[at + 3] > HALF ? 255 : 0, at, at + 3);
      image.data[at + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    canvas.toBlob((blob) => this.done(new File([blob], "mask.png", { type: "image/png" })));
  }
}
