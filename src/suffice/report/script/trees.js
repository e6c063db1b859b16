// Sums over the leaves that a row ends in, one of each tree, and what each column adds to them.

const MOST_NODES = 16; // of Gauss and Legendre: exact for products over twice as many columns

// The numbers in base64 text, which little-endian machines (all that browsers run on) read as they are.
function unpacked(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// Nodes come as a tree is written down: a node, all of its left, all of its right; so that `right` follows.
function unpackTrees(term) {
  const column = unpacked(term.column, Int16Array), threshold = unpacked(term.threshold, Int16Array);
  const missingRight = unpacked(term.missing_right, Uint8Array);
  const right = new Int32Array(column.length), leaf = new Int32Array(column.length), roots = [], open = [];
  let leaves = 0;
  column.forEach((place, node) => {
    if (node === 0 || column[node - 1] < 0) {
      if (open.length) right[open.pop()] = node; else roots.push(node);
    }
    if (place < 0) leaf[node] = leaves++; else open.push(node);
  });
  const values = unpacked(term.values, Float64Array), cover = unpacked(term.cover, Float64Array);
  return { column, threshold, missingRight, right, leaf, roots, values, cover, k: term.base.length };
}

function leafOf(trees, root, cells) {
  let node = root;
  while (trees.column[node] >= 0) {
    const cell = cells[trees.column[node]];
    const away = cell < 0 ? trees.missingRight[node] : cell > trees.threshold[node];
    node = away ? trees.right[node] : node + 1;
  }
  return trees.leaf[node];
}

function treesTerm(program, term) {
  const trees = unpackTrees(term), { k, values } = trees;
  const made = { ...codesOf(program, term.codes), kind: "trees", k };
  made.scores = (cells) => {
    const total = new Array(k).fill(0);
    for (const root of trees.roots) {
      const leaf = leafOf(trees, root, cells);
      for (let c = 0; c < k; c++) total[c] += values[leaf * k + c];
    }
    return total.map((sum, c) => (term.logs ? logOfSum(sum) : sum) + term.base[c]);
  };
  made.each = (cells) => {
    made.paths ??= treePaths(trees);
    return treeReasons(made.paths, trees, cells, term.logs).map((score, j) => (cells[j] < 0 ? null : { score }));
  };
  return made;
}

const logOfSum = (sum) => Math.log(Math.max(sum, 1e-300));

// The places that the way to each leaf asks for, one after the other: `low` and `high` are the codes it allows, `share`
// the part of the rows that go that way. `average` are the sums' means over the rows in the leaves.
function treePaths(trees) {
  const size = trees.column.length, held = new Float64Array(size), flat = [[], [], [], []], starts = [0];
  const average = new Array(trees.k).fill(0);
  for (let node = size - 1; node >= 0; node--) {
    held[node] = trees.column[node] < 0 ? trees.cover[trees.leaf[node]] : held[node + 1] + held[trees.right[node]];
  }
  const visit = (node, path, root) => {
    const place = trees.column[node];
    if (place < 0) {
      path.forEach((own, at) => [at, ...own].forEach((value, i) => flat[i].push(value)));
      starts.push(flat[0].length);
      const leaf = trees.leaf[node], share = trees.cover[leaf] / held[root];
      for (let c = 0; c < trees.k; c++) average[c] += share * trees.values[leaf * trees.k + c];
      return;
    }
    const [low, high, share] = path.get(place) ?? [-1, 32767, 1], at = trees.threshold[node];
    for (const [child, ...bounds] of [[node + 1, low, Math.min(high, at)], [trees.right[node], Math.max(low, at + 1), high]]) {
      const part = held[node] ? held[child] / held[node] : 0.5;
      visit(child, new Map(path).set(place, [...bounds, share * part]), root);
    }
  };
  for (const root of trees.roots) visit(root, new Map(), root);
  const [place, low, high, share] = [Int16Array, Int32Array, Int32Array, Float64Array].map((Kind, i) => Kind.from(flat[i]));
  return { starts, place, low, high, share, average };
}

// Shapley values of the sums by place and class, a place not looked at averaged over by the rows of the branches. In a
// leaf the game is a product over places, whose Shapley values are integrals of polynomials: Gauss and Legendre. With
// the link log those of the sums are scaled so as to add up to what it gives. A missing cell adds 0.
function treeReasons({ starts, place, low, high, share, average }, { k, values }, cells, logs) {
  const added = cells.map(() => new Array(k).fill(0)), width = cells.length;
  const factor = new Float64Array(width), apart = new Float64Array(width), after = new Float64Array(width + 1);
  for (let leaf = 0; leaf + 1 < starts.length; leaf++) {
    const start = starts[leaf], m = starts[leaf + 1] - start;
    for (let i = 0; i < m; i++) {
      const cell = cells[place[start + i]], inside = cell >= low[start + i] && cell <= high[start + i];
      apart[i] = cell < 0 ? 0 : Number(inside) - share[start + i];
      factor[i] = 0;
    }
    const [points, weights] = gaussLegendre(Math.min((m >> 1) + 1, MOST_NODES));
    points.forEach((point, n) => {
      after[m] = 1;
      for (let i = m - 1; i >= 0; i--) after[i] = after[i + 1] * (share[start + i] + point * apart[i]);
      let before = weights[n];
      for (let i = 0; i < m; i++) {
        factor[i] += before * after[i + 1];
        before *= share[start + i] + point * apart[i];
      }
    });
    for (let i = 0; i < m; i++) {
      const own = added[place[start + i]], gain = factor[i] * apart[i];
      for (let c = 0; c < k; c++) own[c] += gain * values[leaf * k + c];
    }
  }
  if (!logs) return added;
  const slope = average.map((mean, c) => {
    const rise = added.reduce((sum, own) => sum + own[c], 0);
    if (Math.abs(rise) <= 1e-12 * mean) return 1 / Math.max(mean, 1e-300);
    return (logOfSum(mean + rise) - logOfSum(mean)) / rise;
  });
  return added.map((own) => own.map((value, c) => value * slope[c]));
}

// Points and weights on [0, 1] that integrate polynomials of degree 2n − 1 exactly: roots of Legendre's by Newton.
const quadratures = new Map();
function gaussLegendre(n) {
  if (!quadratures.has(n)) {
    const points = [], weights = [];
    for (let i = 0; i < n; i++) {
      let x = Math.cos(Math.PI * (i + 0.75) / (n + 0.5)), slope = 1;
      for (let step = 0; step < 20; step++) {
        let last = 1, value = x;
        for (let degree = 2; degree <= n; degree++) {
          [last, value] = [value, ((2 * degree - 1) * x * value - (degree - 1) * last) / degree];
        }
        slope = n * (last - x * value) / (1 - x * x);
        x -= value / slope;
      }
      points.push(0.5 * (1 + x));
      weights.push(1 / ((1 - x * x) * slope * slope));
    }
    quadratures.set(n, [points, weights]);
  }
  return quadratures.get(n);
}
