/* Trees of gradients, their best leaf split first. Gradients and hessians are whole numbers, so that their sums are
   exact, in whatever order, and those of one child are its parent's less the other's.
*/

#include "kernels.h"

#define ROWS 20          /* bits of `hessian` that count rows: a row adds hessian * 2^20 + 1 */
#define ABREAST 4        /* columns summed up at a time */
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
    double gain;
    int64_t rows, hessian;
    int32_t column, threshold, away;
} split;

/* A tree that grows on columns (d, n) of cells, those of column j below starts[j + 1] - starts[j] - 1. `rows` (n) are
   those that count, whose sums are `held`, then those that are sent along, node by node. `table` has room for the sums
   by column and cell of `slots` nodes; of each node are known its sums, what its best split adds, and its slot. */
typedef struct {
    const int16_t *cells;
    int64_t n, d;
    const int64_t *starts;
    const sums *held;
    int64_t least_rows, least_hessian, slots;
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
static inline double worth(sums own) {
    double g = (double)own.gradient, h = (double)(own.hessian >> ROWS);
    return g * g / h;
}

static inline void consider(split *best, sums left, sums right, int32_t column, int32_t threshold, int32_t away) {
    if (count(left) < best->rows || count(right) < best->rows) return;
    if (left.hessian >> ROWS < best->hessian || right.hessian >> ROWS < best->hessian) return;
    double gain = worth(left) + worth(right);
    if (gain > best->gain) {
        best->gain = gain;
        best->column = column;
        best->threshold = threshold;
        best->away = away;
    }
}

/* Every threshold of a column without missing cells. Most fall short of the best so far, and are told by products. */
static void find_complete(split *best, const sums *own, int64_t width, sums whole, int32_t column) {
    double all_gradient = (double)whole.gradient, all_hessian = (double)(whole.hessian >> ROWS);
    int64_t before = 0, rows = count(whole);
    sums left = {0, 0};
    for (int64_t b = 1; b < width; b++) {
        if (count(left) >= best->rows) {
            if (rows - count(left) < best->rows) break;
            double g = (double)left.gradient, h = (double)(left.hessian >> ROWS);
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

/* table = the sums of a node's rows by column and cell. */
static void fill(const growing *tree, const node *own, sums *table) {
    const int32_t *rows = tree->rows + own->begin;
    int64_t n = tree->n, d = tree->d, size = own->end - own->begin, j = 0;
    for (int64_t b = 0; b < tree->starts[d]; b++) table[b] = (sums){0, 0};
    for (int64_t i = 0; i < size; i++) tree->ordered[i] = tree->held[rows[i]];
    for (; j + ABREAST <= d; j += ABREAST) {
        sums *into[ABREAST];
        for (int c = 0; c < ABREAST; c++) into[c] = table + tree->starts[j + c] + 1;
        for (int64_t i = 0; i < size; i++) {
            sums row = tree->ordered[i];
            const int16_t *cell = tree->cells + j * n + rows[i];
            for (int c = 0; c < ABREAST; c++) {
                sums *at = into[c] + cell[c * n];
                *at = plus(*at, row);
            }
        }
    }
    for (; j < d; j++) {
        sums *into = table + tree->starts[j] + 1;
        for (int64_t i = 0; i < size; i++) {
            sums *at = into + tree->cells[j * n + rows[i]];
            *at = plus(*at, tree->ordered[i]);
        }
    }
}

/* Find the best split of node v, given the sums of its rows by column and cell, and what it adds; -1 for none. */
static void judge(const growing *tree, int32_t v, const sums *table) {
    sums whole = tree->whole[v];
    node *own = tree->nodes + v;
    split best = {worth(whole) * (1.0 + ROUNDING), tree->least_rows, tree->least_hessian, -1, 0, 0};
    if (count(whole) >= 2 * best.rows && whole.hessian >> ROWS >= 2 * best.hessian) {
        for (int64_t j = 0; j < tree->d; j++) {
            const sums *cells = table + tree->starts[j];
            int64_t width = tree->starts[j + 1] - tree->starts[j];
            (cells->hessian ? find_missing : find_complete)(&best, cells, width, whole, (int32_t)j);
        }
    }
    own->column = best.column;
    own->threshold = best.threshold;
    own->away = best.away;
    tree->gain[v] = best.column < 0 ? -1.0 : best.gain - worth(whole);
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
    int64_t width = tree->starts[tree->d];
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

/* Grow a tree of at most `most` leaves on the first `inside` of the rows. `slots` are as many as leaves, or one; of
   `nodes`, `whole`, `gain` and `slot` there is room for twice as many. `ends` (n) becomes the node in which each row
   ends. */
PUBLIC void suffice_boost(const int16_t *cells, int64_t n, int64_t d, const int64_t *starts, const sums *held,
                          int64_t inside, int64_t most, int64_t least_rows, int64_t least_hessian, int64_t slots,
                          int32_t *rows, int32_t *room, sums *ordered, sums *table, node *nodes, sums *whole,
                          double *gain, int32_t *slot, int32_t *ends, int64_t *made) {
    growing tree = {cells, n,    d,       starts, held,  least_rows, least_hessian, slots,
                    rows,  room, ordered, table,  nodes, whole,      gain,          slot};
    int32_t next = 1;
    nodes[0] = (node){-1, 0, 0, 0, 0, (int32_t)inside, (int32_t)inside, (int32_t)n};
    whole[0] = (sums){0, 0};
    for (int64_t i = 0; i < inside; i++) whole[0] = plus(whole[0], held[rows[i]]);
    slot[0] = 0;
    fill(&tree, nodes, table);
    judge(&tree, 0, table);
    for (int64_t leaves = 1; leaves < most; leaves++, next += 2) {
        int32_t v = 0;
        for (int32_t u = 1; u < next; u++)
            if (gain[u] > gain[v]) v = u;
        if (gain[v] < 0) break;
        divide(&tree, v, next);
        if (leaves + 1 < most) judge_children(&tree, v, next, leaves);
    }
    for (int32_t v = 0; v < next; v++) {
        if (nodes[v].left) continue;
        nodes[v].column = -1;
        for (int32_t i = nodes[v].begin; i < nodes[v].end; i++) ends[rows[i]] = v;
        for (int32_t i = nodes[v].first; i < nodes[v].last; i++) ends[rows[i]] = v;
    }
    *made = next;
}
