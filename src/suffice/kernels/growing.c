/* Trees grown from cells. Weights are whole numbers that add up to less than 2^27, so that sums of their products are
   exact, in whatever order.
*/

#include "kernels.h"

#define FEW 16          /* rows sorted by insertion */
#define CODE 0xFFFFFFFF /* of what is held of a row, weight * 2^32 + code */

/* Weights by class of the rows of a node, their sum and the sum of their squares; `left` has room for those of the rows
   below a threshold, and is 0 between uses. The best split so far is the one of most `gain`. */
typedef struct {
    int64_t *total, *left, least, weight, squares, column, threshold;
    double gain;
} search;

/* Rows below a threshold: their weight, the sum of squares of their weights by class, and of products with all. */
typedef struct {
    int64_t weight, squares, cross;
} below;

static inline void add(search *own, below *sums, int64_t code, int64_t weight) {
    sums->weight += weight;
    sums->squares += weight * (2 * own->left[code] + weight);
    sums->cross += weight * own->total[code];
    own->left[code] += weight;
}

static inline void consider(search *own, const below *sums, int64_t column, int64_t threshold) {
    int64_t others = own->weight - sums->weight;
    if (sums->weight < own->least || others < own->least) return;
    double gain = (double)sums->squares / (double)sums->weight +
                  (double)(own->squares - 2 * sums->cross + sums->squares) / (double)others;
    if (gain > own->gain) {
        own->gain = gain;
        own->column = column;
        own->threshold = threshold;
    }
}

/* Every threshold between the cells of a few rows, which are sorted in place. */
static void among_few(search *own, int16_t *cell, uint64_t *held, int64_t n, int64_t column) {
    for (int64_t i = 1; i < n; i++) {
        int16_t c = cell[i];
        uint64_t h = held[i];
        int64_t at = i;
        for (; at > 0 && cell[at - 1] > c; at--) {
            cell[at] = cell[at - 1];
            held[at] = held[at - 1];
        }
        cell[at] = c;
        held[at] = h;
    }
    below sums = {0};
    for (int64_t i = 0; i < n; i++) {
        if (i && cell[i] != cell[i - 1]) consider(own, &sums, column, (cell[i - 1] + cell[i]) >> 1);
        add(own, &sums, held[i] & CODE, held[i] >> 32);
    }
}

/* Every threshold between the cells `low` to `high` of rows, sorted by counting: `ends` has room for so many cells. */
static void among_many(search *own, const int16_t *cell, const uint64_t *held, int64_t n, int64_t low, int64_t high,
                       int64_t column, int32_t *ends, uint64_t *sorted) {
    int64_t cells = high - low + 1, i = 0, last = low;
    for (int64_t b = 0; b < cells; b++) ends[b] = 0;
    for (i = 0; i < n; i++) ends[cell[i] - low]++;
    for (int64_t b = 0, before = 0; b < cells; b++) {
        int32_t count = ends[b];
        ends[b] = (int32_t)before;
        before += count;
    }
    for (i = 0; i < n; i++) sorted[ends[cell[i] - low]++] = held[i];
    below sums = {0};
    for (int64_t b = 0, i = 0; b < cells; b++) {
        if (i == ends[b]) continue;
        if (i) consider(own, &sums, column, (last + low + b) >> 1);
        for (; i < ends[b]; i++) add(own, &sums, sorted[i] & CODE, sorted[i] >> 32);
        last = low + b;
    }
}

/* One threshold, drawn among those between the cells `low` to `high` of rows. */
static void drawn_one(search *own, const int16_t *cell, const uint64_t *held, int64_t n, int64_t low, int64_t high,
                      int64_t column, uint64_t draw) {
    int64_t threshold = low + (int64_t)(draw % (uint64_t)(high - low));
    below sums = {0};
    for (int64_t i = 0; i < n; i++)
        if (cell[i] <= threshold) add(own, &sums, held[i] & CODE, held[i] >> 32);
    consider(own, &sums, column, threshold);
}

/* Try columns, drawn one after the other, on the rows `begin` to `end`: at least `tries`, and until one of them varies.
   `order` (d) is the numbers of the columns, and is left as it was; `swapped` has room for as many. */
static void try_columns(search *own, const int16_t *cells, int64_t n, int64_t d, const int32_t *rows,
                        const uint64_t *held, int64_t size, int64_t tries, int drawn, uint64_t seed, int32_t *order,
                        int32_t *swapped, int16_t *cell, uint64_t *sorted, int32_t *room) {
    int64_t tried = 0, varied = 0;
    for (; tried < d && (tried < tries || !varied); tried++) {
        int64_t other = tried + (int64_t)(mixed(seed + GOLDEN * (uint64_t)(tried + 1)) % (uint64_t)(d - tried));
        int32_t column = order[other];
        order[other] = order[tried];
        order[tried] = column;
        swapped[tried] = (int32_t)other;
        const int16_t *from = cells + column * n;
        int16_t low = INT16_MAX, high = INT16_MIN;
        for (int64_t i = 0; i < size; i++) {
            int16_t c = cell[i] = from[rows[i]];
            low = c < low ? c : low;
            high = c > high ? c : high;
        }
        if (low == high) continue;
        varied = 1;
        if (drawn) {
            uint64_t draw = mixed(seed ^ GOLDEN * (uint64_t)(tried + 1));
            drawn_one(own, cell, held, size, low, high, column, draw);
        } else if (size <= FEW) {
            for (int64_t i = 0; i < size; i++) sorted[i] = held[i];
            among_few(own, cell, sorted, size, column);
        } else {
            among_many(own, cell, held, size, low, high, column, room, sorted);
        }
        for (int64_t i = 0; i < size; i++) own->left[held[i] & CODE] = 0;
    }
    while (tried-- > 0) {
        int32_t column = order[tried];
        order[tried] = order[swapped[tried]];
        order[swapped[tried]] = column;
    }
}

/* Put rows whose cell is at most the threshold before the others, each in their order, and return how many they are. */
static int64_t part(const int16_t *cell, int64_t threshold, int32_t *rows, uint64_t *held, int64_t size, int32_t *room,
                    uint64_t *sorted) {
    int64_t left = 0, right = 0;
    for (int64_t i = 0; i < size; i++) {
        if (cell[rows[i]] <= threshold) {
            rows[left] = rows[i];
            held[left++] = held[i];
        } else {
            room[right] = rows[i];
            sorted[right++] = held[i];
        }
    }
    for (int64_t i = 0; i < right; i++) {
        rows[left + i] = room[i];
        held[left + i] = sorted[i];
    }
    return left;
}

/* Grow a tree of the rows, level by level, until no split leaves both sides a weight of `least`: of columns (d, n) of
   cells, and what is `held` of each row. `nodes` (2n, 5) become the first row of each node and the one after its last,
   its column, -1 for a leaf, its threshold, and its left child, which the right one follows; `gain` (2n) is by how much
   the squared weights of the classes beside their sum increase. `rows` (n) are 0, 1, ..., `order` (d) likewise. */
PUBLIC void suffice_grow(const int16_t *cells, int64_t n, int64_t d, int64_t k, uint64_t *held, int64_t tries,
                         int64_t least, int64_t drawn, int64_t tree, int32_t *rows, int32_t *order, int32_t *swapped,
                         int64_t *sums, int16_t *cell, uint64_t *sorted, int32_t *room, uint64_t *seeds,
                         int32_t *nodes, double *gain, int64_t *count) {
    int64_t made = 1;
    nodes[0] = 0;
    nodes[1] = (int32_t)n;
    seeds[0] = mixed(GOLDEN * (uint64_t)(tree + 1));
    for (int64_t v = 0; v < made; v++) {
        int32_t *own = nodes + 5 * v, begin = own[0];
        int64_t size = own[1] - begin;
        search best = {.total = sums, .left = sums + k, .least = least, .column = -1, .gain = -1.0};
        for (int64_t i = begin; i < own[1]; i++) {
            int64_t weight = held[i] >> 32, *total = sums + (held[i] & CODE);
            best.weight += weight;
            best.squares += weight * (2 * *total + weight);
            *total += weight;
        }
        if (best.weight >= 2 * least && best.squares < best.weight * best.weight)
            try_columns(&best, cells, n, d, rows + begin, held + begin, size, tries, drawn != 0, seeds[v], order,
                        swapped, cell, sorted, room);
        for (int64_t i = begin; i < own[1]; i++) sums[held[i] & CODE] = 0;
        own[2] = (int32_t)best.column;
        own[3] = own[4] = 0;
        gain[v] = 0.0;
        if (best.column < 0) continue;
        int64_t left =
            part(cells + best.column * n, best.threshold, rows + begin, held + begin, size, room, sorted);
        own[3] = (int32_t)best.threshold;
        own[4] = (int32_t)made;
        gain[v] = best.gain - (double)best.squares / (double)best.weight;
        for (int side = 0; side < 2; side++, made++) {
            nodes[5 * made] = side ? begin + (int32_t)left : begin;
            nodes[5 * made + 1] = side ? own[1] : begin + (int32_t)left;
            seeds[made] = mixed(seeds[v] + (uint64_t)(side + 1));
        }
    }
    *count = made;
}
