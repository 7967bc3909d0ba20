// A button that gives the browser a file under a good name.
//
// A link with a "download" attribute is ignored for files of another origin, so the
// page fetches the file itself; where the storage does not allow that, the kernel
// reads it and passes it on piece by piece.

const IDLE = "Download";
const PIECE_BYTES = 4_000_000;

function render({ model, el }) {
  const button = document.createElement("button");
  button.className = "jupyter-widgets jupyter-button widget-button";
  button.type = "button";
  button.title = "Save the file through your browser";
  button.textContent = IDLE;
  let running = null;

  const show = (doneBytes, totalBytes) => {
    const share = totalBytes ? ` ${Math.floor((100 * doneBytes) / totalBytes)}%` : "…";
    button.textContent = `Cancel ·${share}`;
  };
  button.addEventListener("click", async () => {
    if (running) {
      running.abort();
      return;
    }
    running = new AbortController();
    const { signal } = running;
    show(0, 0);
    try {
      const blob = await fetched(model, signal, show).catch((error) => {
        if (signal.aborted) throw error;
        return fromKernel(model, signal, show);
      });
      hand(blob, model.get("name"));
      model.send({ downloaded: blob.size });
    } catch (error) {
      if (!signal.aborted) model.send({ failed: String(error.message ?? error) });
    } finally {
      running = null;
      button.textContent = IDLE;
    }
  });
  el.append(button);
  return () => running?.abort();
}

async function fetched(model, signal, show) {
  const options = { signal, mode: "cors", credentials: "omit", cache: "no-store" };
  const response = await fetch(model.get("url"), options);
  if (!response.ok) throw new Error(`the answer was ${response.status}`);
  const totalBytes = Number(response.headers.get("Content-Length")) || 0;
  const file = new Pieces(response.headers.get("Content-Type") ?? "");
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    file.add(value);
    show(file.bytes, totalBytes);
  }
  if (totalBytes && file.bytes !== totalBytes) throw new Error("it ended early");
  return file.blob();
}

function fromKernel(model, signal, show) {
  const stream = crypto.getRandomValues(new Uint32Array(1))[0];
  return new Promise((resolve, reject) => {
    let file = new Pieces("");
    let totalBytes = 0;
    const stop = () => {
      model.send({ stop: stream });
      end(() => reject(new Error("cancelled")));
    };
    const end = (then) => {
      model.off("msg:custom", hear);
      signal.removeEventListener("abort", stop);
      then();
    };
    const hear = (said, buffers) => {
      if (said.stream !== stream) return;
      if (said.what === "start") {
        file = new Pieces(model.get("content_type"));
        totalBytes = said.bytes;
      } else if (said.what === "piece") {
        for (const piece of buffers) file.add(new Uint8Array(bytesOf(piece)));
        show(file.bytes, totalBytes);
        model.send({ took: stream });
      } else if (said.what === "end") {
        end(() => resolve(file.blob()));
      } else if (said.what === "failed") {
        end(() => reject(new Error(said.why)));
      }
    };
    model.on("msg:custom", hear);
    signal.addEventListener("abort", stop);
    model.send({ want: stream });
  });
}

function bytesOf(piece) {
  const { buffer, byteOffset, byteLength } = piece;
  return buffer ? buffer.slice(byteOffset, byteOffset + byteLength) : piece;
}

// Small pieces become blobs, which the browser may keep on its disk.
class Pieces {
  constructor(type) {
    this.type = type;
    this.bytes = 0;
    this.blobs = [];
    this.waiting = [];
    this.waitingBytes = 0;
  }

  add(piece) {
    this.waiting.push(piece);
    this.waitingBytes += piece.byteLength;
    this.bytes += piece.byteLength;
    if (this.waitingBytes >= PIECE_BYTES) this.pack();
  }

  pack() {
    this.blobs.push(new Blob(this.waiting));
    this.waiting = [];
    this.waitingBytes = 0;
  }

  blob() {
    this.pack();
    return new Blob(this.blobs, { type: this.type });
  }
}

function hand(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export default { render };
