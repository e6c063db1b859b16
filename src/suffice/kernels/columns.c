/* Numbers looked up among knots, and levels counted. */

#include "kernels.h"

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

/* The knot to the left of a number among m > 1, those beyond the ends at these; the right one has this share of it. */
static inline int64_t left_knot(const double *knots, int64_t m, double v, double *share) {
    double inside = v < knots[0] ? knots[0] : v > knots[m - 1] ? knots[m - 1] : v;
    int64_t at = least(at_most(knots, m, inside) - 1, m - 2);
    *share = (inside - knots[at]) / (knots[at + 1] - knots[at]);
    return at;
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

/* sides (2, k, knots of all columns) += the weights of linear B-splines on ascending knots, which a number between two
   counts for both: those of its left knot, and of its right. Columns are as in suffice_cells, of a knot at least. */
PUBLIC void suffice_count_splines(const double *x, int64_t n, int64_t d, int64_t by_row, int64_t by_column,
                                  const double *knots, const int64_t *starts, const int64_t *codes,
                                  const double *weight, int64_t k, double *sides) {
    int64_t width = starts[d];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t end = least(n, begin + NEAR);
        for (int64_t j = 0; j < d; j++) {
            int64_t m = starts[j + 1] - starts[j];
            double *left = sides + starts[j], *right = left + k * width;
            for (int64_t i = begin; i < end; i++) {
                double v = x[i * by_row + j * by_column];
                if (isnan(v)) continue;
                double share = 0.0, heavy = weight ? weight[i] : 1.0;
                int64_t at = m > 1 ? left_knot(knots + starts[j], m, v, &share) : 0;
                left[codes[i] * width + at] += (1.0 - share) * heavy;
                if (m > 1) right[codes[i] * width + at + 1] += share * heavy;
            }
        }
    }
}

/* total (k, size, size) += the weights of rows by class and the levels of two columns, or of one column twice: `levels`
   (n, p) are counted through all columns, below 0 where missing. Rows come in `order`. */
PUBLIC void suffice_count_pairs(const int64_t *levels, int64_t n, int64_t p, const int64_t *order,
                                const int64_t *codes, const double *weight, int64_t size, double *total) {
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i];
        const int64_t *own = levels + row * p;
        double *sums = total + codes[row] * size * size, heavy = weight ? weight[row] : 1.0;
        for (int64_t u = 0; u < p; u++) {
            if (own[u] < 0) continue;
            double *with = sums + own[u] * size;
            with[own[u]] += heavy;
            for (int64_t v = u + 1; v < p; v++) {
                if (own[v] < 0) continue;
                with[own[v]] += heavy;
                sums[own[v] * size + own[u]] += heavy;
            }
        }
    }
}

/* out (n, k) = what lies between the values (m, k) at the knots on either side of each number, 0 for NaN. */
PUBLIC void suffice_between_knots(const double *x, int64_t n, int64_t by_row, const double *knots, int64_t m,
                                  const double *values, int64_t k, double *out) {
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * by_row], *to = out + i * k;
        if (isnan(v)) {
            for (int64_t c = 0; c < k; c++) to[c] = 0.0;
            continue;
        }
        double share;
        int64_t at = left_knot(knots, m, v, &share);
        const double *left = values + at * k, *right = left + k;
        for (int64_t c = 0; c < k; c++) to[c] = (1.0 - share) * left[c] + share * right[c];
    }
}

/* What the density of each class is of that of all at the knots on either side of a number, rows left out one at a
   time: `ratios` (d, 2, strengths, n, k) become (level / base + t) / (of the class + t), and `parts` (d, 2, n) by how
   much either knot counts, 0 for NaN. `counts` (knots of all columns, k) are the weights by knot and class, `sums` those
   of all classes by knot, `classes` (d, k) those of all knots, and `removed` (n) leaves with each row. */
PUBLIC void suffice_spline_ratios(const double *x, int64_t n, int64_t d, int64_t by_row, int64_t by_column,
                                  const double *knots, const int64_t *starts, const double *counts,
                                  const double *sums, const double *classes, int64_t k, const int64_t *codes,
                                  const double *removed, const double *strengths, int64_t a, double *ratios,
                                  double *parts) {
    for (int64_t j = 0; j < d; j++, ratios += 2 * a * n * k, parts += 2 * n, classes += k) {
        const double *own_knots = knots + starts[j], *own_sums = sums + starts[j], *own_counts = counts + starts[j] * k;
        int64_t m = starts[j + 1] - starts[j];
        double whole = 0.0;
        for (int64_t b = 0; b < m; b++) whole += own_sums[b];
        for (int64_t i = 0; i < n; i++) {
            double v = x[i * by_row + j * by_column], seen = isnan(v) ? 0.0 : 1.0, share = 0.0, heavy = removed[i];
            int64_t left = 0, right = 0;
            if (m > 1) {
                left = left_knot(own_knots, m, isnan(v) ? own_knots[0] : v, &share);
                right = left + 1;
            }
            double grand = whole - heavy * seen + 0.5 * (double)m;
            parts[i] = (1.0 - share) * seen;
            parts[n + i] = share * seen;
            for (int64_t side = 0; side < 2; side++) {
                int64_t knot = side ? right : left;
                double part = parts[side * n + i], rest = own_sums[knot] - heavy * part;
                double base = ((rest > 0.0 ? rest : 0.0) + 0.5) / grand;
                for (int64_t c = 0; c < k; c++) {
                    double own = c == codes[i] ? heavy : 0.0, level = own_counts[knot * k + c] - own * part;
                    double above = (level > 0.0 ? level : 0.0) / base, total = classes[c] - own * seen;
                    total = total > 0.0 ? total : 0.0;
                    for (int64_t s = 0; s < a; s++)
                        ratios[((side * a + s) * n + i) * k + c] = (above + strengths[s]) / (total + strengths[s]);
                }
            }
        }
    }
}

/* Of each column, logs (2, a, n, k) weighted by the parts (2, n) of their knots are added up in the first half. */
PUBLIC void suffice_blend(double *logs, const double *parts, int64_t d, int64_t a, int64_t n, int64_t k) {
    for (int64_t j = 0; j < d; j++, logs += 2 * a * n * k, parts += 2 * n) {
        double *other = logs + a * n * k;
        for (int64_t s = 0; s < a; s++)
            for (int64_t i = 0; i < n; i++) {
                double *first = logs + (s * n + i) * k, *second = other + (s * n + i) * k;
                for (int64_t c = 0; c < k; c++) first[c] = (0.0 + parts[i] * first[c]) + parts[n + i] * second[c];
            }
    }
}

/* out (count, k, n, d) = log of the mean over parents among the first columns in each order of `alone` (k, n, d), what
   they have by themselves, times the `shares` (k, n, d, d), by column and parent, of these columns. Missing cells are no
   parents and have shares of 1. `room` is for (2, d). Products of shares, none of which is below 1e-12, are divided by
   the largest from time to time, and the logarithm of that is added. */
PUBLIC void suffice_shares_in_orders(const double *shares, const double *alone, const uint8_t *seen,
                                     const int64_t *orders, int64_t count, int64_t k, int64_t n, int64_t d,
                                     double *restrict room, double *out) {
    double *restrict product = room, *restrict joined = room + d;
    for (int64_t row = 0; row < k * n; row++) {
        const double *own = shares + row * d * d;
        for (int64_t o = 0; o < count; o++) {
            double taken = 0.0, parents = 0.0, *found = out + (o * k * n + row) * d;
            for (int64_t u = 0; u < d; u++) product[u] = alone[row * d + u], joined[u] = 0.0;
            for (int64_t t = 0; t < d; t++) {
                const int64_t j = orders[o * d + t];
                const double *restrict share = own + j * d;
                double a = 0.0, b = 0.0, largest = 1e-30;
                if (t % 8 == 0) {
                    for (int64_t u = 0; u < d; u++) largest = product[u] > largest ? product[u] : largest;
                    largest = ldexp(largest, -900);
                    for (int64_t u = 0; u < d; u++) product[u] /= largest;
                    taken += log(largest);
                }
                joined[j] = 1.0;
                parents += seen[row % n * d + j];
                for (int64_t u = 0; u < d; u++) product[u] *= share[u];
                for (int64_t u = 0; u + 1 < d; u += 2) {
                    a += product[u] * joined[u];
                    b += product[u + 1] * joined[u + 1];
                }
                if (d % 2) a += product[d - 1] * joined[d - 1];
                found[t] = parents > 0.0 ? log((a + b) / parents) + taken : 0.0;
            }
        }
    }
}

/* Put in `out` (n) the log of the mean over the levels u of each row, of n with p, of exp(alone[u] + sum of table[u, v]
   over its levels v); 0 for a row without one, -1 where each misses. The table (size, size) is of floats, if `single`.
   `room` has 2 p numbers. */
PUBLIC void suffice_mean_over_parents(const int64_t *levels, int64_t n, int64_t p, const double *alone,
                                      const void *table, int64_t size, int64_t single, double *room, double *out) {
    double *score = room;
    int64_t *own = (int64_t *)(room + p);
    for (int64_t i = 0; i < n; i++) {
        int64_t m = 0;
        for (int64_t j = 0; j < p; j++)
            if (levels[i * p + j] >= 0) own[m++] = levels[i * p + j];
        double highest = -INFINITY, total = 0.0;
        for (int64_t a = 0; a < m; a++) {
            double sum = 0.0;
            if (single) {
                const float *row = (const float *)table + own[a] * size;
                for (int64_t b = 0; b < m; b++) sum += row[own[b]];
            } else {
                const double *row = (const double *)table + own[a] * size;
                for (int64_t b = 0; b < m; b++) sum += row[own[b]];
            }
            score[a] = sum + alone[own[a]];
            if (score[a] > highest) highest = score[a];
        }
        for (int64_t a = 0; a < m; a++) total += exp(score[a] - highest);
        out[i] = m ? highest + log(total) - log((double)m) : 0.0;
    }
}
