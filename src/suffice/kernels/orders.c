/* What columns add to log densities, each to those before it in an order, of rows that miss some of them. */

#include <string.h>

#include "kernels.h"

/* A row less a centre, missing cells at it, is w once whitened in an order by all columns. What its missing cells u are,
   the centre taken off, moves it: column j becomes w_j + a_j'u, standard normal and independent of the others. So u has
   a normal law given the columns so far, by which each observed one updates it (a Kalman filter): with residual
   w_j + a_j'E[u] of variance 1 + a_j'Cov[u]a_j, by which the row's squared distance and the determinant grow. A missing
   column joins u. Where columns are made of a few normal numbers and noise of their own, these numbers are u from the
   beginning (`wide` of them, in `fixed`), and columns that a row misses are passed over. */

typedef struct { /* of one matrix in one order: what rows that miss the same cells share */
    double *along, *gain, *less, *log_det; /* a_j and Cov[u]a_j / variance (d, most), 1 / variance (d), all log |.| (d) */
} update;

static void updates(update to, const double *matrix, const double *log_scale, int64_t fixed, int64_t wide,
                    const int64_t *order, const uint8_t *missing, int64_t d, int64_t most, double *spread,
                    int64_t *held) {
    int64_t size = fixed ? wide : 0;
    double log_det = 0.0;
    if (fixed)
        for (int64_t l = 0; l < size * most; l++) spread[l] = l % (most + 1) ? 0.0 : 1.0;
    for (int64_t t = 0; t < d; t++) {
        const int64_t j = order[t];
        const double *row = matrix + j * wide, unit = fixed ? 1.0 : row[j];
        double *a = to.along + t * most, *gain = to.gain + t * most, variance = 1.0;
        if (fixed && missing[j]) continue;
        for (int64_t l = 0; l < size; l++) a[l] = fixed ? row[l] : row[held[l]];
        for (int64_t l = 0; l < size; l++) {
            double sum = 0.0;
            for (int64_t h = 0; h < size; h++) sum += spread[l * most + h] * a[h];
            gain[l] = sum;
        }
        for (int64_t l = 0; l < size; l++) variance += a[l] * gain[l];
        variance = variance < 1.0 ? 1.0 : variance; /* by rounding */
        if (missing[j]) {
            for (int64_t l = 0; l < size; l++) spread[size * most + l] = spread[l * most + size] = -gain[l] / unit;
            spread[size * most + size] = variance / (unit * unit);
            held[size++] = j;
            to.less[t] = 1.0 / unit;
            continue;
        }
        for (int64_t l = 0; l < size; l++) {
            const double part = gain[l] / variance;
            for (int64_t h = 0; h < size; h++) spread[l * most + h] -= part * gain[h];
        }
        for (int64_t l = 0; l < size; l++) gain[l] /= variance;
        to.less[t] = 1.0 / variance;
        log_det += log(variance / (unit * unit)) + log_scale[j];
        to.log_det[t] = log_det;
    }
}

/* Squared distances (count) of a row in the first columns that it has. */
static void distances(update by, const double *white, int64_t fixed, int64_t wide, const int64_t *order,
                      const uint8_t *missing, int64_t d, int64_t most, double *mean, double *squares) {
    int64_t size = fixed ? wide : 0, count = 0;
    double square = 0.0;
    for (int64_t l = 0; l < size; l++) mean[l] = 0.0;
    for (int64_t t = 0; t < d; t++) {
        const int64_t j = order[t];
        const double *a = by.along + t * most, *gain = by.gain + t * most;
        if (fixed && missing[j]) continue;
        double residual = white[j];
        for (int64_t l = 0; l < size; l++) residual += a[l] * mean[l];
        if (missing[j]) {
            mean[size++] = -residual * by.less[t];
            continue;
        }
        for (int64_t l = 0; l < size; l++) mean[l] -= gain[l] * residual;
        square += residual * residual * by.less[t];
        squares[count++] = square;
    }
}

/* log(1 + x) for x >= 0, by what 1 + x is rounded by. */
static inline double log_one_and(double x) {
    const double y = 1.0 + x;
    return y < INFINITY ? log(y) - ((y - 1.0) - x) / y : y;
}

/* total (n, k, d) += what columns add, less its mean over classes, in one order and its reverse, and squared (n, k, d)
   += the square of half of that unless it is null.

   `white` (2, m, n, d) are rows whitened in either order, `step` numbers apart, and `matrix` (2, g, d, wide) the a_j:
   of columns that depend on each other the whitening matrices themselves; `apart` numbers lie between orders. The log
   variances by which cells were standardised are `log_scale` (g, d). `most` is the size of u at most. A density of c
   columns is constant (m, d + 1) at c, less half of log |.|, less what a t of `df` (m) degrees of freedom or a normal one
   (infinity) makes of the squared distance over `inflation` (m). Those from starts[y] to starts[y + 1] are of class y,
   weighted by `log_share` (m). Rows alike in what they miss had better follow each other. */
PUBLIC void suffice_add_in_orders(const double *white, int64_t step, const double *matrix, int64_t apart,
                                  const double *log_scale, int64_t g, int64_t wide, int64_t fixed,
                                  const int64_t *orders, const uint8_t *missing, int64_t n, int64_t d, int64_t most,
                                  const double *constant, const double *df, const double *inflation,
                                  const double *log_share, const int64_t *starts, int64_t k, double *room,
                                  int64_t *marks, double *total, double *squared) {
    const int64_t m = starts[k], one = 2 * d * (most + 1);
    double *shared = room, *spread = shared + 2 * g * one, *mean = spread + most * most, *value = mean + most;
    double *added = value + m * d;
    int64_t *held = marks, *seen = marks + most;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *own = missing + i * d;
        const int fresh = !i || memcmp(own, own - d, (size_t)d);
        for (int64_t l = 0; l < k * d; l++) added[l] = 0.0;
        for (int64_t o = 0; o < 2; o++) {
            const int64_t *order = orders + o * d;
            int64_t count = 0;
            for (int64_t t = 0; t < d; t++)
                if (!own[order[t]]) seen[count++] = t;
            for (int64_t c = 0; c < m; c++) {
                const int64_t s = c < g ? c : g - 1;
                double *at = shared + (o * g + s) * one, *f = value + c * d, half = 0.5 / inflation[c];
                const double *height = constant + c * (d + 1);
                const update by = {at, at + d * most, at + 2 * d * most, at + 2 * d * most + d};
                if (fresh && c < g)
                    updates(by, matrix + o * apart + s * d * wide, log_scale + s * d, fixed, wide, order, own, d, most,
                            spread, held);
                distances(by, white + o * step + (c * n + i) * d, fixed, wide, order, own, d, most, mean, f);
                for (int64_t t = 0; t < count; t++) {
                    const double about = height[t + 1] + log_share[c] - 0.5 * by.log_det[seen[t]];
                    if (isinf(df[c])) f[t] = about - half * f[t];
                    else f[t] = about - 0.5 * (df[c] + (double)(t + 1)) * log_one_and(f[t] / (inflation[c] * df[c]));
                }
            }
            for (int64_t y = 0; y < k; y++) {
                const int64_t first = starts[y], end = starts[y + 1];
                double *f = value + first * d, last = 0.0;
                for (int64_t t = 0; t < count; t++) {
                    double now = f[t];
                    if (end - first > 1) {
                        double sum = 0.0, peak = now;
                        for (int64_t c = first + 1; c < end; c++) peak = fmax(peak, value[c * d + t]);
                        peak = isfinite(peak) ? peak : 0.0;
                        for (int64_t c = first; c < end; c++) sum += exp(value[c * d + t] - peak);
                        now = peak + log(sum);
                    }
                    added[y * d + order[seen[t]]] += now - last;
                    last = now;
                }
            }
        }
        for (int64_t j = 0; j < d; j++) {
            double middle = 0.0;
            if (own[j]) continue;
            for (int64_t y = 0; y < k; y++) middle += added[y * d + j];
            middle /= (double)k;
            for (int64_t y = 0; y < k; y++) {
                const double pair = added[y * d + j] - middle;
                total[(i * k + y) * d + j] += pair;
                if (squared) squared[(i * k + y) * d + j] += 0.25 * pair * pair;
            }
        }
    }
}
