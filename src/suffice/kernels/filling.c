/* One E step of EM over rows with missing cells (em/step.py): what a row is expected to hold, and what that leaves open. */

#include "kernels.h"

/* Make of a symmetric matrix (n, n) its inverse, by way of L D L'; return the logarithm of its determinant. `room` has
   n numbers, `low` (n, n). */
static double invert(double *restrict a, double *restrict low, double *restrict room, int64_t n) {
    double log_det = 0.0;
    for (int64_t j = 0; j < n; j++) {
        double *own = low + j * n;
        for (int64_t i = 0; i < j; i++) room[i] = own[i] * low[i * n + i];
        double pivot = a[j * n + j] - dot(own, room, j);
        log_det += log(fabs(pivot));
        own[j] = pivot;
        for (int64_t i = j + 1; i < n; i++) low[i * n + j] = (a[i * n + j] - dot(low + i * n, room, j)) / pivot;
    }
    for (int64_t c = 0; c < n; c++) { /* column c from its own row on, which is row c by symmetry */
        for (int64_t i = c; i < n; i++) room[i] = (i == c ? 1.0 : 0.0) - dot(low + i * n + c, room + c, i - c);
        for (int64_t i = c; i < n; i++) room[i] /= low[i * n + i];
        for (int64_t i = n - 1; i >= c; i--) {
            double x = a[c * n + i] = room[i];
            for (int64_t t = c; t < i; t++) room[t] -= low[i * n + t] * x;
        }
    }
    for (int64_t i = 1; i < n; i++)
        for (int64_t j = 0; j < i; j++) a[i * n + j] = a[j * n + i];
    return log_det;
}

static void gather(double *restrict out, const double *restrict matrix, const int64_t *rows, int64_t n,
                   const int64_t *columns, int64_t p, int64_t d) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < p; j++) out[i * p + j] = matrix[rows[i] * d + columns[j]];
}

/* Rows `cells` (r, d) become `delta` (r, d), less the means (k, d) of their `owner`, but for `centred` ones, and missing
   cells filled in. Rows are in the order of their `pattern`: of s, each with the cells that are `seen` (s, d), the
   covariance they are filled under (`which`), the `unit` it counts in, and its `mass`. Add what stays open to `left`
   (g, d, d), half the log determinants of the observed cells to `halves` (g), each times the mass, and the rows times
   their weights to `first` (k, d), but for centred ones. There is room for d d + 2 d numbers, and `places` (d). */
PUBLIC void suffice_fill(const double *restrict cells, const uint8_t *restrict seen, const int64_t *which,
                         const int64_t *unit, const double *mass, int64_t s, const int64_t *pattern,
                         const int64_t *owner, const double *weight, const uint8_t *centred, int64_t r,
                         const double *restrict mean, const double *precisions, const double *covariances,
                         const double *log_dets, int64_t d, double *restrict delta, double *restrict first,
                         double *restrict left, double *restrict halves, double *restrict room,
                         int64_t *restrict places) {
    double *small = room + d * d, *pulled = small + d;
    for (int64_t p = 0, i = 0; p < s; p++) {
        const double *precision = precisions + which[p] * d * d, *covariance = covariances + which[p] * d * d;
        int64_t o = 0, m = 0;
        for (int64_t j = 0; j < d; j++) o += seen[p * d + j] != 0;
        const int64_t *there = places, *gone = places + o;
        for (int64_t j = 0, at = 0; j < d; j++) places[seen[p * d + j] ? at++ : o + m++] = j;
        double *noise = room, *slopes = room + m * m, log_det, *open = left + unit[p] * d * d;
        int few = m <= o;
        if (few) { /* the noise is the inverse of the missing cells' block of the precision */
            gather(noise, precision, gone, m, gone, m, d);
            log_det = log_dets[which[p]] + invert(noise, slopes, small, m);
        } else {
            double *within = slopes + m * o;
            gather(within, covariance, there, o, there, o, d);
            log_det = invert(within, slopes, small, o);
            for (int64_t j = 0; j < m; j++) {
                gather(small, covariance, gone + j, 1, there, o, d);
                for (int64_t t = 0; t < o; t++) slopes[j * o + t] = dot(within + t * o, small, o);
            }
            for (int64_t j = 0; j < m; j++) {
                gather(small, covariance, gone + j, 1, there, o, d);
                for (int64_t t = 0; t < m; t++)
                    noise[j * m + t] = covariance[gone[j] * d + gone[t]] - dot(slopes + t * o, small, o);
            }
        }
        halves[unit[p]] += 0.5 * mass[p] * log_det;
        for (int64_t j = 0; j < m; j++)
            for (int64_t t = 0; t < m; t++) open[gone[j] * d + gone[t]] += mass[p] * noise[j * m + t];
        for (; i < r && pattern[i] == p; i++) {
            const double *about = mean + owner[i] * d, *own = cells + i * d;
            double *restrict out = delta + i * d, *restrict sum = first + owner[i] * d;
            for (int64_t j = 0; j < m; j++) out[gone[j]] = 0.0;
            for (int64_t j = 0; j < o; j++) {
                int64_t at = there[j];
                out[at] = small[j] = centred[i] ? own[at] : own[at] - about[at];
            }
            if (few) {
                for (int64_t j = 0; j < m; j++) pulled[j] = dot(precision + gone[j] * d, out, d);
                for (int64_t j = 0; j < m; j++) out[gone[j]] = -dot(noise + j * m, pulled, m);
            } else {
                for (int64_t j = 0; j < m; j++) out[gone[j]] = dot(slopes + j * o, small, o);
            }
            if (!centred[i])
                for (int64_t j = 0; j < d; j++) sum[j] += weight[i] * out[j];
        }
    }
}

/* Make of n symmetric positive definite matrices (n, d, d) their inverses, and `log_dets` (n) of the determinants they
   had. There is room for (d + 1) d numbers. */
PUBLIC void suffice_invert(double *restrict matrices, int64_t n, int64_t d, double *restrict room,
                           double *restrict log_dets) {
    for (int64_t i = 0; i < n; i++) log_dets[i] = invert(matrices + i * d * d, room + d, room, d);
}
