/* Shapley values of the columns that are asked on the way to the leaves of trees. */

#include "kernels.h"

#define WIDE 32 /* leaves looked at together; kernels/shapley.py makes as much room */

/* total (n, m, leaves) = the Shapley values, in a game that is a product over columns, of the m that are asked on the
   way to each leaf: `column`, the cells it allows, above `low` and up to `high`, and the `share` of rows that go that
   way, (m, leaves) each. `nodes` (points, 2) are the points and weights of the integral over [0, 1]. A
   missing cell, below 0, adds nothing. `room` (4, m, WIDE) is for what is made on the way. */
PUBLIC void suffice_shapley(const int16_t *cells, int64_t n, int64_t d, const int64_t *column, const int16_t *low,
                            const int16_t *high, const double *share, int64_t m, int64_t leaves, const double *nodes,
                            int64_t points, double *room, double *total) {
    double (*restrict way)[WIDE] = (double (*)[WIDE])room, (*restrict apart)[WIDE] = way + m;
    double (*restrict factor)[WIDE] = apart + m, (*restrict sum)[WIDE] = factor + m, whole[WIDE];
    for (int64_t begin = 0; begin < leaves; begin += WIDE) {
        int64_t size = least(WIDE, leaves - begin);
        for (int64_t j = 0; j < m; j++)
            for (int64_t l = 0; l < WIDE; l++) way[j][l] = l < size ? share[j * leaves + begin + l] : 1.0;
        for (int64_t i = 0; i < n; i++) {
            const int16_t *row = cells + i * d;
            for (int64_t j = 0; j < m; j++) {
                const int64_t at = j * leaves + begin;
                for (int64_t l = 0; l < WIDE; l++) apart[j][l] = sum[j][l] = 0.0;
                for (int64_t l = 0; l < size; l++) {
                    int16_t cell = row[column[at + l]];
                    double inside = cell > low[at + l] && cell <= high[at + l];
                    apart[j][l] = cell < 0 ? 0.0 : inside - way[j][l];
                }
            }
            for (int64_t p = 0; p < points; p++) {
                const double point = nodes[2 * p], weight = nodes[2 * p + 1];
                for (int64_t j = 0; j < m; j++)
                    for (int64_t l = 0; l < WIDE; l++) {
                        double own = point * apart[j][l] + way[j][l];
                        factor[j][l] = own;
                        whole[l] = j ? whole[l] * own : own;
                    }
                for (int64_t l = 0; l < WIDE; l++) whole[l] *= weight;
                for (int64_t j = 0; j < m; j++)
                    for (int64_t l = 0; l < WIDE; l++) /* a factor 0 is of a branch without rows */
                        sum[j][l] += whole[l] / (factor[j][l] == 0.0 ? 1.0 : factor[j][l]);
            }
            for (int64_t j = 0; j < m; j++)
                for (int64_t l = 0; l < size; l++)
                    total[(i * m + j) * leaves + begin + l] = sum[j][l] * apart[j][l];
        }
    }
}
