// What a row reads as, and what each term of the model adds to the log density of every class. Missing is null.

// --- readings --------------------------------------------------------------------------------------------------------

// The codes and readings of a row, made when asked for. A cell is a number, the number of a level, or null.
class Reader {
  constructor(program, row) {
    this.program = program;
    this.row = row;
    this.codes = new Map();
    this.readings = new Map();
  }

  code(i) {
    if (!this.codes.has(i)) this.codes.set(i, this.readCode(this.program.codes[i]));
    return this.codes.get(i);
  }

  reading(i) {
    if (!this.readings.has(i)) this.readings.set(i, this.readNumber(this.program.readings[i]));
    return this.readings.get(i);
  }

  readCode(code) {
    if (code.kind === "Code") {
      const cell = this.row[code.column];
      return cell === null || code.empty ? -1 : code.map[cell];
    }
    const x = this.reading(code.reading);
    if (x === null) return -1;
    let count = 0;
    while (count < code.cuts.length && code.cuts[count] <= x) count++;
    return count;
  }

  readNumber(reading) {
    if (reading.kind === "Number") return reading.empty ? null : this.row[reading.column];
    if (reading.kind === "Indicator") {
      const code = this.code(reading.code);
      return code < 0 && reading.keeps_missing ? null : Number(code === reading.level);
    }
    const x = this.reading(reading.reading);
    if (x === null) return null;
    return reading.kind === "Scaled" ? (x - reading.centre) / reading.scale : interpolate(reading, x);
  }
}

function interpolate({ knots, values, low, high }, x) {
  const last = knots.length - 1;
  if (last === 0) return values[0];
  if (x < knots[0]) return Math.max(values[0] + low * (x - knots[0]), values[0] - 1);
  if (x > knots[last]) return Math.min(values[last] + high * (x - knots[last]), values[last] + 1);
  const i = intervalOf(knots, x);
  return values[i] + (values[i + 1] - values[i]) / (knots[i + 1] - knots[i]) * (x - knots[i]);
}

// The number of the knot at the left end of the interval that x lies in.
function intervalOf(knots, x) {
  let low = 0, high = knots.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= x) low = middle; else high = middle;
  }
  return low;
}

// The column that a code or reading is made from.
function codeColumn(program, i) {
  const code = program.codes[i];
  return code.kind === "Code" ? code.column : readingColumn(program, code.reading);
}

function readingColumn(program, i) {
  const reading = program.readings[i];
  if (reading.kind === "Number") return reading.column;
  return reading.kind === "Indicator" ? codeColumn(program, reading.code) : readingColumn(program, reading.reading);
}

// --- Gaussians and Student t's ---------------------------------------------------------------------------------------

// Covariances as standard deviations and a function for correlations; `lower` holds rows of the lower triangle.
function spreadOf(spread) {
  if (spread.kind === "Independent") {
    return { g: spread.variance.length, sd: spread.variance.map((v) => v.map(Math.sqrt)), correlation: null };
  }
  const matrices = spread.kind === "Dense" ? spread.lower : spread.scale.map((scale, i) => fromFactors(spread, scale, i));
  const sd = matrices.map((rows) => rows.map((row, j) => Math.sqrt(row[j])));
  const correlation = matrices.map((rows, i) => rows.map((row, j) => row.map((v, l) => v / sd[i][j] / sd[i][l])));
  return { g: matrices.length, sd, correlation };
}

function fromFactors(spread, scale, i) {
  const loadings = spread.loadings[i];
  return scale.map((own, j) => scale.slice(0, j + 1).map((other, l) => {
    let value = j === l ? spread.floor[i] : 0;
    for (let f = 0; f < loadings[j].length; f++) value += loadings[j][f] * loadings[l][f];
    return value * own * other;
  }));
}

// Correlations of reading j with some others under the i-th covariance.
function across(spread, i, j, others) {
  if (spread.correlation === null) return new Float64Array(others.length);
  const rows = spread.correlation[i];
  return Float64Array.from(others, (l) => (l < j ? rows[j][l] : rows[l][j]));
}

// The factors of all covariances over the readings seen, kept for the next row that has the same ones.
function factorsOver(normal, seen) {
  const key = seen.join();
  if (normal.kept && normal.kept.key === key) return normal.kept.factors;
  const spread = normal.spread, factors = [];
  for (let i = 0; i < spread.g; i++) {
    const lower = [];
    let logDet = 0;
    seen.forEach((j, n) => {
      lower.push(nextRow(lower, across(spread, i, j, seen.slice(0, n)), n));
      logDet += 2 * Math.log(lower[n][n] * spread.sd[i][j]);
    });
    factors.push({ lower, logDet });
  }
  normal.kept = { key, factors };
  return factors;
}

// log density of component c for o readings of squared distance q.
function componentScore(normal, c, o, logDet, q) {
  if (o === 0) return 0;
  return normal.constant[c][o] - 0.5 * logDet - studentDecay(q / normal.inflation[c], normal.df[c], o);
}

// The whitened row under each component, its squared length, and its log density.
function measure(normal, x, seen) {
  const factors = factorsOver(normal, seen);
  return normal.location.map((mean, c) => {
    const i = normal.spread.g === 1 ? 0 : c, sd = normal.spread.sd[i], { lower, logDet } = factors[i];
    const white = forward(lower, seen.map((j) => (x[j] - mean[j]) / sd[j]), seen.length);
    let q = 0;
    for (const value of white) q += value * value;
    return { white, q, score: componentScore(normal, c, seen.length, logDet, q) };
  });
}

// The law of one missing reading under each component, given those seen: centre, scale and degrees of freedom.
function conditional(normal, x, seen, j) {
  const factors = factorsOver(normal, seen), o = seen.length;
  return measure(normal, x, seen).map(({ white, q }, c) => {
    const i = normal.spread.g === 1 ? 0 : c, sd = normal.spread.sd[i][j], df = normal.df[c];
    const link = forward(factors[i].lower, across(normal.spread, i, j, seen), o);
    let mean = 0, left = 1;
    for (let a = 0; a < o; a++) { mean += link[a] * white[a]; left -= link[a] * link[a]; }
    const heavy = df === Infinity ? 1 : (df + q / normal.inflation[c]) / (df + o);
    const scale = sd * Math.sqrt(Math.max(left, 0) * normal.inflation[c] * heavy);
    return { centre: normal.location[c][j] + sd * mean, scale, df: df + o };
  });
}

// log Σ over the components of each class; a term without components of its own has one per class.
function byClass(term, scores) {
  if (!term.owner) return scores;
  const parts = Array.from({ length: term.k }, () => []);
  scores.forEach((score, c) => parts[term.owner[c]].push(score + term.logWeight[c]));
  return parts.map(logSumExp);
}

const isSeen = (x) => x.map((value, j) => (value === null ? -1 : j)).filter((j) => j >= 0);

// --- terms -----------------------------------------------------------------------------------------------------------

// Each term as: `columns`, those it reads, by place; `cells(reader)`, what it reads; `scores(cells)`, the log density of
// each class; and `each(cells)`, by place, what adds up to it but for what no cell changes (score and order by class), null
// where that has no closed form. Places that read the same column move together.
function makeTerm(program, term) {
  return { Normal: normalTerm, Mixture: normalTerm, LocationScale: locationTerm, Table: tableTerm, Counts: countsTerm,
    PiecewiseLinear: piecewiseTerm, Pairs: pairsTerm, TreeSums: treesTerm }[term.kind](program, term);
}

function readingsOf(program, indices) {
  return { columns: indices.map((i) => readingColumn(program, i)), cells: (reader) => indices.map((i) => reader.reading(i)) };
}

function codesOf(program, indices) {
  return { columns: indices.map((i) => codeColumn(program, i)), cells: (reader) => indices.map((i) => reader.code(i)) };
}

function normalTerm(program, term) {
  const own = term.kind === "Mixture" ? term.parts : term, k = program.classes.length;
  const mixed = term.kind === "Mixture" && term.owner.length > k;
  const normal = { ...own, spread: spreadOf(own.spread) };
  const made = { ...readingsOf(program, own.readings), kind: "normal", normal, k, independent: false };
  made.owner = mixed ? term.owner : null;
  made.logWeight = mixed ? term.log_weight : null;
  made.scores = (x) => byClass(made, measure(normal, x, isSeen(x)).map((part) => part.score));
  const simple = !mixed && normal.spread.correlation === null && normal.df.every((df) => df === Infinity);
  made.each = !simple ? null : (x) => x.map((value, j) => (value === null ? null : {
    score: normal.location.map((mean, c) => {
      const sd = normal.spread.sd[normal.spread.g === 1 ? 0 : c][j], z = (value - mean[j]) / sd;
      return -0.5 * z * z - Math.log(sd);
    }),
  }));
  return made;
}

function additive(made) {
  made.scores = (cells) => {
    const total = { score: new Array(made.k).fill(0), order: new Array(made.k).fill(0) };
    made.each(cells).forEach((part, j) => {
      if (part === null) return;
      const shared = made.shared ? made.shared(cells[j]) : 0;
      for (let c = 0; c < made.k; c++) {
        total.score[c] += part.score[c] + shared;
        if (part.order) total.order[c] += part.order[c];
      }
    });
    return total;
  };
  return made;
}

function locationTerm(program, term) {
  const kernel = (z, df) => {
    if (term.shape === "laplace") return -z;
    if (df === Infinity) return -0.5 * z * z;
    const ratio = z / Math.sqrt(df);
    return ratio > 1e150 ? -(df + 1) * Math.log(ratio) : -0.5 * (df + 1) * Math.log1p(ratio * ratio);
  };
  const made = { ...readingsOf(program, term.readings), kind: "location", k: program.classes.length, term };
  made.each = (x) => x.map((value, j) => (value === null ? null : {
    score: term.location.map((location, c) =>
      term.constant[c][j] + kernel(Math.abs(value - location[j]) / term.scale[c][j], term.df[c][j])),
  }));
  return additive(made);
}

function tableTerm(program, term) {
  const made = { ...codesOf(program, [term.code]), kind: "table", k: program.classes.length, term };
  made.each = ([code]) => [code < 0 ? null : {
    score: term.log_p.map((row) => row[code]),
    order: term.order && term.order.map((row) => row[code]),
  }];
  return additive(made);
}

function countsTerm(program, term) {
  const made = { ...readingsOf(program, term.readings), kind: "counts", k: program.classes.length, term };
  const linear = (perCount, perCell, x, j, c) => (perCount ? x * perCount[c][j] : 0) + (perCell ? perCell[c][j] : 0);
  const ordered = term.order_per_count || term.order_per_cell;
  made.shared = (x) => (term.log_factorial ? -logGamma(x + 1) : 0);
  made.each = (x) => x.map((value, j) => (value === null ? null : {
    score: term.per_count.map((_, c) => linear(term.per_count, term.per_cell, value, j, c)),
    order: ordered && term.per_count.map((_, c) => linear(term.order_per_count, term.order_per_cell, value, j, c)),
  }));
  return additive(made);
}

function piecewiseTerm(program, term) {
  const made = { ...readingsOf(program, [term.reading]), kind: "hats", k: program.classes.length, term };
  const last = term.knots.length - 1;
  made.each = ([x]) => {
    if (x === null) return [null];
    if (last === 0) return [{ score: term.values.map((row) => row[0]) }];
    const inside = Math.min(Math.max(x, term.knots[0]), term.knots[last]), i = intervalOf(term.knots, inside);
    const share = (inside - term.knots[i]) / (term.knots[i + 1] - term.knots[i]);
    return [{ score: term.values.map((row) => (1 - share) * row[i] + share * row[i + 1]) }];
  };
  return additive(made);
}

function pairsTerm(program, term) {
  const made = { ...codesOf(program, term.codes), kind: "pairs", k: program.classes.length, each: null };
  const tables = pairTables(term);
  made.cells = (reader) => term.codes.map((i, j) => {
    const code = reader.code(i);
    return code < 0 || code >= term.sizes[j] ? null : term.starts[j] + code;
  });
  made.scores = (cells) => {
    const levels = cells.filter((level) => level !== null);
    return tables.map(({ alone, given }) => {
      if (!levels.length) return 0;
      return logSumExp(levels.map((u) => {
        let value = 0;
        for (const v of levels) value += given[u][v];
        return value + alone[u];
      })) - Math.log(levels.length);
    });
  };
  return made;
}

// log P(v | k) and log P(v | k, u), levels counted through all columns, from the counts of pairs of levels: with π_v the
// share of v in all classes, P(v | k) = (n_kv + t π_v) / (n_k + t) and P(v | k, u) = (n_kuv + t P(v | k)) / (n_ku + t).
function pairTables({ counts, starts, strength }) {
  const size = counts[0].length, ends = [...starts.slice(1), size], t = strength;
  const of = new Int32Array(size);
  starts.forEach((start, j) => of.fill(j, start, ends[j]));
  const sums = (values) => starts.map((start, j) => values.slice(start, ends[j]).reduce((a, b) => a + b, 0));
  const one = counts.map((rows) => rows.map((row, u) => row[u]));
  const all = one[0].map((_, v) => one.reduce((sum, own) => sum + own[v], 0)), whole = sums(all);
  return counts.map((rows, c) => {
    const classWhole = sums(one[c]);
    const share = (v) => (all[v] + 0.5) / (whole[of[v]] + 0.5 * (ends[of[v]] - starts[of[v]] + 1));
    const p = all.map((_, v) => (one[c][v] + t * share(v)) / (classWhole[of[v]] + t));
    const given = p.map((_, u) => {
      const held = p.map((_own, v) => (u < v ? rows[v][u] : rows[u][v])), total = sums(held);
      return Float64Array.from(held, (n, v) => (of[u] === of[v] ? 0 : Math.log((n + t * p[v]) / (total[of[v]] + t))));
    });
    return { alone: p.map(Math.log), given };
  });
}

// The log density and order of a term, whichever way it gives them.
function scoresOf(term, cells) {
  const found = term.scores(cells);
  return Array.isArray(found) ? { score: found, order: null } : found;
}
