// The form: cells as they are typed, answers as they change. All text goes in as text, never as markup.

const MOST_BARS = 12, MOST_REASONS = 8;
const LEAST_GAIN = 0.005, MOST_MILLISECONDS = 30;

const find = (id) => document.getElementById(id);

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A number as a person may type it again: all its digits.
const plainNumber = (x) => String(x).replace("-", "−");

function number(x) {
  if (Math.abs(x) >= 1e5) return x.toLocaleString("en", { maximumFractionDigits: 0 });
  return String(Number(x.toPrecision(4))).replace("-", "−");
}

// A probability in percent, never rounded to certainty.
function percent(p) {
  if (p > 0 && p < 0.001) return "< 0.1\u00a0%";
  if (p > 0.999 && p < 1) return "> 99.9\u00a0%";
  return `${(100 * p).toFixed((p > 0.1 && p < 0.9) || p === 1 || p === 0 ? 0 : 1)}\u00a0%`;
}

// How many cells say something: those of any other level than the known ones do not.
const knownCells = (row, fields) => row.filter((cell, j) => cell !== null && !(fields[j].levels && cell >= fields[j].levels.length)).length;

const signed = (x) => (x === -Infinity ? "rules it out" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`);

class Form {
  constructor(model, fields, colors) {
    Object.assign(this, { model, fields, colors });
    // By column; null where a column is not asked, so that its cell is unknown in every row.
    const all = model.program.columns;
    this.inputs = all.map((_, j) => find(`cell${j}`));
    this.hints = all.map((_, j) => find(`hint${j}`));
    this.tells = all.map((_, j) => find(`tells${j}`));
    this.troubles = all.map(() => "");
    this.choice = find("why-class");
    find("row").addEventListener("input", () => this.later());
    find("row").addEventListener("submit", (event) => event.preventDefault());
    find("row").addEventListener("keydown", (event) => this.step(event));
    find("forget").addEventListener("click", () => this.forget());
    find("typical")?.addEventListener("change", (event) => this.typical(event.target));
    this.choice.addEventListener("change", () => this.later());
    this.waterfall = find("fall") ? new Waterfall(this) : null;
    find("explorer-body").hidden = false;
    this.update();
  }

  // --- cells ---------------------------------------------------------------------------------------------------------

  // The row as typed; a cell that holds no number is unknown, and says so.
  row() {
    return this.inputs.map((input, j) => {
      if (!input) return null;
      if (this.fields[j].levels) return input.value === "" ? null : Number(input.value);
      const { value, why } = readCell(input.value, this.fields[j]), trouble = why ?? (value === null ? "" : oddity(value, this.fields[j]));
      this.troubles[j] = trouble;
      input.setAttribute("aria-invalid", String(trouble !== ""));
      return trouble ? null : value;
    });
  }

  // The arrows up and down change a number by a step of its column.
  step(event) {
    const j = this.inputs.indexOf(event.target), way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!way || j < 0 || this.fields[j].levels || event.altKey || event.ctrlKey || event.metaKey) return;
    const field = this.fields[j], { value } = readCell(event.target.value, field);
    if (value === undefined) return;
    event.preventDefault();
    const [low, high] = field.seen ?? [0, 1], begin = value ?? this.model.expected(this.row())[j]?.mean ?? 0.5 * (low + high);
    const size = field.step ?? 10 ** Math.floor(Math.log10((high - low) / 20 || 1));
    event.target.value = writeCell(stepped(begin + (value === null ? 0 : way * size), field), field);
    this.later();
  }

  forget() {
    for (const input of this.inputs.filter(Boolean)) input.value = "";
    if (find("typical")) find("typical").value = "";
    this.update();
    find("row").querySelector("input, select.cell").focus();
  }

  typical(chosen) {
    if (chosen.value === "") return;
    const found = this.model.expected(this.inputs.map(() => null), 0.9, Number(chosen.value));
    found.forEach((cell, j) => {
      if (!this.inputs[j]) return;
      if (cell === null) this.inputs[j].value = "";
      else if (cell.levels) this.inputs[j].value = String(cell.levels.indexOf(Math.max(...cell.levels)));
      else this.inputs[j].value = writeCell(this.fields[j].count ? Math.round(cell.mean) : stepped(cell.mean, this.fields[j]), this.fields[j]);
    });
    this.update();
  }

  // --- answers -------------------------------------------------------------------------------------------------------

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.update(); });
  }

  update() {
    const row = this.row(), logPosterior = this.model.logPosterior(row), posterior = logPosterior.map(Math.exp);
    this.showPosterior(posterior);
    this.showSet(row, logPosterior);
    this.showExpected(row);
    const strange = this.model.compares ? this.showUnusual(row) : false;
    this.say(row, posterior, strange);
    clearTimeout(this.reasoning);
    this.reasoning = setTimeout(() => this.showReasons(row, posterior), this.slow ? 250 : 0);
    clearTimeout(this.asking);
    const ahead = asked(this.model, row).map((gain, j) => (this.inputs[j] ? gain : null));
    this.asking = setTimeout(() => this.ask(ahead, 0, [], entropy(posterior)), this.late ? 250 : 0);
  }

  // What each unknown cell would tell, some columns at a time, so that typing is never held up.
  ask(columns, next, gain, most) {
    const begun = performance.now();
    while (next < columns.length && performance.now() - begun < MOST_MILLISECONDS) {
      gain.push(columns[next] ? columns[next]() : null);
      next += 1;
    }
    this.late = next < columns.length;
    if (this.late) this.asking = setTimeout(() => this.ask(columns, next, gain, most), 0);
    else this.showGains(gain, most);
  }

  showGains(gain, most) {
    const best = Math.max(0, ...gain.filter((own) => own !== null));
    gain.forEach((own, j) => {
      if (!this.tells[j]) return;
      const place = this.tells[j], next = own !== null && own === best && own >= LEAST_GAIN;
      place.hidden = own === null;
      place.classList.toggle("next", next);
      if (own === null) { place.replaceChildren(); return; }
      const track = element("span", undefined, "gain"), bar = element("span");
      bar.style.width = `${100 * Math.min(own / Math.max(most, 1e-12), 1)}%`;
      track.setAttribute("aria-hidden", "true");
      track.append(bar);
      place.replaceChildren(track, element("span", `${next ? "ask next: " : ""}tells ${own < LEAST_GAIN ? "nothing" : own.toFixed(2)}`));
    });
  }

  showSet(row, logPosterior) {
    const found = this.model.classSet(knownCells(row, this.fields), logPosterior), place = find("set"), most = this.model.program.classes.length;
    if (found === null) return;
    place.hidden = false;
    const names = found.sort((a, b) => logPosterior[b] - logPosterior[a]).map((c) => this.model.program.classes[c]);
    const which = names.length === most && most > 1 ? "any class" : names.join(" or ");
    place.textContent = `With 90\u00a0% confidence, for rows of which as much is known: ${which}.`;
  }

  showPosterior(posterior) {
    const order = posterior.map((_, c) => c);
    if (order.length > MOST_BARS) order.sort((a, b) => posterior[b] - posterior[a]);
    const rows = order.slice(0, MOST_BARS).map((c) => {
      const bar = element("span", "", "bar");
      bar.style.width = `${100 * posterior[c]}%`;
      bar.style.backgroundColor = this.colors[c];
      return this.line(this.model.program.classes[c], bar, percent(posterior[c]));
    });
    find("posterior").replaceChildren(...rows);
    find("posterior-rest").hidden = order.length <= MOST_BARS;
  }

  line(name, bar, text) {
    const row = element("tr"), head = element("th", name), track = element("td", undefined, "track");
    head.scope = "row";
    track.append(bar);
    track.setAttribute("aria-hidden", "true");
    row.append(head, track, element("td", text, "amount"));
    return row;
  }

  showExpected(row) {
    const found = this.model.expected(row);
    this.hints.forEach((hint, j) => {
      if (!hint) return;
      const field = this.fields[j], typed = this.inputs[j].value.trim();
      hint.classList.toggle("wrong", this.troubles[j] !== "");
      hint.classList.remove("warned");
      if (this.troubles[j]) hint.textContent = this.troubles[j];
      else if (row[j] !== null && !field.levels) {
        const odd = remark(row[j], field), same = field.date || typed.replace(/^\+/, "") === String(row[j]) || Number(typed) === row[j];
        hint.classList.toggle("warned", odd !== "");
        hint.textContent = `${same ? "" : `Read as ${plainNumber(row[j])}. `}${odd}`.trim();
      } else hint.textContent = found[j] ? this.expectation(found[j], field) : "";
    });
  }

  expectation(cell, field) {
    if (!cell.levels) {
      const told = (x) => tellCell(field.count || field.step === null ? x : stepped(x, field), field);
      return cell.low === cell.high ? `always ${tellCell(cell.mean, field)}`
        : `about ${told(cell.mean)}; 90 %: ${told(cell.low)} to ${told(cell.high)}`;
    }
    const order = cell.levels.map((_, i) => i).sort((a, b) => cell.levels[b] - cell.levels[a]).slice(0, 3);
    return order.filter((i, place) => place === 0 || cell.levels[i] >= 0.005)
      .map((i) => `${field.levels[i]} ${percent(cell.levels[i])}`).join(", ");
  }

  // Says how unusual the row is; where it is like nothing drawn from the model, the answer is greyed out.
  showUnusual(row) {
    const { share, rows } = this.model.unusual(row), density = this.model.logDensity(row);
    const known = row.some((cell) => cell !== null), strange = known && rows > 0 && share <= Math.max(1 / (rows + 1), 0.002);
    let text = "Nothing is known of the row yet.";
    if (known && !rows) text = "This model draws no rows to compare with.";
    else if (strange) text = `Very: none of ${rows} rows drawn from the model is as improbable as this one.`;
    else if (known) {
      const verdict = share < 0.01 ? "Very" : share < 0.1 ? "Somewhat" : "Not at all";
      text = `${verdict}: ${percent(share)} of rows drawn from the model are as improbable as this one, or more.`;
    }
    find("unusual").textContent = text;
    find("density").textContent = known && density !== null
      ? `log p(x) = ${density === -Infinity ? "−∞" : density.toFixed(2).replace("-", "−")}` : "";
    const meter = find("unusual-bar");
    meter.hidden = !known || !rows;
    meter.firstElementChild.style.left = `${100 * share}%`;
    find("answer").classList.toggle("strange", strange);
    find("strange").hidden = !strange;
    find("strange").textContent = strange ? `This row is like nothing the model has seen, so its answer says little. ${this.blame(row)}` : "";
    return strange;
  }

  // The known number that lies farthest outside those drawn, in widths of their range.
  blame(row) {
    let most = 0, text = "Each cell by itself may occur; together they do not.";
    row.forEach((cell, j) => {
      if (cell === null || this.fields[j].levels) return;
      const own = this.model.program.drawn.map((cells) => cells[j]).filter((value) => value !== null);
      const low = Math.min(...own), high = Math.max(...own), width = high - low || Math.abs(high) || 1;
      const away = own.length ? Math.max(low - cell, cell - high) / width : 0;
      if (away <= most) return;
      most = away;
      const field = this.fields[j], round = (x) => (field.step === null && !field.date ? Number(x.toPrecision(3)) : stepped(x, field));
      const told = (x) => tellCell(round(x), field);
      text = `${field.name} is ${tellCell(cell, field)}, and it expects ${told(low)} to ${told(high)}.`;
    });
    return text;
  }

  // The only answer that may take long, so that it waits for a pause in the typing where it did.
  showReasons(row, posterior) {
    const begun = performance.now();
    this.fillReasons(row, posterior);
    this.slow = performance.now() - begun > 40;
  }

  fillReasons(row, posterior) {
    const most = posterior.indexOf(Math.max(...posterior));
    const c = this.choice.value === "" ? most : Number(this.choice.value);
    const { score, error, sampled } = reasons(this.model, row), priors = this.model.program.log_prior;
    const possible = priors.filter(Number.isFinite), mean = possible.reduce((sum, own) => sum + own, 0) / possible.length;
    const prior = priors[c] - mean;
    const known = row.map((_, j) => j).filter((j) => row[j] !== null);
    known.sort((a, b) => Math.abs(score[b][c]) - Math.abs(score[a][c]));
    const shown = known.slice(0, MOST_REASONS);
    const finite = [prior, ...shown.map((j) => score[j][c])].map(Math.abs).filter(Number.isFinite);
    const scale = Math.max(1, ...finite);
    const lines = [this.reason("before looking", prior, 0, scale, c)];
    for (const j of shown) lines.push(this.reason(`${this.fields[j].name} = ${this.cellText(row[j], j)}`, score[j][c], error[j][c], scale, c));
    find("reasons").replaceChildren(...lines);
    find("reasons-of").textContent = this.model.program.classes[c];
    find("reasons-rest").textContent = known.length > shown.length ? `… and ${known.length - shown.length} smaller ones.` : "";
    find("reasons-sampled").hidden = !sampled;
    find("reasons-table").classList.toggle("sampled", sampled);
    if (this.waterfall) this.waterfall.show(row, posterior, score);
  }

  cellText(cell, j) {
    const { levels } = this.fields[j];
    return levels ? (cell < levels.length ? levels[cell] : "any other") : tellCell(cell, this.fields[j]);
  }

  reason(name, value, error, scale, c) {
    const bar = element("span", "", value < 0 ? "bar against" : "bar"), size = Math.min(Math.abs(value) / scale, 1);
    bar.style.width = `${50 * size}%`;
    if (value >= 0) bar.style.backgroundColor = this.colors[c];
    bar.style.left = value < 0 ? `${50 - 50 * size}%` : "50%";
    const spread = error > 0.005 ? ` ± ${error.toFixed(2)}` : "";
    const line = this.line(name, bar, signed(value) + spread);
    line.children[1].classList.add("both");
    return line;
  }

  // One sentence for people who do not see the bars, a moment after the last key.
  say(row, posterior, strange) {
    clearTimeout(this.timer);
    const best = posterior.indexOf(Math.max(...posterior)), known = row.filter((cell) => cell !== null).length;
    const text = `${strange ? "Like nothing seen; " : ""}${this.model.program.classes[best]}, ${percent(posterior[best])}; ${known} of ${this.inputs.filter(Boolean).length} cells known`;
    this.timer = setTimeout(() => { find("said").textContent = text; }, 400);
  }
}

// --- the page --------------------------------------------------------------------------------------------------------

if (typeof document !== "undefined") {
  const { program, fields, colors } = JSON.parse(find("parameters").textContent);
  const model = new Model(program), cells = [];
  for (const field of fields) cells[field.cell] = field;
  // For the console, and for tests: cells in the order of the columns, null where unknown, levels by number.
  globalThis.suffice = Object.freeze({
    ask: (row) => ({
      posterior: model.logPosterior(row).map(Math.exp),
      logDensity: model.logDensity(row),
      expected: model.expected(row),
      reasons: reasons(model, row),
      unusual: model.unusual(row),
      set: model.classSet(knownCells(row, cells), model.logPosterior(row)),
      gain: gains(model, row),
    }),
  });
  new Form(model, cells, colors);
}
