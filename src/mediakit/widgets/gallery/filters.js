// The filters of a wall; the kernel selects the matching cells.

const STATES = [
  ["", "Any status"],
  ["completed", "Completed"],
  ["running", "Running"],
  ["failed", "Failed"],
  ["unsent", "Not sent"],
  ["invalid", "Invalid"],
];
const NO_FILTERS = { status: "", rating: 0, kept: false, tag: "", text: "" };

class Filters {
  constructor(wall) {
    this.wall = wall;
    this.button = makeButton("Filter", "", () => this.toggle());
    this.button.setAttribute("aria-expanded", "false");
    const select = (label, name, options = [], read = String) => {
      const box = make("select");
      box.setAttribute("aria-label", label);
      box.append(...options.map(([value, text]) => new Option(text, value)));
      box.addEventListener("change", () => wall.filter({ [name]: read(box.value) }));
      return box;
    };
    const stars = [5, 4, 3, 2, 1].map((rating) => [rating, `${"★".repeat(rating)} or better`]);
    const status = select("Status", "status", STATES);
    const rating = select("Rating", "rating", [[0, "Any rating"], ...stars], Number);
    const tag = select("Tag", "tag");
    const kept = makeTick((isOn) => wall.filter({ kept: isOn }));
    const keptLabel = make("label", "mk-row");
    keptLabel.append(kept, make("span", "", "Kept"));
    const text = make("input");
    Object.assign(text, { type: "search", dir: "auto", placeholder: "Search prompts, labels, notes" });
    text.setAttribute("aria-label", "Search prompts, labels, tags, notes and scores");
    text.addEventListener("input", () => wall.filter({ text: text.value }));
    this.boxes = { status, rating, tag, kept, text };
    this.clear = makeButton("Clear filters", "", () => {
      text.value = "";
      wall.filter(NO_FILTERS);
    });
    this.matches = make("span", "mk-quiet mk-small-print");
    const parts = [status, rating, tag, keptLabel, text, this.clear, this.matches];
    this.row = makeBox("mk-row mk-wall-filters", ...parts);
    this.row.hidden = true;
  }

  toggle() {
    this.row.hidden = !this.row.hidden;
    this.button.setAttribute("aria-expanded", String(!this.row.hidden));
    if (!this.row.hidden) this.boxes.text.focus();
  }

  open() {
    if (this.row.hidden) this.toggle();
    else this.boxes.text.focus();
  }

  draw() {
    const { filters, tags, found, total } = this.wall.data;
    const options = [["", "Any tag"], ...tags.map((tag) => [tag, `#${tag}`])];
    if (filters.tag && !tags.includes(filters.tag)) options.push([filters.tag, `#${filters.tag}`]);
    if (String(options) !== this.tagOptions)
      this.boxes.tag.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    this.tagOptions = String(options);
    this.boxes.tag.hidden = options.length < 2;
    for (const [name, box] of Object.entries(this.boxes)) {
      if (name === "kept") box.checked = filters.kept;
      else if (box !== document.activeElement && box.value !== String(filters[name]))
        box.value = filters[name];
    }
    const active = Object.values(filters).some(Boolean);
    const shown = `${found.toLocaleString("en")} of ${total.toLocaleString("en")}`;
    this.clear.hidden = !active;
    write(this.matches, active ? shown : "");
    write(this.button, active ? `Filter · ${shown}` : "Filter");
  }
}
