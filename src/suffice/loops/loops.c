/* Loops over rows that NumPy would make many passes of: rows sent down trees, and numbers looked up among knots.

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

/* total (k, leaves, m) += the values (n, m) of the rows by class and leaf. */
PUBLIC void suffice_sum_leaves(const node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
                               const int16_t *cells, int64_t n, int64_t d, const int64_t *codes, const double *values,
                               int64_t m, int64_t leaves, double *total) {
    uint16_t at[NEAR];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t size = least(NEAR, n - begin);
        for (int64_t t = 0; t < trees; t++) {
            const int32_t *own = leaf + roots[t];
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            for (int64_t i = 0; i < size; i++) {
                double *sums = total + (codes[begin + i] * leaves + own[at[i]]) * m;
                const double *row = values + (begin + i) * m;
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
