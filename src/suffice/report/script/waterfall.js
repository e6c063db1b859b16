// Step by step: the way from the priors to the log odds of one class against another, a line for each known cell.

const MOST_STEPS = 12;

// The steps of a row, largest first, all beyond `most` together, and the log odds before and after them.
function waterfall(model, row, score, c, b, most = MOST_STEPS) {
  const against = (own) => (own[c] === own[b] ? 0 : own[c] - own[b]);
  const steps = row.map((_, column) => ({ column, nats: against(score[column]) })).filter(({ column }) => row[column] !== null);
  steps.sort((one, other) => Math.abs(other.nats) - Math.abs(one.nats) || one.column - other.column);
  const shown = steps.length <= most + 1 ? steps : steps.slice(0, most), rest = steps.slice(shown.length);
  return {
    start: against(model.program.log_prior), end: against(model.logPosterior(row)), steps: shown,
    rest: rest.length ? { columns: rest.length, nats: rest.reduce((sum, own) => sum + own.nats, 0) } : null,
  };
}

class Waterfall {
  constructor(form) {
    this.form = form;
    this.label = find("fall-for");
    this.against = find("fall-against");
    for (const choice of [this.label, this.against]) choice.addEventListener("change", () => form.later());
    find("fall").hidden = false;
  }

  // The classes asked for, by default the most probable one and the next.
  sides(posterior) {
    const order = posterior.map((_, c) => c).sort((a, b) => posterior[b] - posterior[a] || a - b);
    let b = this.against.value === "" ? null : Number(this.against.value);
    const c = this.label.value === "" ? order.find((own) => own !== b) : Number(this.label.value);
    if (b === null || b === c) b = order.find((own) => own !== c);
    return [c, b];
  }

  show(row, posterior, score) {
    const { form } = this, { classes } = form.model.program, [c, b] = this.sides(posterior);
    const { start, end, steps, rest } = waterfall(form.model, row, score, c, b);
    const lines = [["before looking", 0, start, true]];
    let at = start;
    const add = (name, nats) => { lines.push([name, at, at + nats, false]); if (Number.isFinite(nats)) at += nats; };
    for (const step of steps) add(`${form.fields[step.column].name} = ${form.cellText(row[step.column], step.column)}`, step.nats);
    if (rest) add(rest.columns === 1 ? "1 other cell" : `${rest.columns} other cells`, rest.nats);
    lines.push(["all together", 0, end, true]);
    const ends = lines.flatMap(([, from, to]) => [from, to]).filter(Number.isFinite);
    const low = Math.min(0, ...ends), high = Math.max(0, ...ends), width = Math.max(high - low, 1e-9);
    const place = (x) => 100 * (Math.min(Math.max(x, low), high) - low) / width;
    find("fall-steps").replaceChildren(...lines.map(([name, from, to, sum]) => this.line(name, from, to, sum, place, c, b)));
    find("fall").style.setProperty("--zero", `${place(0)}%`);
    find("fall-of").textContent = `log-odds of ${classes[c]} against ${classes[b]}`;
    find("fall-odds").textContent = this.odds(end, classes[c], classes[b]);
  }

  line(name, from, to, sum, place, c, b) {
    const bar = element("span", "", "bar"), nats = sum ? to : to - from;
    const [left, right] = [place(from), place(to)].sort((one, other) => one - other);
    bar.style.marginLeft = `${left}%`;
    bar.style.width = `${Math.max(right - left, 0.3)}%`;
    if (!sum) bar.style.background = this.form.colors[nats < 0 ? b : c];
    const { classes } = this.form.model.program;
    const text = Number.isFinite(nats) ? signed(nats) : `rules out ${classes[nats > 0 ? b : c]}`;
    const line = this.form.line(name, bar, text);
    line.classList.toggle("sum", sum);
    return line;
  }

  odds(nats, one, other) {
    if (nats === Infinity) return `${other} is ruled out.`;
    if (nats === -Infinity) return `${one} is ruled out.`;
    const times = Math.exp(Math.abs(nats));
    if (times < 1.005) return `${one} and ${other} are as probable as each other.`;
    const text = times < 1e6 ? number(times < 100 ? Number(times.toPrecision(2)) : Math.round(times)) : "more than a million";
    return `${nats > 0 ? one : other} is ${text} times as probable as ${nats > 0 ? other : one}.`;
  }
}
