/* Trees of gradients, their best leaf split first. Gradients and hessians are whole numbers, so that their sums are
   exact, in whatever order, and those of one child are its parent's less the other's.
*/

#include "kernels.h"

#define ROWS 20          /* bits of `hessian` that count rows: a row adds hessian * 2^20 + 1 */
#define ABREAST 4        /* columns summed up at a time */
#define GRADIENTS 0x1p50 /* in which the weights of all rows are counted, to sum whole numbers exactly */
#define HESSIANS 0x1p44
#define BEYOND INT16_MAX /* a threshold above all cells: what is missing is told from what is there */
#define ROUNDING 1e-9    /* what a split must add to what its node is worth, relative */

typedef struct {
    int64_t gradient, hessian;
} sums;

/* A node: its column, -1 for a leaf, the threshold, whether missing cells go right, its left child, which the right one
   follows, and its rows: those that count from `begin`, those that are sent along from `first`. */
typedef struct {
    int32_t column, threshold, away, left, begin, end, first, last;
} node;

/* The best split so far, and what its children must have. */
typedef struct {
    double gain, l2;
    int64_t rows, hessian;
    int32_t column, threshold, away;
} split;

/* A tree that grows on `d` of the columns (·, n) of cells, those of column j below starts[j + 1] - starts[j] - 1. `rows`
   (n) are those that count, whose sums are `held`, then those that are sent along, node by node. `table` has room for
   the sums by column and cell of `slots` nodes, `width` each; of each node are known its sums, what its best split adds,
   and its slot. Unless `seed` is 0, each node draws one threshold of a column. */
typedef struct {
    const int16_t *cells;
    int64_t n, d;
    const int32_t *columns;
    const int64_t *starts;
    int64_t width;
    const sums *held;
    int64_t least_rows, least_hessian, slots;
    double l2;
    uint64_t seed;
    int32_t *rows, *room;
    sums *ordered, *table;
    node *nodes;
    sums *whole;
    double *gain;
    int32_t *slot;
} growing;

static inline sums plus(sums a, sums b) { return (sums){a.gradient + b.gradient, a.hessian + b.hessian}; }
static inline sums minus(sums a, sums b) { return (sums){a.gradient - b.gradient, a.hessian - b.hessian}; }
static inline int64_t count(sums own) { return own.hessian & ((1 << ROWS) - 1); }
static inline double worth(sums own, double l2) {
    double g = (double)own.gradient, h = (double)(own.hessian >> ROWS) + l2;
    return g * g / h;
}

static inline void consider(split *best, sums left, sums right, int32_t column, int32_t threshold, int32_t away) {
    if (count(left) < best->rows || count(right) < best->rows) return;
    if (left.hessian >> ROWS < best->hessian || right.hessian >> ROWS < best->hessian) return;
    double gain = worth(left, best->l2) + worth(right, best->l2);
    if (gain > best->gain) {
        best->gain = gain;
        best->column = column;
        best->threshold = threshold;
        best->away = away;
    }
}

/* Every threshold of a column without missing cells. Most fall short of the best so far, and are told by products. */
static void find_complete(split *best, const sums *own, int64_t width, sums whole, int32_t column) {
    double l2 = best->l2, all_gradient = (double)whole.gradient;
    double all_hessian = (double)(whole.hessian >> ROWS) + 2.0 * l2;
    int64_t before = 0, rows = count(whole);
    sums left = {0, 0};
    for (int64_t b = 1; b < width; b++) {
        if (count(left) >= best->rows) {
            if (rows - count(left) < best->rows) break;
            double g = (double)left.gradient, h = (double)(left.hessian >> ROWS) + l2;
            double other = all_gradient - g, rest = all_hessian - h;
            if (g * g * rest + other * other * h >= best->gain * (1.0 - ROUNDING) * (h * rest) && own[b].hessian) {
                int32_t away = 2 * count(left) <= rows;
                consider(best, left, minus(whole, left), column, (int32_t)((before + b - 2) >> 1), away);
            }
        }
        left = plus(left, own[b]);
        before = own[b].hessian ? b : before;
    }
}

/* Every threshold of a column, missing cells right and left; the sums of these come first. */
static void find_missing(split *best, const sums *own, int64_t width, sums whole, int32_t column) {
    sums missing = own[0], left = {0, 0}, all = minus(whole, missing);
    int64_t before = 0;
    for (int64_t b = 1; b < width; b++) {
        if (!own[b].hessian) continue;
        if (before) {
            int32_t threshold = (int32_t)((before + b - 2) >> 1);
            consider(best, left, minus(whole, left), column, threshold, 1);
            consider(best, plus(left, missing), minus(all, left), column, threshold, 0);
        }
        left = plus(left, own[b]);
        before = b;
    }
    consider(best, left, missing, column, BEYOND, 1);
}

/* One threshold of a column, drawn evenly between the lowest and the highest cell; missing cells as above. */
static void find_drawn(const growing *tree, split *best, const sums *table, sums whole, int32_t column, uint64_t draw) {
    const sums *own = table + tree->starts[column];
    int64_t low = 1, high = tree->starts[column + 1] - tree->starts[column] - 1;
    while (low < high && !own[low].hessian) low++;
    while (low < high && !own[high].hessian) high--;
    sums missing = own[0], left = {0, 0};
    if (low < high) {
        int32_t threshold = (int32_t)(low + (int64_t)(mixed(draw + (uint64_t)column) % (uint64_t)(high - low))) - 1;
        for (int64_t b = low; b <= threshold + 1; b++) left = plus(left, own[b]);
        int32_t away = missing.hessian || 2 * count(left) <= count(whole);
        consider(best, left, minus(whole, left), column, threshold, away);
        if (missing.hessian)
            consider(best, plus(left, missing), minus(minus(whole, missing), left), column, threshold, 0);
    }
    if (missing.hessian) consider(best, minus(whole, missing), missing, column, BEYOND, 1);
}

/* table = the sums of a node's rows by column and cell. */
static void fill(const growing *tree, const node *own, sums *table) {
    const int32_t *rows = tree->rows + own->begin;
    int64_t n = tree->n, d = tree->d, size = own->end - own->begin, j = 0;
    for (int64_t b = 0; b < tree->width; b++) table[b] = (sums){0, 0};
    for (int64_t i = 0; i < size; i++) tree->ordered[i] = tree->held[rows[i]];
    for (; j + ABREAST <= d; j += ABREAST) {
        sums *into[ABREAST];
        const int16_t *cells[ABREAST];
        for (int c = 0; c < ABREAST; c++) {
            into[c] = table + tree->starts[tree->columns[j + c]] + 1;
            cells[c] = tree->cells + tree->columns[j + c] * n;
        }
        for (int64_t i = 0; i < size; i++) {
            sums row = tree->ordered[i];
            int64_t at_row = rows[i];
            for (int c = 0; c < ABREAST; c++) {
                sums *at = into[c] + cells[c][at_row];
                *at = plus(*at, row);
            }
        }
    }
    for (; j < d; j++) {
        sums *into = table + tree->starts[tree->columns[j]] + 1;
        const int16_t *cells = tree->cells + tree->columns[j] * n;
        for (int64_t i = 0; i < size; i++) {
            sums *at = into + cells[rows[i]];
            *at = plus(*at, tree->ordered[i]);
        }
    }
}

/* Find the best split of node v, given the sums of its rows by column and cell, and what it adds; -1 for none. */
static void judge(const growing *tree, int32_t v, const sums *table) {
    sums whole = tree->whole[v];
    node *own = tree->nodes + v;
    double alone = worth(whole, tree->l2);
    split best = {alone * (1.0 + ROUNDING), tree->l2, tree->least_rows, tree->least_hessian, -1, 0, 0};
    if (count(whole) >= 2 * best.rows && whole.hessian >> ROWS >= 2 * best.hessian) {
        uint64_t draw = mixed(tree->seed + GOLDEN * (uint64_t)v);
        for (int64_t i = 0; i < tree->d && tree->seed; i++) find_drawn(tree, &best, table, whole, tree->columns[i], draw);
        for (int64_t i = 0; i < tree->d && !tree->seed; i++) {
            int32_t j = tree->columns[i];
            const sums *cells = table + tree->starts[j];
            int64_t width = tree->starts[j + 1] - tree->starts[j];
            (cells->hessian ? find_missing : find_complete)(&best, cells, width, whole, j);
        }
    }
    own->column = best.column;
    own->threshold = best.threshold;
    own->away = best.away;
    tree->gain[v] = best.column < 0 ? -1.0 : best.gain - alone;
}

/* Put rows that go left before the others, each in their order, and return how many they are. */
static int32_t part(const growing *tree, const node *own, int32_t begin, int32_t end) {
    const int16_t *cells = tree->cells + own->column * tree->n;
    int32_t left = begin, right = 0;
    for (int32_t i = begin; i < end; i++) {
        int32_t row = tree->rows[i];
        int16_t cell = cells[row];
        int goes_right = (cell < 0) ? own->away : cell > own->threshold;
        tree->rows[left] = tree->room[right] = row;
        left += !goes_right;
        right += goes_right;
    }
    for (int32_t i = 0; i < right; i++) tree->rows[left + i] = tree->room[i];
    return left;
}

/* Split node v; its children are nodes u and u + 1. */
static void divide(const growing *tree, int32_t v, int32_t u) {
    node *own = tree->nodes + v;
    int32_t middle = part(tree, own, own->begin, own->end), along = part(tree, own, own->first, own->last);
    own->left = u;
    tree->nodes[u] = (node){-1, 0, 0, 0, own->begin, middle, own->first, along};
    tree->nodes[u + 1] = (node){-1, 0, 0, 0, middle, own->end, along, own->last};
    int32_t few = own->end - middle < middle - own->begin ? u + 1 : u, many = u + u + 1 - few;
    sums total = {0, 0};
    const node *small = tree->nodes + few;
    for (int32_t i = small->begin; i < small->end; i++) total = plus(total, tree->held[tree->rows[i]]);
    tree->whole[few] = total;
    tree->whole[many] = minus(tree->whole[v], total);
    tree->gain[v] = tree->gain[u] = tree->gain[u + 1] = -1.0;
}

/* Judge the children u and u + 1 of node v: that of fewer rows is summed up in slot `free`, the other by difference. */
static void judge_children(const growing *tree, int32_t v, int32_t u, int64_t free) {
    int32_t few = count(tree->whole[u + 1]) < count(tree->whole[u]) ? u + 1 : u, many = u + u + 1 - few;
    int64_t width = tree->width;
    sums *less = tree->table, *rest = tree->table;
    if (tree->slots > 1) {
        less += free * width;
        rest += tree->slot[v] * width;
        tree->slot[few] = (int32_t)free;
        tree->slot[many] = tree->slot[v];
    }
    fill(tree, tree->nodes + few, less);
    judge(tree, few, less);
    if (tree->slots > 1)
        for (int64_t b = 0; b < width; b++) rest[b] = minus(rest[b], less[b]);
    else
        fill(tree, tree->nodes + many, rest);
    judge(tree, many, rest);
}

/* Grow a tree of at most `most` leaves on the first `inside` of the rows; how many nodes it has. `ends` (n) becomes the
   node in which each row ends. */
static int32_t grow(const growing *tree, int64_t inside, int64_t most, int32_t *ends) {
    node *nodes = tree->nodes;
    int32_t next = 1;
    nodes[0] = (node){-1, 0, 0, 0, 0, (int32_t)inside, (int32_t)inside, (int32_t)tree->n};
    tree->whole[0] = (sums){0, 0};
    for (int64_t i = 0; i < inside; i++) tree->whole[0] = plus(tree->whole[0], tree->held[tree->rows[i]]);
    tree->slot[0] = 0;
    fill(tree, nodes, tree->table);
    judge(tree, 0, tree->table);
    for (int64_t leaves = 1; leaves < most; leaves++, next += 2) {
        int32_t v = 0;
        for (int32_t u = 1; u < next; u++)
            if (tree->gain[u] > tree->gain[v]) v = u;
        if (tree->gain[v] < 0) break;
        divide(tree, v, next);
        if (leaves + 1 < most) judge_children(tree, v, next, leaves);
    }
    for (int32_t v = 0; v < next; v++) {
        if (nodes[v].left) continue;
        nodes[v].column = -1;
        for (int32_t i = nodes[v].begin; i < nodes[v].end; i++) ends[tree->rows[i]] = v;
        for (int32_t i = nodes[v].first; i < nodes[v].last; i++) ends[tree->rows[i]] = v;
    }
    return next;
}

/* share (k, inside) = the softmax of scores (k, n); of one score that of two, of which the first is 0. */
static void probabilities(const double *scores, int64_t k, int64_t n, int64_t inside, double *share) {
    for (int64_t i = 0; i < inside; i++) {
        double most = k == 1 ? 0.0 : scores[i], total = 0.0;
        for (int64_t c = 0; c < k; c++) most = scores[c * n + i] > most ? scores[c * n + i] : most;
        if (k == 1) total = exp(-most);
        for (int64_t c = 0; c < k; c++) total += share[c * inside + i] = exp(scores[c * n + i] - most);
        for (int64_t c = 0; c < k; c++) share[c * inside + i] /= total;
    }
}

/* held = gradients and hessians of the rows whose class is `own`, and of the others, as whole numbers; see
   `forest.boosting`. */
static void derivatives(const double *p, const int64_t *codes, const double *heavy, int64_t inside, int64_t own,
                        sums *held) {
    for (int64_t i = 0; i < inside; i++) {
        held[i].gradient = llrint((p[i] - (double)(codes[i] == own)) * heavy[i] * GRADIENTS);
        held[i].hessian = llrint(p[i] * (1.0 - p[i]) * heavy[i] * HESSIANS) * (1 << ROWS) + 1;
    }
}

/* Boost so many `rounds` of a tree for each of k scores (k, n), that of two classes or those of k. The first `inside` of
   the rows have class numbers `codes` and weights `heavy`; of these `some` (rounds, inside) count in each round, unless
   none are given, which asks d `columns` (rounds, d) and draws thresholds by `seeds` (rounds). Trees have at most `most`
   leaves, to whose hessian `l2` is added. `slots` are as many as leaves, or one, of so many sums as the `width` of all
   columns; of `gain` and `slot` there is room for twice as many, of `nodes`, `whole` and `values` for as many in each
   tree. What nodes add to a score becomes `values`, `made` how many each tree has, and `along` (rounds, k, n - inside)
   what the rows that are sent along score after each round. */
PUBLIC void suffice_boost(const int16_t *cells, int64_t n, int64_t d, const int32_t *columns, const int64_t *starts,
                          int64_t width, const int64_t *codes, const double *heavy, int64_t inside, int64_t k,
                          double *scores, double rate, int64_t rounds, const uint8_t *some, const int64_t *seeds,
                          int64_t most, int64_t least_rows, int64_t least_hessian, int64_t l2, int64_t slots,
                          double *share, sums *held, int32_t *rows, int32_t *room, sums *ordered, sums *table,
                          double *gain, int32_t *slot, int32_t *ends, node *nodes, sums *whole, double *values,
                          int64_t *made, double *along) {
    int64_t others = n - inside;
    for (int64_t round = 0; round < rounds; round++) {
        probabilities(scores, k, n, inside, share);
        for (int64_t c = 0; c < k; c++) {
            int64_t counted = 0, next = 0;
            for (int64_t i = 0; i < inside; i++) counted += !some || some[i];
            next = counted;
            counted = 0;
            for (int32_t i = 0; i < n; i++) rows[i < inside && (!some || some[i]) ? counted++ : next++] = i;
            derivatives(share + c * inside, codes, heavy, inside, k == 1 ? 1 : c, held);
            growing tree = {cells, n,     d,    columns, starts, width, held,  least_rows, least_hessian, slots,
                            (double)l2, (uint64_t)seeds[round], rows, room, ordered, table, nodes, whole, gain, slot};
            int32_t size = grow(&tree, counted, most, ends);
            for (int32_t v = 0; v < size; v++) {
                double h = (double)((whole[v].hessian >> ROWS) + l2) / HESSIANS;
                double ratio = (double)whole[v].gradient / GRADIENTS / (h > 1e-300 ? h : 1e-300);
                values[v] = whole[v].hessian >> ROWS ? -rate * ratio : 0.0;
            }
            for (int64_t i = 0; i < n; i++) scores[c * n + i] += values[ends[i]];
            nodes += size;
            whole += size;
            values += size;
            *made++ = size;
        }
        for (int64_t c = 0; c < k; c++)
            for (int64_t i = 0; i < others; i++) *along++ = scores[c * n + inside + i];
        columns += d;
        if (some) some += inside;
    }
}
