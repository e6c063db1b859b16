/* Rows sent down trees. */

#include "kernels.h"

#define ABREAST 8 /* rows on their way down a tree at a time: their steps do not wait for each other */

static inline uint32_t step(const tree_node *tree, uint32_t at, const int16_t *row) {
    tree_node own = tree[at];
    uint16_t cell = (uint16_t)(row[own.ask >> 1] + (own.ask & 1));
    return own.child[cell > own.most];
}

/* Node of the tree in which each of n rows (n, d) ends. */
static void walk(const tree_node *tree, const int16_t *cells, int64_t n, int64_t d, uint16_t *out) {
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

/* The leaf of every row in trees `first` to `last`: out (trees, n). `leaf` numbers the leaves of all nodes. */
PUBLIC void suffice_leaves(const tree_node *nodes, const int64_t *roots, const int32_t *leaf, int64_t first, int64_t last,
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
   (trees) says which, and `alone` (L) has them; -1 for all classes. */
PUBLIC void suffice_add_values(const tree_node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
                               const int16_t *cells, int64_t n, int64_t d, const int32_t *only, const double *alone,
                               const double *values, int64_t k, double *total) {
    uint16_t at[NEAR];
    for (int64_t begin = 0; begin < n; begin += NEAR) {
        int64_t size = least(NEAR, n - begin);
        for (int64_t t = 0; t < trees; t++) {
            const int32_t *own = leaf + roots[t];
            double *sums = total + begin * k;
            walk(nodes + roots[t], cells + begin * d, size, d, at);
            if (only[t] >= 0) {
                for (int64_t i = 0; i < size; i++) sums[i * k + only[t]] += alone[own[at[i]]];
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
PUBLIC void suffice_count_leaves(const tree_node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
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
PUBLIC void suffice_sum_leaves(const tree_node *nodes, const int64_t *roots, const int32_t *leaf, int64_t trees,
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

/* total (settings, n, k) += each tree's shares of the classes in the leaf `shown` (trees, n), over the trees that are
   `free` (trees, n) for the row: (m_c + strength * base_c) / (m + strength), with m the weights `counts` (leaves, k) less
   `removed` of the row's own class where it is in that leaf, which is its `own`; m_c is at least 0. */
PUBLIC void suffice_left_out_shares(const int64_t *own, const int64_t *shown, const uint8_t *free, int64_t trees,
                                    int64_t n, const double *counts, int64_t k, const int64_t *codes,
                                    const double *removed, const double *base, const double *strengths,
                                    int64_t settings, double *room, double *total) {
    for (int64_t t = 0; t < trees; t++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = t * n + i;
            const double *mine = counts + shown[at] * k;
            double held = 0.0;
            if (!free[at]) continue;
            for (int64_t c = 0; c < k; c++) {
                double left = mine[c] - (c == codes[i] && shown[at] == own[at] ? removed[i] : 0.0);
                room[c] = left > 0.0 ? left : 0.0;
                held += room[c];
            }
            for (int64_t s = 0; s < settings; s++) {
                const double part = 1.0 / (held + strengths[s]);
                double *sums = total + (s * n + i) * k;
                for (int64_t c = 0; c < k; c++) sums[c] += (room[c] + strengths[s] * base[c]) * part;
            }
        }
}

/* Make `out` (m, k) of the `terms` (q, d, k) of leaves: the log of their sum over the leaves to whose box no known cell
   is `outside` (q, d), of each set of `known` columns (m, d). `scores` (q, k) is room. */
PUBLIC void suffice_in_ways(const double *restrict terms, const double *restrict log_share, const uint8_t *outside,
                            const uint8_t *known, int64_t m, int64_t d, int64_t q, int64_t k, double *restrict scores,
                            double *restrict out) {
    for (int64_t w = 0; w < m; w++) {
        const uint8_t *there = known + w * d;
        double *restrict total = out + w * k;
        int64_t used = 0;
        for (int64_t leaf = 0; leaf < q; leaf++) {
            const uint8_t *apart = outside + leaf * d;
            int any = 0;
            for (int64_t j = 0; j < d; j++) any |= there[j] & apart[j];
            if (any) continue;
            double *restrict own = scores + used++ * k;
            for (int64_t c = 0; c < k; c++) own[c] = log_share[leaf * k + c];
            for (int64_t j = 0; j < d; j++)
                if (there[j])
                    for (int64_t c = 0; c < k; c++) own[c] += terms[(leaf * d + j) * k + c];
        }
        for (int64_t c = 0; c < k; c++) {
            double most = -INFINITY, sum = 0.0;
            for (int64_t leaf = 0; leaf < used; leaf++) most = fmax(most, scores[leaf * k + c]);
            if (most > -INFINITY)
                for (int64_t leaf = 0; leaf < used; leaf++) sum += exp(scores[leaf * k + c] - most);
            total[c] = most > -INFINITY ? log(sum) + most : most;
        }
    }
}
