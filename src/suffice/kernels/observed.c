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

static double squared(const double *restrict z, int64_t n) {
    double even = 0.0, odd = 0.0;
    int64_t j = 0;
    for (; j + 1 < n; j += 2) even += z[j] * z[j], odd += z[j + 1] * z[j + 1];
    return j < n ? even + odd + z[j] * z[j] : even + odd;
}

/* Of rows of cells (n, d), `like` (n) says which miss what the row before misses; `means` (k, d), `scale` (g, d) are
   standard deviations, `logs` (g, d) their logarithms, of covariances whose log determinants are `log_det` (g).
   `matrices` (3, g, d, d) are correlations R, the transposes of W with W R Wᵀ = I, and P = WᵀW. `room` (d + 2, d) and
   `at` (d) are for work; `squares` and `dets` (n, k) are the answer.

   Where half of the cells are missing, or more, R of those observed is factored. Else the distance is the least |W z|²
   over the missing cells, which is where these are −P_mm⁻¹ P_mo z_o, and |R_oo| = |R| |P_mm|: what rounding does to the
   former moves |W z|² by its square alone. A pivot of P_mm is one over the variance of a column given others, in units
   of its own: none is below 1. */
PUBLIC void suffice_observed(const double *restrict cells, const uint8_t *restrict like, int64_t n, int64_t d,
                             const double *restrict means, int64_t k, const double *restrict scale,
                             const double *restrict logs, const double *restrict log_det, int64_t g,
                             const double *restrict matrices, double *restrict room, int64_t *restrict at,
                             double *restrict squares, double *restrict dets) {
    double *restrict z = room + d * d, *restrict other = z + d;
    for (int64_t own = 0; own < g; own++) {
        const double *restrict correlation = matrices + own * d * d;
        const double *restrict white = matrices + (g + own) * d * d, *restrict inverse = white + g * d * d;
        const double *restrict sd = scale + own * d, *restrict log_sd = logs + own * d;
        int64_t first = g > 1 ? own : 0, last = g > 1 ? own + 1 : k, observed = 0, missing = 0;
        double det = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double *restrict x = cells + i * d;
            if (!(i && like[i])) { /* observed columns come first, missing ones from the end */
                observed = missing = 0;
                for (int64_t j = 0; j < d; j++)
                    if (x[j] == x[j]) at[observed++] = j;
                for (int64_t j = d - 1; j >= 0; j--)
                    if (x[j] != x[j]) at[observed + missing++] = j;
                det = 0.0;
                if (2 * observed > d) {
                    det = log_det[own] + factor(inverse, d, at + observed, missing, room, 1.0);
                    for (int64_t j = observed; j < d; j++) det -= 2.0 * log_sd[at[j]];
                } else {
                    det = factor(correlation, d, at, observed, room, DBL_MIN);
                    for (int64_t j = 0; j < observed; j++) det += 2.0 * log_sd[at[j]];
                }
            }
            for (int64_t c = first; c < last; c++) {
                const double *restrict mean = means + c * d;
                dets[i * k + c] = det;
                if (2 * observed <= d) {
                    for (int64_t j = 0; j < observed; j++) z[j] = (x[at[j]] - mean[at[j]]) / sd[at[j]];
                    solve(room, d, z, observed);
                    squares[i * k + c] = squared(z, observed);
                    continue;
                }
                for (int64_t j = 0; j < d; j++) z[j] = x[j] == x[j] ? (x[j] - mean[j]) / sd[j] : 0.0;
                for (int64_t j = 0; j < missing; j++) {
                    const double *restrict p = inverse + at[observed + j] * d;
                    double even = 0.0, odd = 0.0;
                    for (int64_t t = 0; t + 1 < d; t += 2) even += p[t] * z[t], odd += p[t + 1] * z[t + 1];
                    other[j] = even + odd + (d % 2 ? p[d - 1] * z[d - 1] : 0.0);
                }
                solve(room, d, other, missing);
                for (int64_t j = missing - 1; j >= 0; j--) { /* U x = z */
                    double left = other[j];
                    for (int64_t t = j + 1; t < missing; t++) left -= room[j * d + t] * other[t];
                    other[j] = left / room[j * d + j];
                }
                for (int64_t j = 0; j < missing; j++) z[at[observed + j]] = -other[j];
                for (int64_t j = 0; j < d; j++) other[j] = 0.0;
                for (int64_t j = 0; j < d; j++) {
                    const double *restrict w = white + j * d;
                    double times = z[j];
                    for (int64_t t = j; t < d; t++) other[t] += times * w[t];
                }
                squares[i * k + c] = squared(other, d);
            }
        }
    }
}
