// Why: what each column adds to the log odds of the classes, as Shapley values of marginal densities.

// Reasons by column and class, nats, less their mean over classes, with standard errors where orders were sampled.
function reasons(model, row) {
  const reader = new Reader(model.program, row);
  return model.program.stack ? pooledReasons(model, row, reader) : jointReasons(model, row, reader);
}

function jointReasons(model, row, reader) {
  const { score, error } = emptyReasons(model, row), order = row.map(() => new Array(model.k).fill(0));
  for (const i of model.program.joint) {
    addTerm(model, model.terms[i], model.terms[i].cells(reader), 1, score, error, order);
  }
  const total = model.program.classes.map((_, c) => order.reduce((sum, own) => sum + own[c], 0));
  const least = Math.min(...total);
  row.forEach((_, column) => {
    for (let c = 0; c < model.k; c++) if (order[column][c] > 0 && total[c] > least) score[column][c] = -Infinity;
  });
  return finished(score, error);
}

// The pool adds up its members, and what it adds itself is shared out by the sizes of a row's reasons,
// alike among its cells where none has any.
function pooledReasons(model, row, reader) {
  const { score, error } = emptyReasons(model, row), { stack, log_prior: prior } = model.program;
  const weight = model.weightsOf(model.knownOf(reader)).terms;
  stack.terms.forEach((i, t) => {
    if (weight[t]) addTerm(model, model.terms[i], model.terms[i].cells(reader), weight[t], score, error, null);
  });
  const known = new Set();
  for (const i of stack.known_readings) if (reader.reading(i) !== null) known.add(readingColumn(model.program, i));
  for (const i of stack.known_codes) if (model.knowsCode(reader, i)) known.add(codeColumn(model.program, i));
  row.forEach((_, column) => { if (!known.has(column)) score[column].fill(0); });
  const goal = centred(model.logPosterior(row)), start = centred(prior);
  const rest = goal.map((value, c) => value - start[c] - score.reduce((sum, own) => sum + own[c], 0));
  const sizes = score.map((own) => own.reduce((sum, value) => sum + Math.abs(value), 0));
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  const part = (column) => whole > 1e-12 ? sizes[column] / whole : Number(known.has(column)) / Math.max(known.size, 1);
  score.forEach((own, column) => { for (let c = 0; c < model.k; c++) own[c] += part(column) * rest[c]; });
  return finished(score, error);
}

function emptyReasons(model, row) {
  const table = () => row.map(() => new Array(model.k).fill(0));
  return { score: table(), error: table() };
}

function finished(score, variance) {
  const error = variance.map((own) => own.map(Math.sqrt));
  return { score, error, sampled: error.some((own) => own.some((value) => value > 0)) };
}

function addTerm(model, term, cells, weight, score, variance, order) {
  const found = term.each ? additiveReasons(term, cells) : gameReasons(term, cells);
  found.forEach((part, j) => {
    if (part === null) return;
    const column = term.columns[j];
    for (let c = 0; c < model.k; c++) {
      score[column][c] += weight * part.score[c];
      if (part.variance) variance[column][c] += weight * weight * part.variance[c];
      if (order && part.order) order[column][c] += part.order[c];
    }
  });
}

function additiveReasons(term, cells) {
  return term.each(cells).map((part) => part && { score: centred(part.score), order: part.order });
}

function gameReasons(term, cells) {
  const seen = isSeen(cells), out = cells.map(() => null);
  if (!seen.length) return out;
  const walk = term.kind === "normal" ? new NormalWalk(term, cells) : new PairsWalk(term, cells);
  const exact = seen.length <= (term.kind === "normal" ? EXACT : EXACT_PAIRS);
  const found = exact ? allSubsets(walk, seen, term.k) : sampledOrders(walk, seen, term.k);
  seen.forEach((j, a) => { out[j] = found[a]; });
  return out;
}

// Σ over subsets S of the s readings: v(S) counts (|S| − 1)! (s − |S|)! / s! for those in S, −|S|! (s − |S| − 1)! / s!
// for the others. Subsets are visited so that each is its parent and one reading more.
function allSubsets(walk, seen, k) {
  const s = seen.length, log = [0];
  for (let i = 1; i <= s; i++) log.push(log[i - 1] + Math.log(i));
  const within = log.map((_, n) => (n ? Math.exp(log[n - 1] + log[s - n] - log[s]) : 0));
  const outside = log.map((_, n) => (n < s ? -Math.exp(log[n] + log[s - n - 1] - log[s]) : 0));
  const total = seen.map(() => new Array(k).fill(0)), chosen = seen.map(() => false);
  const visit = (start, size) => {
    for (let a = start; a < s; a++) {
      walk.push(seen[a]);
      chosen[a] = true;
      const value = centred(walk.value());
      for (let b = 0; b < s; b++) {
        const share = chosen[b] ? within[size + 1] : outside[size + 1];
        for (let c = 0; c < k; c++) total[b][c] += share * value[c];
      }
      visit(a + 1, size + 1);
      chosen[a] = false;
      walk.pop();
    }
  };
  visit(0, 0);
  return total.map((score) => ({ score }));
}

// The mean over orders, always the same ones, in pairs of an order and its reverse; the error is that of pair means.
function sampledOrders(walk, seen, k) {
  const s = seen.length, total = seen.map(() => new Array(k).fill(0)), squares = seen.map(() => new Array(k).fill(0));
  const random = generator(s);
  for (let pair = 0; pair < ORDERS / 2; pair++) {
    const order = shuffled(s, random), sum = seen.map(() => new Array(k).fill(0));
    for (const path of [order, [...order].reverse()]) {
      let before = new Array(k).fill(0);
      for (const a of path) {
        walk.push(seen[a]);
        const value = centred(walk.value());
        for (let c = 0; c < k; c++) sum[a][c] += 0.5 * (value[c] - before[c]);
        before = value;
      }
      for (let n = 0; n < s; n++) walk.pop();
    }
    sum.forEach((own, a) => own.forEach((value, c) => { total[a][c] += value; squares[a][c] += value * value; }));
  }
  const pairs = ORDERS / 2;
  return total.map((own, a) => {
    const score = own.map((value) => value / pairs);
    return { score, variance: score.map((mean, c) => Math.max(squares[a][c] / pairs - mean * mean, 0) / (pairs - 1)) };
  });
}

// Marsaglia's xorshift: numbers that are the same on every page.
function generator(seed) {
  let state = (seed * 2654435761) >>> 0 || 1;
  return () => {
    state ^= state << 13; state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5; state >>>= 0;
    return state / 4294967296;
  };
}

function shuffled(n, random) {
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// Marginal log densities of Gaussians over readings that are added and taken away one at a time.
class NormalWalk {
  constructor(term, cells) {
    Object.assign(this, { term, cells, path: [] });
    this.lower = Array.from({ length: term.normal.spread.g }, () => []);
    this.logDet = [new Float64Array(term.normal.spread.g)];
    this.white = term.normal.location.map(() => []);
    this.q = [new Float64Array(term.normal.location.length)];
  }

  push(j) {
    const { spread, location } = this.term.normal, n = this.path.length;
    const logDet = this.logDet[n].slice(), q = this.q[n].slice();
    for (let i = 0; i < spread.g; i++) {
      this.lower[i].push(nextRow(this.lower[i], across(spread, i, j, this.path), n));
      logDet[i] += 2 * Math.log(this.lower[i][n][n] * spread.sd[i][j]);
    }
    location.forEach((mean, c) => {
      const i = spread.g === 1 ? 0 : c, row = this.lower[i][n], white = this.white[c];
      let value = (this.cells[j] - mean[j]) / spread.sd[i][j];
      for (let a = 0; a < n; a++) value -= row[a] * white[a];
      white.push(value / row[n]);
      q[c] += white[n] * white[n];
    });
    this.path.push(j);
    this.logDet.push(logDet);
    this.q.push(q);
  }

  pop() {
    this.path.pop();
    this.logDet.pop();
    this.q.pop();
    for (const lower of this.lower) lower.pop();
    for (const white of this.white) white.pop();
  }

  value() {
    const n = this.path.length, { normal } = this.term, single = normal.spread.g === 1;
    const scores = Array.from(this.q[n], (q, c) => componentScore(normal, c, n, this.logDet[n][single ? 0 : c], q));
    return byClass(this.term, scores);
  }
}

// The same of one-dependence estimators, which are asked anew.
class PairsWalk {
  constructor(term, cells) {
    Object.assign(this, { term, cells, path: cells.map(() => null), stack: [] });
  }

  push(j) {
    this.path[j] = this.cells[j];
    this.stack.push(j);
  }

  pop() {
    this.path[this.stack.pop()] = null;
  }

  value() {
    return this.term.scores(this.path);
  }
}
