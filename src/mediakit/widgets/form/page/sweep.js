// The part of a form that varies fields and runs all combinations.

const MOST_LINES = 8; // lines of a box of values before it scrolls

class Sweep {
  constructor(form) {
    this.form = form;
    this.axes = new Map();
    this.root = make("div", "mk-frame mk-column mk-pay mk-sweep");
    this.varies = make("div", "mk-flow mk-ticks");
    const ticks = makeRole("mk-field", "group", make("div", "mk-label", "What varies"), this.varies);
    ticks.setAttribute("aria-label", "What varies");
    this.boxes = make("div", "mk-flow mk-fields");
    this.takes = this.textBox("Takes", { inputMode: "numeric", title: "Results per combination" }, "takes");
    this.budget = this.textBox("Budget", { placeholder: "$5, or blank for no limit" }, "budget");
    this.plan = makeRole("", "status");
    this.status = makeRole("mk-quiet", "status");
    this.fits = makeRole("mk-quiet", "status");
    this.run = button("Run", "Send the new ones; you pay for each when it completes", () => this.start(), "mk-go mk-paid");
    this.drafts = button("Drafts first…", "", () => this.tell({ drafts: true }));
    this.error = make("div");
    const row = makeBox("mk-row", this.run, this.drafts);
    const amounts = makeBox("mk-row mk-amounts", this.takes.root, this.budget.root);
    this.code = new Code("Copy sweep as Python", () => {});
    this.root.append(ticks, this.boxes, amounts, this.plan, this.status, this.fits, row, this.error, this.code.root);
  }

  // Until the kernel responds, the button shows that the click was received.
  start() {
    const { textContent: run } = this.run;
    write(this.run, "Running…");
    this.run.disabled = true;
    this.tell({ run });
  }

  tell(content) {
    this.form.model.send({ do: "sweep", ...content });
  }

  textBox(text, traits, name) {
    const input = box("input", traits, () => this.tell({ [name]: input.value }));
    return { root: makeBox("mk-field mk-budget", labelFor(text, input), input), input };
  }

  show(sweep) {
    this.showVaries(sweep.varies);
    this.showAxes(sweep.axes);
    for (const [name, { input }] of [["takes", this.takes], ["budget", this.budget]])
      if (document.activeElement !== input) fill(input, sweep[name]);
    if (this.planHtml !== sweep.plan) {
      this.planHtml = sweep.plan;
      this.plan.innerHTML = sweep.plan; // escaped by the kernel, as in a saved notebook
    }
    this.plan.classList.toggle("mk-fades", sweep.fades);
    write(this.status, sweep.said);
    write(this.fits, sweep.fits);
    write(this.run, sweep.run);
    this.run.disabled = sweep.off;
    this.drafts.hidden = !sweep.drafts;
    showError(this.error, sweep.error);
    this.code.show(sweep.code, CODE_HINT);
  }

  showVaries(varies) {
    const key = JSON.stringify(varies.map(([name, label]) => [name, label]));
    if (this.variesKey !== key) {
      this.variesKey = key;
      this.ticks = new Map();
      this.varies.replaceChildren(
        ...varies.map(([name, label]) => {
          const { line, input } = ticked(label, (on) => this.tell({ vary: name, on }));
          this.ticks.set(name, input);
          return line;
        }),
      );
    }
    for (const [name, , isOn] of varies) this.ticks.get(name).checked = isOn;
  }

  showAxes(axes) {
    const names = new Set(axes.map(({ name, way }) => `${way} ${name}`));
    for (const [key, axis] of this.axes) {
      if (names.has(key)) continue;
      axis.root.remove();
      this.axes.delete(key);
    }
    axes.forEach((axis, at) => {
      const key = `${axis.way} ${axis.name}`;
      if (!this.axes.has(key)) this.axes.set(key, this.makeAxis(axis));
      const view = this.axes.get(key);
      putAt(this.boxes, at, view.root);
      view.show(axis);
    });
  }

  makeAxis({ name, label, way, hint, options }) {
    const [root, note] = [make("div", "mk-field mk-axis"), make("div", "mk-note mk-small-print mk-bad")];
    const isNamed = ["choices", "both"].includes(way);
    if (isNamed) {
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", label);
      root.append(make("div", "mk-label", label));
    }
    let show = () => {};
    if (way === "choices") {
      // One option per message: the kernel may not have responded to the last one yet.
      const inputs = options.map((text, option) => ticked(text, (on) => this.tell({ axis: name, option, on })));
      root.append(makeBox("mk-flow mk-ticks", ...inputs.map(({ line }) => line)));
      show = (axis) => inputs.forEach(({ input }, at) => (input.checked = axis.ticked.includes(at)));
    } else if (way === "both") {
      root.append(make("div", "mk-quiet", "no and yes"));
    } else {
      const isLines = way !== "numbers";
      const grow = () => isLines && (input.rows = Math.max(2, Math.min(MOST_LINES, input.value.split("\n").length)));
      const input = box(isLines ? "textarea" : "input", {}, () => {
        grow();
        this.tell({ axis: name, text: input.value });
      });
      root.append(labelFor(label, input), input, make("div", "mk-quiet mk-note mk-small-print", hint));
      show = ({ text }) => {
        if (document.activeElement !== input) fill(input, text);
        grow();
      };
    }
    root.append(note);
    return {
      root,
      show(axis) {
        show(axis);
        write(note, axis.problem);
      },
    };
  }
}

const ticked = (text, turn) => {
  const [line, input] = [make("label", "mk-tick"), makeTick(turn)];
  line.append(input, make("span", "", text));
  return { line, input };
};
