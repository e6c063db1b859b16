// The answers of a model: posterior, log density, expected cells, reasons, and how unusual a row is.

const EXACT = 12; // columns of a joint term up to which all subsets are added up
const EXACT_PAIRS = 10;
const ORDERS = 64; // orders sampled beyond that, each with its reverse

class Model {
  constructor(program) {
    this.program = program;
    this.k = program.classes.length;
    this.terms = program.terms.map((term) => makeTerm(program, term));
    // Where the program has no joint density, what cells may hold and how unusual a row is go by another model's.
    this.beside = program.beside ? new Beside(program.beside) : null;
  }

  get compares() {
    return Boolean(this.program.joint || this.beside);
  }

  // --- which class ---------------------------------------------------------------------------------------------------

  // Scores and orders of the classes under the joint density.
  joint(reader) {
    const score = [...this.program.log_prior], order = score.map((value) => (value === -Infinity ? Infinity : 0));
    for (const i of this.program.joint) {
      const found = scoresOf(this.terms[i], this.terms[i].cells(reader));
      for (let c = 0; c < this.k; c++) {
        score[c] += found.score[c];
        if (found.order) order[c] += found.order[c];
      }
    }
    return { score, order };
  }

  // log posteriors of the joint density: those of the classes of least order.
  jointPosterior(reader) {
    const { score, order } = this.joint(reader), least = Math.min(...order);
    if (least === Infinity) return [...this.program.log_prior];
    return logSoftmax(score.map((value, c) => (order[c] === least ? value : -Infinity)));
  }

  // log p(class | row).
  logPosterior(row) {
    const reader = new Reader(this.program, row), stack = this.program.stack;
    if (!stack) return this.jointPosterior(reader);
    const known = this.knownOf(reader);
    if (!known) return stack.shares.map(Math.log);
    const weight = this.weightsOf(known), total = stack.offset.map((prior, c) => prior + weight.bias[c]);
    stack.terms.forEach((i, t) => {
      if (!weight.terms[t]) return;
      const part = centred(scoresOf(this.terms[i], this.terms[i].cells(reader)).score);
      for (let c = 0; c < this.k; c++) total[c] += weight.terms[t] * part[c];
    });
    const keep = Math.log1p(-stack.floor), mixed = Math.log(stack.floor), prior = stack.prior.map(Math.log);
    return logSoftmax(total).map((value, c) => logAddExp(value + keep, mixed + prior[c]));
  }

  // The numbers of the classes among which the true one is for 90 % of rows of which so many cells are known, as
  // `predict_set` says with allow_empty=False; null where the page cannot know.
  classSet(known, logPosterior) {
    const sets = this.program.sets, best = Math.max(...logPosterior);
    if (!sets) return null;
    const next = sets.known.findIndex((number) => number >= known), i = next < 0 ? sets.known.length - 1 : Math.max(next, 1);
    const [a, b] = [sets.known[i - 1], sets.known[i]], share = Math.min((known - a) / (b - a), 1);
    const limit = sets.score[i - 1] + share * (sets.score[i] - sets.score[i - 1]);
    return logPosterior.map((_, c) => c).filter((c) => logPosterior[c] === best || -logPosterior[c] <= limit * (1 + 1e-9));
  }

  // How many cells are known, and what by that the terms of the pool and the biases of the classes count.
  knownOf(reader) {
    const { known_readings: readings, known_codes: codes } = this.program.stack;
    return readings.filter((i) => reader.reading(i) !== null).length + codes.filter((i) => this.knowsCode(reader, i)).length;
  }

  weightsOf(known) {
    const { by_known: byKnown, weight, bias } = this.program.stack, share = byKnown[Math.min(known, byKnown.length - 1)];
    const blend = (rows) => rows[0].map((_, j) => rows.reduce((sum, row, w) => sum + share[w] * row[j], 0));
    return { terms: blend(weight), bias: blend(bias) };
  }

  knowsCode(reader, i) {
    const code = reader.code(i);
    return code >= 0 && code < this.program.codes[i].size;
  }

  // log p(x), of the cells that are known; null where the program has no joint density.
  logDensity(row) {
    if (!this.program.joint) return null;
    const { score, order } = this.joint(new Reader(this.program, row));
    return logSumExp(score.map((value, c) => (order[c] > 0 ? -Infinity : value)));
  }

  // --- what the unknown cells may hold -------------------------------------------------------------------------------

  // By column, null where the cell is known or cannot be expected; else {mean, low, high} with `share` of the mass
  // between, or {levels}: the probability of every level. None can be expected without any joint density.
  expected(row, share = 0.9, known = null) {
    const posterior = known === null ? this.logPosterior(row).map(Math.exp)
      : this.program.classes.map((_, c) => Number(c === known));
    if (!this.program.joint) return this.beside ? this.beside.expected(row, posterior, share) : row.map(() => null);
    return this.expectedBy(row, posterior, share);
  }

  expectedBy(row, posterior, share) {
    const reader = new Reader(this.program, row), found = row.map(() => null);
    for (const i of this.program.joint) {
      const term = this.terms[i], cells = term.cells(reader);
      term.columns.forEach((column, j) => {
        if (row[column] === null) found[column] = this.expectedCell(term, cells, j, posterior, share);
      });
    }
    for (const [column, values] of Object.entries(this.program.constants)) {
      const value = values[posterior.indexOf(Math.max(...posterior))];
      if (row[column] === null) found[column] = { mean: value, low: value, high: value };
    }
    return found;
  }

  expectedCell(term, cells, j, posterior, share) {
    if (term.kind === "normal") return this.expectedNumber(term, cells, j, posterior, share);
    const own = term.term;
    if (term.kind === "location") {
      const laws = posterior.map((weight, c) => ({
        weight, centre: own.location[c][j], scale: own.scale[c][j], df: own.df[c][j], laplace: own.shape === "laplace",
      }));
      return mixtureSummary(laws, share);
    }
    if (term.kind === "table") {
      const levels = own.log_p[0].slice(0, -1).map((_, level) => {
        let p = 0;
        for (let c = 0; c < this.k; c++) if (!own.order || !own.order[c][level]) p += posterior[c] * Math.exp(own.log_p[c][level]);
        return p;
      });
      return levels.length ? { levels } : null;
    }
    return own.law === "multinomial" ? null : expectedCount(own, j, posterior, share);
  }

  expectedNumber(term, cells, j, posterior, share) {
    const seen = isSeen(cells), weight = this.componentShares(term, cells, seen, posterior);
    const laws = conditional(term.normal, cells, seen, j).map((law, c) => ({ ...law, weight: weight[c] }));
    return mixtureSummary(laws, share);
  }

  // Posterior of every component: p(class | row) p(component | row, class).
  componentShares(term, cells, seen, posterior) {
    if (!term.owner) return posterior;
    const scores = measure(term.normal, cells, seen).map((part, c) => part.score + term.logWeight[c]);
    const total = byClass(term, scores.map((score, c) => score - term.logWeight[c]));
    return scores.map((score, c) => {
      const whole = total[term.owner[c]];
      return posterior[term.owner[c]] * Math.exp(Number.isFinite(whole) ? score - whole : term.logWeight[c]);
    });
  }

  // --- how unusual ---------------------------------------------------------------------------------------------------

  // The share of rows drawn from the model that are at most as likely as this one, in the cells that are known, by its
  // joint density or that of the model beside it; null where there is neither.
  unusual(row) {
    const judge = this.program.joint ? this : this.beside;
    if (!judge) return null;
    const drawn = this.program.drawn, pattern = row.map((cell) => cell !== null);
    if (!drawn.length || !pattern.some(Boolean)) return { share: 1, rows: drawn.length };
    const key = pattern.join();
    if (!this.simulated || this.simulated.key !== key) {
      const hidden = drawn.map((cells) => cells.map((cell, j) => (pattern[j] ? cell : null)));
      this.simulated = { key, densities: hidden.map((cells) => judge.logDensity(cells)) };
    }
    const own = judge.logDensity(row);
    const below = this.simulated.densities.filter((value) => value <= own).length;
    return { share: (1 + below) / (1 + drawn.length), rows: drawn.length };
  }
}

// A model of Gaussians and categories whose levels may go by other numbers.
class Beside extends Model {
  cells(row) {
    return row.map((cell, j) => (cell === null || !this.program.levels[j] ? cell : this.program.levels[j][cell]));
  }

  logDensity(row) {
    return super.logDensity(this.cells(row));
  }

  expected(row, posterior, share) {
    const found = this.expectedBy(this.cells(row), posterior, share);
    return found.map((cell, j) => (cell && cell.levels
      ? { levels: this.program.levels[j].slice(0, -1).map((own) => cell.levels[own] ?? 0) } : cell));
  }
}

// --- laws of single cells --------------------------------------------------------------------------------------------

function mixtureSummary(laws, share) {
  const used = laws.filter((law) => law.weight > 1e-12);
  let mean = 0;
  for (const law of laws) if (law.weight > 0) mean += law.weight * law.centre;
  const total = used.reduce((sum, law) => sum + law.weight, 0);
  const below = (x) => used.reduce((sum, law) => sum + law.weight * lawBelow(law, x), 0) / total;
  const low = Math.min(...used.map((law) => law.centre - 2 * law.scale));
  const high = Math.max(...used.map((law) => law.centre + 2 * law.scale));
  const tail = 0.5 * (1 - share);
  return { mean, low: quantile(below, tail, low, high), high: quantile(below, 1 - tail, low, high) };
}

function lawBelow({ centre, scale, df, laplace }, x) {
  if (scale === 0) return Number(x >= centre);
  const z = (x - centre) / scale;
  if (laplace) return z > 0 ? 1 - 0.5 * Math.exp(-z) : 0.5 * Math.exp(z);
  return studentBelow(z, df);
}

// A count's mean and interval under a mixture of Poisson laws; for a truth value the probability of both.
function expectedCount(term, j, posterior, share) {
  const never = (c) => (term.order_per_count ? term.order_per_count[c][j] > 0 : false);
  const always = (c) => (term.order_per_cell ? term.order_per_cell[c][j] > 0 : false);
  if (term.law === "bernoulli") {
    let one = 0;
    posterior.forEach((weight, c) => {
      one += weight * (never(c) ? 0 : always(c) ? 1 : 1 / (1 + Math.exp(-term.per_count[c][j])));
    });
    return { levels: [1 - one, one] };
  }
  const rates = posterior.map((_, c) => (never(c) ? 0 : Math.exp(term.per_count[c][j])));
  const mean = posterior.reduce((sum, weight, c) => sum + weight * rates[c], 0);
  const chance = (x) => posterior.reduce((sum, weight, c) => sum + weight * poisson(x, rates[c]), 0);
  let total = 0, x = 0, low = null;
  for (; x < 1e6; x++) {
    total += chance(x);
    if (low === null && total >= 0.5 * (1 - share)) low = x;
    if (total >= 0.5 * (1 + share)) break;
  }
  return { mean, low, high: x };
}

function poisson(x, rate) {
  if (rate === 0) return Number(x === 0);
  return Math.exp(x * Math.log(rate) - rate - logGamma(x + 1));
}
