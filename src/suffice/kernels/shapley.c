/* Shapley values of the columns that trees ask. */

#include "kernels.h"

#define ROWS 32 /* sent through a tree together; kernels/trees.py makes as much room */

enum { INSIDE, LEAVING, APART }; /* a row's cell is on the way to a node; is not from here on; was not, or is missing */

/* total (n, d, k) += the Shapley values of every tree's leaf values (leaves, k), or those of its `only` class where this
   is not -1. `share` is how many of its parent's rows each node holds, by which a column that is not looked at is
   averaged over; a missing cell, below 0, adds nothing.

   The game of a leaf is a product over the columns asked on the way to it, of s + t a at t = 1, with s the column's
   share of rows that go that way and s + a whether the row does. Its Shapley value is the integral over t from 0 to 1
   of a / (s + t a) times the product, here by `nodes` (points, 2) and their weights, `points` a multiple of 4. What
   the leaves below a node have in common is summed there once (Yu, Xu, Bifet & Read 2022, arXiv:2209.08192): a step
   that asks a column again takes the place of the step before.

   `room` and `marks` are for what is made on the way down, of at most `depth` steps. */
PUBLIC void suffice_shapley(const tree_node *nodes_of, const int64_t *roots, const int32_t *leaf, int64_t trees,
                            const int16_t *cells, int64_t n, int64_t d, const double *share, const int32_t *only,
                            const double *values, int64_t k, const double *nodes, int64_t points, int64_t depth,
                            double *room, int64_t *marks, double *total) {
    const int64_t wide = ROWS * points;
    double *way = room, *below = way + (depth + 1) * wide, *heavy = below + (depth + 1) * k * wide;
    double *held = heavy + (depth + 1) * 2 * points, *factor = held + depth + 1, *added = factor + 3 * points;
    int64_t *last = marks, *before = last + d, *at = before + depth + 1, *turn = at + depth + 1;
    uint8_t *kinds = (uint8_t *)(turn + depth + 1); /* (depth + 1, ROWS) */
    for (int64_t j = 0; j < d; j++) last[j] = -1;
    for (int64_t begin = 0; begin < n; begin += ROWS) {
        const int64_t size = least(ROWS, n - begin);
        for (int64_t i = 0; i < d * k * ROWS; i++) added[i] = 0.0;
        for (int64_t t = 0; t < trees; t++) {
            const tree_node *tree = nodes_of + roots[t];
            const double *part = share + roots[t];
            const int32_t *number = leaf + roots[t];
            const int64_t first = only[t] < 0 ? 0 : only[t], end = only[t] < 0 ? k : only[t] + 1;
            int64_t deep = 0;
            for (int64_t i = 0; i < size * points; i++) way[i] = 1.0;
            at[0] = turn[0] = 0;
            while (deep >= 0) {
                const tree_node own = tree[at[deep]];
                const int ends = own.child[0] == at[deep];
                double *sum = below + deep * k * wide;
                if (!ends && turn[deep] < 2) { /* a step down */
                    if (!turn[deep])
                        for (int64_t i = first * wide; i < end * wide; i++) sum[i] = 0.0;
                    const int right = (int)turn[deep]++;
                    const int64_t j = own.ask >> 1, down = deep + 1, past = last[j];
                    const double *above = way + deep * wide;
                    double *here = way + down * wide, *weight = heavy + down * 2 * points;
                    uint8_t *kind = kinds + down * ROWS;
                    const uint8_t *old = past < 0 ? 0 : kinds + past * ROWS;
                    at[down] = own.child[right];
                    turn[down] = 0;
                    before[down] = past;
                    last[j] = down;
                    const double s = past < 0 ? 1.0 : held[past], r = part[at[down]], now = s * r;
                    held[down] = now;
                    for (int64_t p = 0; p < points; p++) {
                        const double x = nodes[2 * p], w = nodes[2 * p + 1];
                        const double was = s + x * (1.0 - s), is = now + x * (1.0 - now), less = (1.0 - s) / was;
                        factor[INSIDE * points + p] = is / was;
                        factor[LEAVING * points + p] = now * (1.0 - x) / was;
                        factor[APART * points + p] = r;
                        weight[INSIDE * points + p] = w * ((1.0 - now) / is - less);
                        weight[LEAVING * points + p] = w * (-1.0 / (1.0 - x) - less);
                    }
                    for (int64_t i = 0; i < size; i++) {
                        const int16_t cell = cells[(begin + i) * d + j];
                        const int goes = (uint16_t)(cell + (own.ask & 1)) > own.most;
                        const int apart = cell < 0 || (old && old[i] != INSIDE);
                        kind[i] = apart ? APART : goes == right ? INSIDE : LEAVING;
                        const double *times = factor + kind[i] * points;
                        for (int64_t p = 0; p < points; p++) here[i * points + p] = above[i * points + p] * times[p];
                    }
                    deep = down;
                    continue;
                }
                if (deep) { /* the step to this node adds what its leaves have in common */
                    const int64_t j = tree[at[deep - 1]].ask >> 1;
                    const double *value = values + (int64_t)(ends ? number[at[deep]] : 0) * k, *here = way + deep * wide;
                    const double *weight = heavy + deep * 2 * points;
                    const uint8_t *kind = kinds + deep * ROWS;
                    double *up = below + (deep - 1) * k * wide, summed[ROWS];
                    for (int64_t c = first; c < end; c++) {
                        double *mine = added + (j * k + c) * ROWS, *onto = up + c * wide;
                        const double *from = ends ? here : sum + c * wide, times = ends ? value[c] : 1.0;
                        for (int64_t i = 0; i < size * points; i++) onto[i] += times * from[i];
                        for (int64_t i = 0; i < size && !(ends && c > first); i++) { /* of a leaf, one for all classes */
                            const double *one = from + i * points, *by = weight + kind[i] * points;
                            double a = 0.0, b = 0.0, e = 0.0, f = 0.0;
                            for (int64_t p = 0; kind[i] != APART && p < points; p += 4) {
                                a += by[p] * one[p];
                                b += by[p + 1] * one[p + 1];
                                e += by[p + 2] * one[p + 2];
                                f += by[p + 3] * one[p + 3];
                            }
                            summed[i] = (a + b) + (e + f);
                        }
                        for (int64_t i = 0; i < size; i++) mine[i] += times * summed[i];
                    }
                    last[j] = before[deep];
                }
                deep--;
            }
        }
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j < d * k; j++) total[(begin + i) * d * k + j] += added[j * ROWS + i];
    }
}
