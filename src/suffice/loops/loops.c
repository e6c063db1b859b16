/* Loops over rows that NumPy would make many passes of: trees grown, rows sent down them, numbers looked up among knots.

   Each does what its twin in Python does, addition by addition, so that answers are the same to the last bit (compiled
   without contraction of products and sums). Nothing is allocated, and nothing read beyond the sizes given: callers
   check that arrays are contiguous where they must be and that nodes lead to nodes of the same tree.
*/

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

#define ABREAST 8  /* rows on their way down a tree at a time: their steps do not wait for each other */
#define NEAR 512   /* rows sent down all trees before the next ones: their cells stay near the processor */

/* A node asks for the cell in column `ask >> 1` and goes on to child[0] where cell + (ask & 1), read as unsigned, is at
   most `most`, else to child[1]. A missing cell is -1: with ask & 1 it is 0 and goes left, without it is the largest
   number and goes right. A leaf leads to itself. */
typedef struct {
    uint16_t ask, most, child[2];
} node;

/* Which version of this file was compiled. */
PUBLIC uint32_t suffice_digest(void) { return (uint32_t)(DIGEST); }

static inline uint32_t step(const node *tree, uint32_t at, const int16_t *row) {
    node own = tree[at];
    uint16_t cell = (uint16_t)(row[own.ask >> 1] + (own.ask & 1));
    return own.child[cell > own.most];
}

/* Node of the tree in which each of n rows (n, d) ends. */
static void walk(const node *tree, const int16_t *cells, int64_t n, int64_t d, uint16_t *out) {
    int64_t i = 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const int16_t *rows = cells + i * d;
        uint32_t at[ABREAST] = {0}, moved;
        do {
            moved = 0;
            for (int r = 0; r < ABREAST; r++) at[r] = step(tree, at[r], rows + r * d);
            for (int r = 0; r < ABREAST; r++) {
                uint32_t next = step(tree, at[r], rows + r * d);
                moved |= next ^ at[r];
                at[r] = next;
            }
        } while (moved);
        for (int r = 0; r < ABREAST; r++) out[i + r] = (uint16_t)at[r];
    }
    for (; i < n; i++) {
        uint32_t at = 0, next = step(tree, 0, cells + i * d);
        while (next != at) {
            at = next;
            next = step(tree, at, cells + i * d);
        }
        out[i] = (uint16_t)at;
    }
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The leaf of every row in trees `first` to `last`: out (trees, n). `leaf` numbers the leaves of all nodes. */
PUBLIC void suffice_leaves(const node *nodes, const int64_t *roots, const int32_t *leaf, int64_t first, int64_t last,
                           const int16_t *cells, int64_t n, int64_t d, int64_t *out) {
    uint16_t at[NEAR];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t size = least(NEAR, n - begin);
        for (int64_t t = first; t < last; t++) {
            const int32_t *own = leaf + roots[t];
            int64_t *place = out + (t - first) * n + begin;
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            for (int64_t i = 0; i < size; i++) place[i] = own[at[i]];
        }
    }
}

/* total (n, k) += the values (L, k) of the leaves, tree by tree; of a tree that has values for one class alone, `only`
   (trees) says which, and those are in the first column of its rows of `values`; -1 for all classes. */
PUBLIC void suffice_add_values(const node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
                               const int16_t *cells, int64_t n, int64_t d, const int32_t *only, const double *values,
                               int64_t k, double *total) {
    uint16_t at[NEAR];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t size = least(NEAR, n - begin);
        for (int64_t t = 0; t < trees; t++) {
            const int32_t *own = leaf + roots[t];
            double *sums = total + begin * k;
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            if (only[t] >= 0) {
                for (int64_t i = 0; i < size; i++) sums[i * k + only[t]] += values[own[at[i]] * k];
            } else {
                for (int64_t i = 0; i < size; i++) {
                    const double *mine = values + own[at[i]] * k;
                    for (int64_t c = 0; c < k; c++) sums[i * k + c] += mine[c];
                }
            }
        }
    }
}

/* total (k, leaves) += the weights of the rows by class and leaf; a weight of 1 each where `weight` is null. */
PUBLIC void suffice_count_leaves(const node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
                                 const int16_t *cells, int64_t n, int64_t d, const int64_t *codes,
                                 const double *weight, int64_t leaves, double *total) {
    uint16_t at[NEAR];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t size = least(NEAR, n - begin);
        for (int64_t t = 0; t < trees; t++) {
            const int32_t *own = leaf + roots[t];
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            for (int64_t i = 0; i < size; i++)
                total[codes[begin + i] * leaves + own[at[i]]] += weight ? weight[begin + i] : 1.0;
        }
    }
}

/* total (k, leaves, m) += the values (n, m) of the rows by class and leaf. The sums of one tree stay near the processor
   while all rows pass. */
PUBLIC void suffice_sum_leaves(const node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
                               const int16_t *cells, int64_t n, int64_t d, const int64_t *codes, const double *values,
                               int64_t m, int64_t leaves, double *total) {
    uint16_t at[NEAR];
    for (int64_t t = 0; t < trees; t++) {
        const int32_t *own = leaf + roots[t];
        for (int64_t begin = 0; begin < n; begin += NEAR) {
            int64_t size = least(NEAR, n - begin);
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            for (int64_t i = 0; i < size; i++) {
                double *restrict sums = total + (codes[begin + i] * leaves + own[at[i]]) * m;
                const double *restrict row = values + (begin + i) * m;
                for (int64_t j = 0; j < m; j++) sums[j] += row[j];
            }
        }
    }
}

/* How many of m ascending numbers are at most x. */
static inline int64_t at_most(const double *sorted, int64_t m, double x) {
    const double *low = sorted;
    int64_t size = m;
    while (size > 1) {
        int64_t half = size / 2;
        low += (low[half - 1] <= x) * half;
        size -= half;
    }
    return (low - sorted) + (size == 1 && *low <= x);
}

/* The cell of each number: how many cuts are at most it, -1 where it is NaN. Column j has the cuts from starts[j] to
   starts[j + 1]; x is (n, d) with strides in numbers, out (n, width) with its columns in front. */
PUBLIC void suffice_cells(const double *x, int64_t n, int64_t d, int64_t by_row, int64_t by_column, const double *cuts,
                          const int64_t *starts, int64_t width, int16_t *out) {
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t end = least(n, begin + NEAR);
        for (int64_t j = 0; j < d; j++) {
            const double *own = cuts + starts[j];
            int64_t m = starts[j + 1] - starts[j];
            for (int64_t i = begin; i < end; i++) {
                double v = x[i * by_row + j * by_column];
                out[i * width + j] = isnan(v) ? -1 : (int16_t)at_most(own, m, v);
            }
        }
    }
}

/* Numbers as normal scores, linear between knots and beyond the end ones with `slopes` (d, 2), by at most 1; then less
   their center and divided by their scale where these are given. NaN stays NaN. out is (n, width). */
PUBLIC void suffice_normal_scores(const double *x, int64_t n, int64_t d, int64_t by_row, int64_t by_column,
                                  const double *knots, const double *scores, const int64_t *starts,
                                  const double *slopes, int64_t width, double *out) {
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t end = least(n, begin + NEAR);
        for (int64_t j = 0; j < d; j++) {
            const double *own = knots + starts[j], *z = scores + starts[j];
            int64_t last = starts[j + 1] - starts[j] - 1;
            for (int64_t i = begin; i < end; i++) {
                double v = x[i * by_row + j * by_column], found;
                if (isnan(v)) {
                    found = v;
                } else if (last == 0) {
                    found = z[0];
                } else if (v < own[0]) {
                    found = fmax(z[0] + slopes[2 * j] * (v - own[0]), z[0] - 1.0);
                } else if (v > own[last]) {
                    found = fmin(z[last] + slopes[2 * j + 1] * (v - own[last]), z[last] + 1.0);
                } else {
                    int64_t at = at_most(own, last + 1, v) - 1;
                    if (at == last || v == own[at]) {
                        found = z[at];
                    } else {
                        double slope = (z[at + 1] - z[at]) / (own[at + 1] - own[at]);
                        found = slope * (v - own[at]) + z[at];
                    }
                }
                out[i * width + j] = found;
            }
        }
    }
}

/* total (k, width) += the weights of linear B-splines on ascending knots: a number between two knots counts for both.
   `sides` (2, k, knots) has room for the sums of either, each begun at 0, which are added to `total` at the end. */
PUBLIC void suffice_count_splines(const double *x, int64_t n, int64_t by_row, const double *knots, int64_t m,
                                  const int64_t *codes, const double *weight, int64_t k, double *sides) {
    double low = knots[0], high = knots[m - 1];
    double *left = sides, *right = sides + k * m;
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * by_row];
        if (isnan(v)) continue;
        double inside = v < low ? low : v > high ? high : v;
        int64_t at = least(at_most(knots, m, inside) - 1, m - 2);
        double share = (inside - knots[at]) / (knots[at + 1] - knots[at]), heavy = weight ? weight[i] : 1.0;
        left[codes[i] * m + at] += (1.0 - share) * heavy;
        right[codes[i] * m + at + 1] += share * heavy;
    }
}

/* total (k, size, size) += the weights of rows by class and both levels of two columns, of the first column before the
   second or the same: `levels` (n, p) are counted through all columns, below 0 where missing. Rows come in `order`. */
PUBLIC void suffice_count_pairs(const int64_t *levels, int64_t n, int64_t p, const int64_t *order,
                                const int64_t *codes, const double *weight, int64_t size, double *total) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i];
        const int64_t *own = levels + row * p;
        double *sums = total + codes[row] * size * size, heavy = weight ? weight[row] : 1.0;
        for (int64_t u = 0; u < p; u++) {
            if (own[u] < 0) continue;
            double *with = sums + own[u] * size;
            for (int64_t v = u; v < p; v++)
                if (own[v] >= 0) with[own[v]] += heavy;
        }
    }
}

/* ── Trees grown from cells. Weights are whole numbers that add up to less than 2^27, so that sums of their products are
   exact, in whatever order. ── */

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define FEW 16          /* rows sorted by insertion */
#define CODE 0xFFFFFFFF /* of what is held of a row, weight * 2^32 + code */

static inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Weights by class of the rows of a node, their sum and the sum of their squares; `left` has room for those of the rows
   below a threshold, and is 0 between uses. The best split so far is the one of most `gain`. */
typedef struct {
    int64_t *total, *left, least, weight, squares, column, threshold;
    double gain;
} search;

/* Rows below a threshold: their weight, the sum of squares of their weights by class, and of products with all. */
typedef struct {
    int64_t weight, squares, cross;
} below;

static inline void add(search *own, below *sums, int64_t code, int64_t weight) {
    sums->weight += weight;
    sums->squares += weight * (2 * own->left[code] + weight);
    sums->cross += weight * own->total[code];
    own->left[code] += weight;
}

static inline void consider(search *own, const below *sums, int64_t column, int64_t threshold) {
    int64_t others = own->weight - sums->weight;
    if (sums->weight < own->least || others < own->least) return;
    double gain = (double)sums->squares / (double)sums->weight +
                  (double)(own->squares - 2 * sums->cross + sums->squares) / (double)others;
    if (gain > own->gain) {
        own->gain = gain;
        own->column = column;
        own->threshold = threshold;
    }
}

/* Every threshold between the cells of a few rows, which are sorted in place. */
static void among_few(search *own, int16_t *cell, uint64_t *held, int64_t n, int64_t column) {
    for (int64_t i = 1; i < n; i++) {
        int16_t c = cell[i];
        uint64_t h = held[i];
        int64_t at = i;
        for (; at > 0 && cell[at - 1] > c; at--) {
            cell[at] = cell[at - 1];
            held[at] = held[at - 1];
        }
        cell[at] = c;
        held[at] = h;
    }
    below sums = {0};
    for (int64_t i = 0; i < n; i++) {
        if (i && cell[i] != cell[i - 1]) consider(own, &sums, column, (cell[i - 1] + cell[i]) >> 1);
        add(own, &sums, held[i] & CODE, held[i] >> 32);
    }
}

/* Every threshold between the cells `low` to `high` of rows, sorted by counting: `ends` has room for so many cells. */
static void among_many(search *own, const int16_t *cell, const uint64_t *held, int64_t n, int64_t low, int64_t high,
                       int64_t column, int32_t *ends, uint64_t *sorted) {
    int64_t cells = high - low + 1, i = 0, last = low;
    for (int64_t b = 0; b < cells; b++) ends[b] = 0;
    for (i = 0; i < n; i++) ends[cell[i] - low]++;
    for (int64_t b = 0, before = 0; b < cells; b++) {
        int32_t count = ends[b];
        ends[b] = (int32_t)before;
        before += count;
    }
    for (i = 0; i < n; i++) sorted[ends[cell[i] - low]++] = held[i];
    below sums = {0};
    for (int64_t b = 0, i = 0; b < cells; b++) {
        if (i == ends[b]) continue;
        if (i) consider(own, &sums, column, (last + low + b) >> 1);
        for (; i < ends[b]; i++) add(own, &sums, sorted[i] & CODE, sorted[i] >> 32);
        last = low + b;
    }
}

/* One threshold, drawn among those between the cells `low` to `high` of rows. */
static void drawn_one(search *own, const int16_t *cell, const uint64_t *held, int64_t n, int64_t low, int64_t high,
                      int64_t column, uint64_t draw) {
    int64_t threshold = low + (int64_t)(draw % (uint64_t)(high - low));
    below sums = {0};
    for (int64_t i = 0; i < n; i++)
        if (cell[i] <= threshold) add(own, &sums, held[i] & CODE, held[i] >> 32);
    consider(own, &sums, column, threshold);
}

/* Try columns, drawn one after the other, on the rows `begin` to `end`: at least `tries`, and until one of them varies.
   `order` (d) is the numbers of the columns, and is left as it was; `swapped` has room for as many. */
static void try_columns(search *own, const int16_t *cells, int64_t n, int64_t d, const int32_t *rows,
                        const uint64_t *held, int64_t size, int64_t tries, int drawn, uint64_t seed, int32_t *order,
                        int32_t *swapped, int16_t *cell, uint64_t *sorted, int32_t *room) {
    int64_t tried = 0, varied = 0;
    for (; tried < d && (tried < tries || !varied); tried++) {
        int64_t other = tried + (int64_t)(mixed(seed + GOLDEN * (uint64_t)(tried + 1)) % (uint64_t)(d - tried));
        int32_t column = order[other];
        order[other] = order[tried];
        order[tried] = column;
        swapped[tried] = (int32_t)other;
        const int16_t *from = cells + column * n;
        int16_t low = INT16_MAX, high = INT16_MIN;
        for (int64_t i = 0; i < size; i++) {
            int16_t c = cell[i] = from[rows[i]];
            low = c < low ? c : low;
            high = c > high ? c : high;
        }
        if (low == high) continue;
        varied = 1;
        if (drawn) {
            uint64_t draw = mixed(seed ^ GOLDEN * (uint64_t)(tried + 1));
            drawn_one(own, cell, held, size, low, high, column, draw);
        } else if (size <= FEW) {
            for (int64_t i = 0; i < size; i++) sorted[i] = held[i];
            among_few(own, cell, sorted, size, column);
        } else {
            among_many(own, cell, held, size, low, high, column, room, sorted);
        }
        for (int64_t i = 0; i < size; i++) own->left[held[i] & CODE] = 0;
    }
    while (tried-- > 0) {
        int32_t column = order[tried];
        order[tried] = order[swapped[tried]];
        order[swapped[tried]] = column;
    }
}

/* Put rows whose cell is at most the threshold before the others, each in their order, and return how many they are. */
static int64_t part(const int16_t *cell, int64_t threshold, int32_t *rows, uint64_t *held, int64_t size, int32_t *room,
                    uint64_t *sorted) {
    int64_t left = 0, right = 0;
    for (int64_t i = 0; i < size; i++) {
        if (cell[rows[i]] <= threshold) {
            rows[left] = rows[i];
            held[left++] = held[i];
        } else {
            room[right] = rows[i];
            sorted[right++] = held[i];
        }
    }
    for (int64_t i = 0; i < right; i++) {
        rows[left + i] = room[i];
        held[left + i] = sorted[i];
    }
    return left;
}

/* Grow a tree of the rows, level by level, until no split leaves both sides a weight of `least`: of columns (d, n) of
   cells, and what is `held` of each row. `nodes` (2n, 5) become the first row of each node and the one after its last,
   its column, -1 for a leaf, its threshold, and its left child, which the right one follows; `gain` (2n) is by how much
   the squared weights of the classes beside their sum increase. `rows` (n) are 0, 1, ..., `order` (d) likewise. */
PUBLIC void suffice_grow(const int16_t *cells, int64_t n, int64_t d, int64_t k, uint64_t *held, int64_t tries,
                         int64_t least, int64_t drawn, int64_t tree, int32_t *rows, int32_t *order, int32_t *swapped,
                         int64_t *sums, int16_t *cell, uint64_t *sorted, int32_t *room, uint64_t *seeds,
                         int32_t *nodes, double *gain, int64_t *count) {
    int64_t made = 1;
    nodes[0] = 0;
    nodes[1] = (int32_t)n;
    seeds[0] = mixed(GOLDEN * (uint64_t)(tree + 1));
    for (int64_t v = 0; v < made; v++) {
        int32_t *own = nodes + 5 * v, begin = own[0];
        int64_t size = own[1] - begin;
        search best = {.total = sums, .left = sums + k, .least = least, .column = -1, .gain = -1.0};
        for (int64_t i = begin; i < own[1]; i++) {
            int64_t weight = held[i] >> 32, *total = sums + (held[i] & CODE);
            best.weight += weight;
            best.squares += weight * (2 * *total + weight);
            *total += weight;
        }
        if (best.weight >= 2 * least && best.squares < best.weight * best.weight)
            try_columns(&best, cells, n, d, rows + begin, held + begin, size, tries, drawn != 0, seeds[v], order,
                        swapped, cell, sorted, room);
        for (int64_t i = begin; i < own[1]; i++) sums[held[i] & CODE] = 0;
        own[2] = (int32_t)best.column;
        own[3] = own[4] = 0;
        gain[v] = 0.0;
        if (best.column < 0) continue;
        int64_t left =
            part(cells + best.column * n, best.threshold, rows + begin, held + begin, size, room, sorted);
        own[3] = (int32_t)best.threshold;
        own[4] = (int32_t)made;
        gain[v] = best.gain - (double)best.squares / (double)best.weight;
        for (int side = 0; side < 2; side++, made++) {
            nodes[5 * made] = side ? begin + (int32_t)left : begin;
            nodes[5 * made + 1] = side ? own[1] : begin + (int32_t)left;
            seeds[made] = mixed(seeds[v] + (uint64_t)(side + 1));
        }
    }
    *count = made;
}
