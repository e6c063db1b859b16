/* Squared distances of rows with missing cells from class means, over the cells that they have (densities/gaussian.py).
   Loops run along rows of triangular factors, so that they are many additions at once. */

#include <float.h>

#include "kernels.h"

/* Make of z (n) the solution of Uᵀ x = z: `upper` holds n rows of U, `width` apart. */
static void solve(const double *restrict upper, int64_t width, double *restrict z, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        const double *restrict u = upper + j * width;
        double own = z[j] / u[j];
        z[j] = own;
        for (int64_t i = j + 1; i < n; i++) z[i] -= own * u[i];
    }
}

/* Make of rows and columns `at` (n) of a symmetric `matrix` (d, d) the factor U, UᵀU, n rows of it, d apart, and return
   the log of its determinant. No pivot is below `floor`. */
static double factor(const double *restrict matrix, int64_t d, const int64_t *restrict at, int64_t n,
                     double *restrict upper, double floor) {
    double log_det = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double *restrict from = matrix + at[i] * d;
        double *restrict to = upper + i * d;
        for (int64_t j = i; j < n; j++) to[j] = from[at[j]];
    }
    for (int64_t i = 0; i < n; i++) {
        double *restrict own = upper + i * d;
        double pivot = own[i] > floor ? own[i] : floor, root = sqrt(pivot);
        log_det += log(pivot);
        own[i] = root;
        for (int64_t j = i + 1; j < n; j++) own[j] /= root;
        for (int64_t t = i + 1; t < n; t++) {
            double *restrict below = upper + t * d, times = own[t];
            for (int64_t j = t; j < n; j++) below[j] -= times * own[j];
        }
    }
    return log_det;
}

/* Make `z` (k, n, d) of rows of cells (n, d): less each of the means (k, d), over standard deviations (g, d), 0 where a
   cell is missing. */
PUBLIC void suffice_standardize(const double *restrict cells, const double *means, const double *sd, int64_t n,
                                int64_t d, int64_t k, int64_t g, double *restrict z) {
    for (int64_t c = 0; c < k; c++) {
        const double *restrict mean = means + c * d, *restrict own = sd + (g > 1 ? c * d : 0);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < d; j++) {
                double x = cells[i * d + j];
                z[(c * n + i) * d + j] = x == x ? (x - mean[j]) / own[j] : 0.0;
            }
    }
}

/* `z` (k, n, d) are rows of `cells` (n, d) that were standardised, and `white` (k, n, d) the same times Wᵀ, which is
   worked on. `like` (n) says which rows miss what the row before misses. `logs` (g, d) are logarithms of standard
   deviations, `log_det` (g) those of determinants of covariances, and `matrices` (3, g, d, d) correlations R, the
   transposes of W with W R Wᵀ = I, and P = WᵀW. `room` (d + 1, d) and `at` (d) are for work; `squares` and `dets` (n, k)
   are the answer.

   Where half of the cells are missing, or more, R of those observed is factored. Else the distance is the least |W z|²
   over the missing cells, which is where these are −P_mm⁻¹ P_mo z_o, and |R_oo| = |R| |P_mm|: what rounding does to the
   former moves |W z|² by its square alone. A pivot of P_mm is one over the variance of a column given others, in units
   of its own: none is below 1. */
PUBLIC void suffice_observed(const double *restrict z, double *restrict white, const double *restrict cells,
                             const uint8_t *restrict like, int64_t n, int64_t d, int64_t k,
                             const double *restrict logs, const double *restrict log_det, int64_t g,
                             const double *restrict matrices, double *restrict room, int64_t *restrict at,
                             double *restrict squares, double *restrict dets) {
    double *restrict cell = room + d * d;
    for (int64_t own = 0; own < g; own++) {
        const double *correlation = matrices + own * d * d, *turned = correlation + g * d * d;
        const double *inverse = turned + g * d * d, *log_sd = logs + own * d;
        int64_t first = g > 1 ? own : 0, last = g > 1 ? own + 1 : k, o = 0;
        double det = 0.0;
        for (int64_t i = 0; i < n; i++) {
            if (!(i && like[i])) { /* observed columns come first, missing ones from the end */
                int64_t m = o = 0;
                for (int64_t j = 0; j < d; j++)
                    if (cells[i * d + j] == cells[i * d + j]) at[o++] = j;
                for (int64_t j = d - 1; j >= 0; j--)
                    if (cells[i * d + j] != cells[i * d + j]) at[o + m++] = j;
                det = 0.0;
                if (2 * o > d) {
                    det = log_det[own] + factor(inverse, d, at + o, m, room, 1.0);
                    for (int64_t j = o; j < d; j++) det -= 2.0 * log_sd[at[j]];
                } else {
                    det = factor(correlation, d, at, o, room, DBL_MIN);
                    for (int64_t j = 0; j < o; j++) det += 2.0 * log_sd[at[j]];
                }
            }
            const int64_t *gone = at + o, m = d - o;
            for (int64_t c = first; c < last; c++) {
                double *restrict left = white + (c * n + i) * d;
                dets[i * k + c] = det;
                if (2 * o <= d) {
                    for (int64_t j = 0; j < o; j++) cell[j] = z[(c * n + i) * d + at[j]];
                    solve(room, d, cell, o);
                    squares[i * k + c] = dot(cell, cell, o);
                    continue;
                }
                for (int64_t j = 0; j < m; j++) /* rows of Wᵀ start at the diagonal */
                    cell[j] = dot(turned + gone[j] * (d + 1), left + gone[j], d - gone[j]);
                solve(room, d, cell, m);
                for (int64_t j = m - 1; j >= 0; j--) { /* U x = z */
                    double rest = cell[j];
                    for (int64_t t = j + 1; t < m; t++) rest -= room[j * d + t] * cell[t];
                    cell[j] = rest / room[j * d + j];
                }
                for (int64_t j = 0; j < m; j++) {
                    const double *restrict w = turned + gone[j] * d;
                    for (int64_t t = gone[j]; t < d; t++) left[t] -= cell[j] * w[t];
                }
                squares[i * k + c] = dot(left, left, d);
            }
        }
    }
}
