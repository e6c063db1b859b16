/* Rows left out of a class whose matrices are diagonal, at several strengths (leave_one_out/wishart.py), and the log-loss
   of scores of rows left out (automatic/judge.py). */

#include "kernels.h"

/* What is known of rows, (6, n): by how much each stretches its distance, by what the shared matrix and that of its own
   class are lighter without it (h, 0 in other classes), how much of an average row of the class leaves with it, the
   same as a share of the class, and the weight behind the class's mean. */
enum { STRETCH, LIGHTER, H, LEAVING, SHARE, WEIGHT };

/* Make of `squares` (n, a) what is within log(1 + .), and of `length` what is within the log of the determinant, both
   at least `floor`. `strengths` (3, a) are the strengths and what an average row takes away, twice; `pulled` is null
   where none does. */
PUBLIC void suffice_take_out(double *restrict squares, const double *restrict cross, double *restrict length,
                             const double *restrict pulled, int64_t n, int64_t a, const double *rows,
                             const double *restrict strengths, const double *floor) {
    const double *times = strengths + a, *more = times + a;
    for (int64_t i = 0; i < n; i++) {
        double stretch = rows[STRETCH * n + i], lighter = rows[LIGHTER * n + i], h = rows[H * n + i];
        double leaving = rows[LEAVING * n + i], share = rows[SHARE * n + i], weight = rows[WEIGHT * n + i];
        double stretched = stretch * stretch, one = weight + 1.0, lowest = *floor;
        double *restrict s = squares + i * a, *restrict l = length + i * a;
        const double *restrict c = cross + i * a, *restrict p = pulled ? pulled + i * a : NULL;
        for (int64_t j = 0; j < a; j++) {
            double beta = strengths[j] * lighter + h, left = 1.0 - beta * l[j], along = c[j] * stretch;
            left = left < lowest ? lowest : left;
            l[j] = left;
            s[j] = s[j] * stretched + beta * (along * along) / left;
        }
        if (p)
            for (int64_t j = 0; j < a; j++) s[j] = s[j] + share * (times[j] * p[j]) + leaving * more[j];
        for (int64_t j = 0; j < a; j++) s[j] = s[j] * weight / one;
    }
}

/* squares (n, a) become constant - (half (log |A|) + slope log(1 + squares)), of which the logs are in `kept` and
   `squares`: of the kind of row `place` says, `constant` and `slope` are (kinds, a). `dets` (2, a) are log |A| of all
   rows and what an average row takes of it. */
PUBLIC void suffice_student(double *restrict squares, const double *restrict kept, int64_t n, int64_t a,
                            const double *rows, const int64_t *place, const double *constant, const double *slope,
                            const double *restrict dets) {
    for (int64_t i = 0; i < n; i++) {
        const double *restrict first = constant + place[i] * a, *restrict half = slope + place[i] * a;
        const double *restrict k = kept + i * a;
        double *restrict s = squares + i * a, leaving = rows[LEAVING * n + i];
        for (int64_t j = 0; j < a; j++) {
            double det = dets[j] + k[j] + leaving * dets[a + j];
            s[j] = first[j] - (0.5 * det + half[j] * s[j]);
        }
    }
}

/* The log-loss, in all, of softmax(offset + t scores) of rows (n, k) at their own class, and its first two derivatives
   by t, into `sums` (3). Scores are taken about the largest of a row, so that little is lost where they are large. */
PUBLIC void suffice_tempered(const double *restrict scores, const double *restrict offset,
                             const double *restrict weight, const int64_t *restrict codes, double *restrict room,
                             double *restrict sums, int64_t n, int64_t k, double t) {
    double loss = 0.0, slope = 0.0, curvature = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double *restrict o = offset + i * k, *restrict s = scores + i * k;
        double top = s[0], most = -INFINITY, total = 0.0, first = 0.0, second = 0.0;
        for (int64_t c = 1; c < k; c++) top = s[c] > top ? s[c] : top;
        for (int64_t c = 0; c < k; c++) {
            room[c] = o[c] + t * (s[c] - top);
            most = room[c] > most ? room[c] : most;
        }
        double own = room[codes[i]] - most;
        for (int64_t c = 0; c < k; c++) {
            double p = exp(room[c] - most), along = p * (s[c] - top);
            total += p;
            first += along;
            second += along * (s[c] - top);
        }
        first /= total;
        loss -= weight[i] * (own - log(total));
        slope += weight[i] * (first - (s[codes[i]] - top));
        curvature += weight[i] * (second / total - first * first);
    }
    sums[0] = loss, sums[1] = slope, sums[2] = curvature;
}
