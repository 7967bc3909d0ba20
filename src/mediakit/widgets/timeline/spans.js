// The value of a timeline's field on the page: items ("rows") of spans with a start and
// a length. An edit changes only the parts that it names; parts that no timeline shows
// are kept.

const LEAST_MS = 100;
const NEW_BLOCK_MS = 2000;
const FARTHEST_MS = 2 ** 53; // beyond it, a number is no longer exact

class Spans {
  constructor(spec) {
    this.spec = spec;
    Object.assign(this, spec.timeline);
  }

  get kinds() {
    return Object.keys(this.spec.item.variants ?? { "": null });
  }

  innerOf(row) {
    const { item } = this.spec;
    const { fields = [] } = item.variants ? (item.variants[row.tag] ?? {}) : item;
    return fields.find(({ name }) => name === this.inner);
  }

  mediumOf(row) {
    return this.innerOf(row)?.item.fields.find(({ kind }) => kind === "media");
  }

  of(row) {
    return row?.of[this.inner] ?? [];
  }

  shape(rows) {
    return rows.map((row) => `${row.tag ?? ""}:${this.of(row).length}`).join(" ");
  }

  isFull(row) {
    return this.of(row).length >= (this.innerOf(row)?.most ?? Infinity);
  }

  // The times of a span; null if they are missing or cannot be drawn.
  times(span) {
    const [start_ms, length_ms] = [this.start, this.length].map((name) => {
      const text = String(span?.of[name] ?? "").trim();
      return text && Math.abs(Number(text)) <= FARTHEST_MS ? (Number(text) * 1000) / this.per_s : NaN;
    });
    return start_ms >= 0 && length_ms > 0 ? { start_ms, length_ms } : null;
  }

  // The times of a row's spans, in chronological order.
  all(row) {
    const found = this.of(row).map((span) => this.times(span)).filter(Boolean);
    return found.sort((one, other) => one.start_ms - other.start_ms);
  }

  with(rows, row, spans) {
    return rows.map((each, at) => (at === row ? { ...each, of: { ...each.of, [this.inner]: spans } } : each));
  }

  // A time that is equal to the millisecond keeps its typed form.
  put(rows, [row, at], times) {
    const spans = [...this.of(rows[row])];
    const span = spans[at] ?? this.innerOf(rows[row]).item.start;
    const before = this.times(span);
    const of = { ...span.of };
    for (const [name, key] of [[this.start, "start_ms"], [this.length, "length_ms"]])
      if (!before || Math.round(before[key]) !== Math.round(times[key]))
        of[name] = String((Math.round(times[key]) * this.per_s) / 1000);
    spans[at] = { ...span, of };
    return this.with(rows, row, spans);
  }

  // An item cannot have no spans, so an empty span stays.
  remove(rows, [row, at]) {
    const spans = this.of(rows[row]).filter((_, place) => place !== at);
    return this.with(rows, row, spans.length ? spans : [this.innerOf(rows[row]).item.start]);
  }

  // The place of a new block: the first span without a time, or after the last span; null
  // if the row is full.
  newPlace(rows, row) {
    const spans = this.of(rows[row]);
    const bare = spans.findIndex((span) => !this.times(span));
    if (bare < 0 && this.isFull(rows[row])) return null;
    return [row, bare < 0 ? spans.length : bare];
  }

  // Room for a new block: from a given time on, or after the last block.
  room(row, from_ms) {
    const taken = this.all(row);
    const ends = taken.map(({ start_ms, length_ms }) => start_ms + length_ms);
    if (from_ms === null) return { start_ms: Math.max(0, ...ends), length_ms: NEW_BLOCK_MS };
    let start_ms = from_ms;
    taken.forEach((each, at) => {
      if (each.start_ms <= start_ms && start_ms < ends[at]) start_ms = ends[at];
    });
    const later = taken.map((each) => each.start_ms).filter((ms) => ms >= start_ms);
    const room_ms = Math.min(NEW_BLOCK_MS, ...later.map((ms) => ms - start_ms));
    return { start_ms, length_ms: Math.max(LEAST_MS, room_ms) };
  }

  // Adds an item of a kind; it replaces the last one if that is empty.
  addItem(rows, kind) {
    const { item } = this.spec;
    const kept = rows.length && this.isBlank(rows.at(-1)) ? rows.slice(0, -1) : rows;
    const first = item.variants ? { tag: kind, of: item.variants[kind].first.of } : item.start;
    const names = kept.map((row) => row.of[this.name]);
    let number = 1;
    while (names.includes(`${kind || this.one}-${number}`)) number += 1;
    const name = this.name ? { [this.name]: `${kind || this.one}-${number}` } : {};
    return [...kept, { ...first, of: { ...first.of, ...name } }];
  }

  isBlank({ of }) {
    const isOwn = new RegExp(`^${this.one}-\\d+$`).test(of[this.name] ?? "");
    const isEmpty = (wire) => Object.values(wire.of).every((each) => !each?.length);
    const rest = { ...of, [this.inner]: [], ...(isOwn ? { [this.name]: "" } : {}) };
    return isEmpty({ of: rest }) && this.of({ of }).every(isEmpty);
  }
}
