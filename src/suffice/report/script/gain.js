// What knowing each unknown cell is expected to tell of the class, as `information_gain` gives it: the same nodes and sums.

const NEAR = Array.from({ length: 15 }, (_, i) => i - 7);
const AHEAD = [0.4, 0.8, 1.3, 2, 3, 4, 5.5, 8, 12, 20, 35, 100, 300, 1e3, 1e4];
const FAR = [...AHEAD.map((x) => -x).reverse(), 0, ...AHEAD];
const MOST_POINTS = 200, MOST_COUNTS = 4096, MOST_LEVELS = 64;
const NODES = [-Math.sqrt(0.6), 0, Math.sqrt(0.6)], NODE_WEIGHTS = [5 / 18, 8 / 18, 5 / 18];

function entropy(p) {
  return -p.reduce((sum, own) => sum + (own > 0 ? own * Math.log(own) : 0), 0);
}

// Whole numbers, halves to the even one.
function rint(x) {
  const near = Math.round(x);
  return Math.abs(x % 1) === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

// Mutual information of class and value in nats, of p(class) and the share of every value in each class.
function information(posterior, share) {
  const whole = posterior.length ? share[0].map((_, m) => posterior.reduce((sum, p, c) => sum + p * share[c][m], 0)) : [];
  let found = 0;
  posterior.forEach((p, c) => share[c].forEach((own, m) => {
    if (p * own > 0) found += p * own * Math.log(own / whole[m]);
  }));
  return Math.min(found < 1e-13 ? 0 : found, entropy(posterior));
}

function normalized(share) {
  const total = share.reduce((sum, own) => sum + own, 0);
  return total > 0 ? share.map((own) => own / total) : share;
}

// Ascending nodes and their widths between points at fixed distances from each centre.
function nodesOf(centres, scales, ladder) {
  let points = centres.flatMap((centre, c) => ladder.map((z) => centre + scales[c] * z)).sort((a, b) => a - b);
  if (points.length > MOST_POINTS) {
    const last = points.length - 1, all = points;
    points = Array.from({ length: MOST_POINTS }, (_, i) => all[rint(i * last / (MOST_POINTS - 1))]);
  }
  const value = [], width = [];
  for (let i = 0; i + 1 < points.length; i++) {
    const half = 0.5 * (points[i + 1] - points[i]);
    NODES.forEach((node, n) => { value.push(points[i] + half + half * node); width.push(half * NODE_WEIGHTS[n]); });
  }
  return { value, width };
}

// Values of a number and their share in each law: {centre, scale, df, laplace}.
function numberOutcomes(laws) {
  const heavy = laws.some((law) => law.laplace || law.df !== Infinity);
  const { value, width } = nodesOf(laws.map((law) => law.centre), laws.map((law) => law.scale), heavy ? FAR : NEAR);
  const share = laws.map(({ centre, scale, df, laplace }) => {
    const score = value.map((x) => {
      const z = Math.abs(x - centre) / scale;
      return laplace ? -z : -studentDecay(z * z, df, 1);
    });
    const most = Math.max(...score);
    return normalized(score.map((own, m) => Math.exp(own - most) * width[m]));
  });
  return { value, share };
}

function countOutcomes(rates) {
  const top = Math.max(...rates.map((rate) => rate + 10 * Math.sqrt(rate) + 20));
  const value = Array.from({ length: Math.min(Math.ceil(top), MOST_COUNTS) + 1 }, (_, x) => x), width = value.map(() => 1);
  if (top > MOST_COUNTS) {
    const more = nodesOf(rates, rates.map((rate) => Math.sqrt(rate) + 1), NEAR);
    more.value.forEach((x, m) => { if (x > MOST_COUNTS) { value.push(x); width.push(2 * more.width[m]); } });
  }
  return { value, share: rates.map((rate) => normalized(value.map((x, m) => poisson(x, rate) * width[m]))) };
}

// What the cell of one column of a term may hold by class, given the cells of the term; null where nothing says so.
function outcomesOf(model, term, cells, j) {
  const own = term.term, k = model.k;
  if (term.kind === "normal") {
    const seen = isSeen(cells), { value, share } = numberOutcomes(conditional(term.normal, cells, seen, j));
    if (!term.owner) return { value, share };
    const weight = model.componentShares(term, cells, seen, new Array(k).fill(1));
    const byClassShare = Array.from({ length: k }, () => new Array(value.length).fill(0));
    share.forEach((part, c) => part.forEach((p, m) => { byClassShare[term.owner[c]][m] += weight[c] * p; }));
    return { value, share: byClassShare };
  }
  if (term.kind === "location") {
    return numberOutcomes(own.location.map((location, c) => ({
      centre: location[j], scale: own.scale[c][j], df: own.df[c][j], laplace: own.shape === "laplace",
    })));
  }
  if (term.kind === "table") {
    const value = own.log_p[0].slice(0, -1).map((_, level) => level);
    const share = own.log_p.map((row, c) => value.map((level) => (own.order && own.order[c][level] ? 0 : Math.exp(row[level]))));
    return value.length ? { value, share, levels: true } : null;
  }
  const never = (c) => (own.order_per_count ? own.order_per_count[c][j] > 0 : false);
  const always = (c) => (own.order_per_cell ? own.order_per_cell[c][j] > 0 : false);
  if (own.law === "multinomial") return null;
  if (own.law !== "bernoulli") return countOutcomes(own.per_count.map((_, c) => (never(c) ? 0 : Math.exp(own.per_count[c][j]))));
  const one = own.per_count.map((_, c) => (never(c) ? 0 : always(c) ? 1 : 1 / (1 + Math.exp(-own.per_count[c][j]))));
  return { value: [0, 1], share: one.map((p) => [1 - p, p]) };
}

// --- beside a pool ---------------------------------------------------------------------------------------------------

// A few values that stand for all that a cell may hold, with their weights.
function fewOutcomes({ value, share, levels }, posterior, kept, hermite) {
  const weight = value.map((_, m) => posterior.reduce((sum, p, c) => sum + p * share[c][m], 0));
  if (levels) {
    const order = value.map((_, m) => m).sort((a, b) => weight[b] - weight[a]).slice(0, MOST_LEVELS);
    return { value: order.map((m) => value[m]), weight: normalized(order.map((m) => weight[m])) };
  }
  const nearest = (x) => (kept ? recordedNear(kept, x) : x);
  if (value.length <= hermite.below.length || (kept && kept.step !== null)) {
    const listed = new Map();
    value.forEach((x, m) => listed.set(nearest(x), (listed.get(nearest(x)) || 0) + weight[m]));
    if (listed.size <= hermite.below.length) return { value: [...listed.keys()], weight: [...listed.values()] };
  }
  let sum = 0;
  const below = weight.map((own) => { sum += own; return sum - 0.5 * own; });
  const found = hermite.below.map((wanted) => {
    const reached = below.findIndex((own) => own >= wanted), last = value.length - 1;
    const after = Math.min(Math.max(reached < 0 ? last : reached, Math.min(1, last)), last), before = Math.max(after - 1, 0);
    const part = Math.min(Math.max((wanted - below[before]) / Math.max(below[after] - below[before], 1e-300), 0), 1);
    return nearest((1 - part) * value[before] + part * value[after]);
  });
  return { value: found, weight: hermite.weight };
}

// The value nearest to x that a table like the one learned would hold.
function recordedNear({ step, phase, decimals, low, high }, x) {
  let near = x;
  if (step !== null) {
    const stepped = phase + rint((x - phase) / step) * step, tens = 10 ** Math.max(decimals, 0);
    const written = decimals < 0 ? stepped : rint(stepped * tens) / tens;
    near = Number.isFinite(written) ? written : stepped;
  }
  return Math.min(Math.max(near, low), high);
}

// What a pool makes of the values of one cell: the class before stays as the pool has it.
function pooledGain(model, row, column, outcomes, posterior) {
  const { hermite, recorded } = model.program.ahead;
  const { value, weight } = fewOutcomes(outcomes, posterior, recorded[column], hermite);
  const after = value.map((cell) => model.logPosterior(row.map((own, j) => (j === column ? cell : own))).map(Math.exp));
  const share = posterior.map((_, c) => {
    const own = weight.map((w, m) => w * after[m][c]), total = own.reduce((sum, part) => sum + part, 0);
    return total > 0 ? own.map((part) => part / total) : weight;
  });
  return information(posterior, share);
}

// --- all cells -------------------------------------------------------------------------------------------------------

// By unknown column a function that says what knowing it tells, in nats; null for those of which the page cannot say.
// Beside a forest, which the page does not hold, what a cell may hold is what it holds in each class on the whole.
function asked(model, row) {
  const posterior = model.logPosterior(row).map(Math.exp), found = row.map(() => null);
  const tell = (column, outcomes) => () => {
    const all = outcomes();
    if (all === null) return null;
    return model.program.stack ? pooledGain(model, row, column, all, posterior) : information(posterior, all.share);
  };
  if (model.program.joint) {
    const reader = new Reader(model.program, row);
    for (const i of model.program.joint) {
      const term = model.terms[i], cells = term.cells(reader);
      term.columns.forEach((column, j) => {
        if (row[column] === null) found[column] = tell(column, () => outcomesOf(model, term, cells, j));
      });
    }
    for (const column of Object.keys(model.program.constants)) if (row[column] === null) found[column] = () => 0;
  } else {
    row.forEach((cell, column) => {
      const own = model.program.ahead.by_class[column];
      if (cell === null && own) found[column] = tell(column, () => own);
    });
  }
  return found;
}

// By column, in nats: 0 for known cells, null where the page cannot say.
function gains(model, row) {
  return asked(model, row).map((own, j) => (own ? own() : row[j] === null ? null : 0));
}
