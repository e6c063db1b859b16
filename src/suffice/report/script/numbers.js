// Numbers: sums in log space, Cholesky factors that grow by a row, and the distribution functions of the intervals.

const LOG_2PI = Math.log(2 * Math.PI);

// log Σ exp(x), −Infinity for nothing.
function logSumExp(x) {
  let peak = -Infinity;
  for (const value of x) if (value > peak) peak = value;
  if (peak === -Infinity) return -Infinity;
  let total = 0;
  for (const value of x) total += Math.exp(value - peak);
  return peak + Math.log(total);
}

// x − log Σ exp(x); all NaN where every entry is −Infinity, as in Bayes' rule with nothing to divide by.
function logSoftmax(x) {
  const total = logSumExp(x);
  return x.map((value) => value - total);
}

// x less its mean.
function centred(x) {
  let mean = 0;
  for (const value of x) mean += value;
  mean /= x.length;
  return x.map((value) => value - mean);
}

// log(e^a + e^b).
function logAddExp(a, b) {
  const high = Math.max(a, b);
  return high === -Infinity ? high : high + Math.log1p(Math.exp(-Math.abs(a - b)));
}

// --- the gamma function ----------------------------------------------------------------------------------------------

// log Γ(z) − ((z − ½) log z − z + ½ log 2π) for large z: Stirling's series (Abramowitz & Stegun 6.1.40).
function stirling(z) {
  const inverse = 1 / z, square = inverse * inverse;
  return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))));
}

// log Γ(z), z > 0: the series at z + n ≥ 20, less the logarithms in between.
function logGamma(z) {
  let product = 1, shift = 0;
  while (z < 20) {
    product *= z;
    if (product > 1e200) { shift += Math.log(product); product = 1; }
    z += 1;
  }
  return (z - 0.5) * Math.log(z) - z + 0.5 * LOG_2PI + stirling(z) - shift - Math.log(product);
}

// log Γ((ν + d) / 2) − log Γ(ν / 2) − (d / 2) log(ν / 2), which goes to 0 as ν → ∞.
function logStudentConstant(df, d) {
  if (df === Infinity || d === 0) return 0;
  const z = 0.5 * df, h = 0.5 * d;
  if (z < 20) return logGamma(z + h) - logGamma(z) - h * Math.log(z);
  return (z + h - 0.5) * Math.log1p(h / z) - h + stirling(z + h) - stirling(z);
}

// ((ν + d) / 2) log(1 + q / ν), or q / 2 where ν = ∞.
function studentDecay(q, df, d) {
  return df === Infinity ? 0.5 * q : 0.5 * (df + d) * Math.log1p(q / df);
}

// --- distribution functions ------------------------------------------------------------------------------------------

// P(Z ≤ z) of a standard Gaussian: a series near the middle, Lentz's continued fraction in the tails.
function normalBelow(z) {
  const x = Math.abs(z);
  if (x > 39) return z > 0 ? 1 : 0;
  const density = Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI);
  if (x < 3) {
    let term = x, total = x;
    for (let n = 3; Math.abs(term) > 1e-17 * total && n < 200; n += 2) { term *= x * x / n; total += term; }
    return 0.5 + Math.sign(z) * density * total;
  }
  let fraction = x;
  for (let n = 60; n >= 1; n--) fraction = x + n / fraction;
  return z > 0 ? 1 - density / fraction : density / fraction;
}

// The incomplete beta function I_x(a, b): Lentz's continued fraction (Numerical Recipes, 3rd ed., section 6.4).
function betaShare(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  if (x > (a + 1) / (a + b + 2)) return 1 - front * betaFraction(b, a, 1 - x) / b;
  return front * betaFraction(a, b, x) / a;
}

function betaFraction(a, b, x) {
  const tiny = 1e-300, floor = (value) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1, d = 1 / floor(1 - (a + b) * x / (a + 1)), h = d;
  for (let m = 1; m < 10000; m++) {
    let step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / floor(1 + step * d);
    c = floor(1 + step / c);
    h *= d * c;
    step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / floor(1 + step * d);
    c = floor(1 + step / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return h;
}

// P(T ≤ z) of a Student t with ν degrees of freedom; ν = ∞ is a Gaussian.
function studentBelow(z, df) {
  if (df > 1e7) return normalBelow(z);
  const tail = 0.5 * betaShare(0.5 * df, 0.5, df / (df + z * z));
  return z > 0 ? 1 - tail : tail;
}

// The point below which a share of a mixture lies; `below(x)` is its distribution function.
function quantile(below, share, low, high) {
  for (let width = high - low || 1; below(low) > share; width *= 2) low -= width;
  for (let width = high - low || 1; below(high) < share; width *= 2) high += width;
  for (let step = 0; step < 200; step++) {
    const middle = 0.5 * (low + high);
    if (middle <= low || middle >= high || high - low < 1e-13 * Math.abs(middle)) break;
    if (below(middle) < share) low = middle; else high = middle;
  }
  return 0.5 * (low + high);
}

// --- Cholesky factors ------------------------------------------------------------------------------------------------

// Solve L y = b for the first n rows of a lower triangular factor given as rows.
function forward(lower, b, n) {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const row = lower[i];
    let value = b[i];
    for (let j = 0; j < i; j++) value -= row[j] * out[j];
    out[i] = value / row[i];
  }
  return out;
}

// The next row of the factor of a matrix of correlations, the first n rows being known: `across` (n,) are the new
// column's correlations with those before it.
function nextRow(lower, across, n) {
  const solved = forward(lower, across, n), row = new Float64Array(n + 1);
  let left = 1;
  for (let j = 0; j < n; j++) { row[j] = solved[j]; left -= solved[j] * solved[j]; }
  row[n] = Math.sqrt(left);
  return row;
}
