/* Trees of gradients, their best leaf split first. Gradients and hessians are whole numbers, so that their sums are
   exact, in whatever order, and those of one child are its parent's less the other's.
*/

#include "kernels.h"

#define ROWS 20          /* bits of `hessian` that count rows: a row adds hessian * 2^20 + 1 */
#define ABREAST 4        /* columns summed up at a time */
#define GRADIENTS 0x1p50 /* in which the weights of all rows are counted, to sum whole numbers exactly */
#define HESSIANS 0x1p44
#define BEYOND INT16_MAX /* a threshold above all cells: what is missing is told from what is there */
#define FEW 2            /* rows for each cell of a column, up to which the sums of a node's children are not kept */
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
   (n) are those that count, whose sums are `held`, then those that are sent along, node by node. Of nodes of more than
   `few` rows `table` has the sums by column and cell, `width` each; of others those of some columns at a time, behind
   the tables, of which there are `slots`. `filled` and `cell` have room for the sums of a column that are of any row.
   Of each node are known its sums, what its best split adds, and its slot. Unless `seed` is 0, each node draws one
   threshold of a column. */
typedef struct {
    const int16_t *cells;
    int64_t n, d;
    const int32_t *columns;
    const int64_t *starts;
    int64_t width;
    const sums *held;
    int64_t least_rows, least_hessian, slots, few;
    double l2;
    uint64_t seed;
    int32_t *rows, *room;
    sums *ordered, *table, *filled;
    int32_t *cell;
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

/* Every threshold of a column without missing cells, whose `size` sums that are of any row belong to cells in order.
   Most fall short of the best so far, and are told by products. */
static void find_complete(split *best, const sums *own, const int32_t *cell, int64_t size, sums whole, int32_t column) {
    double l2 = best->l2, all_gradient = (double)whole.gradient;
    double all_hessian = (double)(whole.hessian >> ROWS) + 2.0 * l2;
    int64_t rows = count(whole);
    sums left = {0, 0};
    for (int64_t b = 1; b < size; b++) {
        left = plus(left, own[b - 1]);
        if (count(left) < best->rows) continue;
        if (rows - count(left) < best->rows) break;
        double g = (double)left.gradient, h = (double)(left.hessian >> ROWS) + l2;
        double other = all_gradient - g, rest = all_hessian - h;
        if (g * g * rest + other * other * h >= best->gain * (1.0 - ROUNDING) * (h * rest)) {
            int32_t away = 2 * count(left) <= rows;
            consider(best, left, minus(whole, left), column, (cell[b - 1] + cell[b]) >> 1, away);
        }
    }
}

/* Every threshold of a column, missing cells right and left. */
static void find_missing(split *best, const sums *own, const int32_t *cell, int64_t size, sums missing, sums whole,
                         int32_t column) {
    sums left = {0, 0}, all = minus(whole, missing);
    for (int64_t b = 0; b < size; b++) {
        if (b) {
            int32_t threshold = (cell[b - 1] + cell[b]) >> 1;
            consider(best, left, minus(whole, left), column, threshold, 1);
            consider(best, plus(left, missing), minus(all, left), column, threshold, 0);
        }
        left = plus(left, own[b]);
    }
    consider(best, left, missing, column, BEYOND, 1);
}

/* One threshold of a column of so many cells, drawn evenly between the lowest and the highest that a row has; missing
   cells, whose sums come first, as above. */
static void find_drawn(split *best, const sums *own, int64_t width, sums whole, int32_t column, uint64_t draw) {
    int64_t low = 1, high = width - 1;
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

static inline int has_table(const growing *tree, int32_t v) {
    return tree->slots && count(tree->whole[v]) > tree->few;
}

static inline int64_t cells_of(const growing *tree, int64_t j) {
    return tree->starts[tree->columns[j] + 1] - tree->starts[tree->columns[j]];
}

/* table = the sums of a node's rows by cell, of at most ABREAST columns from the j-th on, those of missing cells first.
   `ordered` has the rows' own. Return where they end. */
static sums *fill(const growing *tree, const node *own, int64_t j, sums *table) {
    const int32_t *rows = tree->rows + own->begin;
    int64_t size = own->end - own->begin, last = least(j + ABREAST, tree->d);
    sums *into[ABREAST], *end = table;
    const int16_t *cells[ABREAST];
    for (int64_t c = 0; j + c < last; c++) {
        into[c] = end + 1;
        cells[c] = tree->cells + tree->columns[j + c] * tree->n;
        end += cells_of(tree, j + c);
    }
    for (sums *at = table; at < end; at++) *at = (sums){0, 0};
    if (last - j == ABREAST)
        for (int64_t i = 0; i < size; i++)
            for (int c = 0; c < ABREAST; c++) {
                sums *at = into[c] + cells[c][rows[i]];
                *at = plus(*at, tree->ordered[i]);
            }
    else
        for (int64_t c = 0; j + c < last; c++)
            for (int64_t i = 0; i < size; i++) {
                sums *at = into[c] + cells[c][rows[i]];
                *at = plus(*at, tree->ordered[i]);
            }
    return end;
}

static void put_in_order(const growing *tree, const node *own) {
    for (int32_t i = own->begin; i < own->end; i++) tree->ordered[i - own->begin] = tree->held[tree->rows[i]];
}

/* Look for a better split of node v by columns from the j-th up to the last, whose sums are in a table. */
static void look(const growing *tree, int32_t v, split *best, int64_t j, int64_t last, const sums *table) {
    sums whole = tree->whole[v], *filled = tree->filled;
    uint64_t draw = mixed(tree->seed + GOLDEN * (uint64_t)v);
    int32_t *cell = tree->cell;
    for (; j < last; j++) {
        int64_t width = cells_of(tree, j), size = 0;
        int32_t column = tree->columns[j];
        for (int32_t b = 1; b < width && !tree->seed; b++) {
            filled[size] = table[b];
            cell[size] = b - 1;
            size += table[b].hessian != 0;
        }
        if (tree->seed)
            find_drawn(best, table, width, whole, column, draw);
        else if (table[0].hessian)
            find_missing(best, filled, cell, size, table[0], whole, column);
        else
            find_complete(best, filled, cell, size, whole, column);
        table += width;
    }
}

/* Find the best split of node v, by a table of its sums or, without one, of some columns at a time, and what it adds;
   -1 for none. */
static void judge(const growing *tree, int32_t v, const sums *table) {
    sums whole = tree->whole[v];
    node *own = tree->nodes + v;
    double alone = worth(whole, tree->l2);
    split best = {alone * (1.0 + ROUNDING), tree->l2, tree->least_rows, tree->least_hessian, -1, 0, 0};
    if (count(whole) >= 2 * best.rows && whole.hessian >> ROWS >= 2 * best.hessian) {
        if (table)
            look(tree, v, &best, 0, tree->d, table);
        else {
            sums *some = tree->table + tree->slots * tree->width;
            put_in_order(tree, own);
            for (int64_t j = 0; j < tree->d; j += ABREAST) {
                fill(tree, own, j, some);
                look(tree, v, &best, j, least(j + ABREAST, tree->d), some);
            }
        }
    }
    own->column = best.column;
    own->threshold = best.threshold;
    own->away = best.away;
    tree->gain[v] = best.column < 0 ? -1.0 : best.gain - alone;
}

/* Fill a table of all columns with the sums of a node. */
static void fill_all(const growing *tree, const node *own, sums *table) {
    put_in_order(tree, own);
    for (int64_t j = 0; j < tree->d; j += ABREAST) table = fill(tree, own, j, table);
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

/* Judge the children u and u + 1 of node v: where it has a table, that of fewer rows is summed up in slot `free`, and the
   other by difference. */
static void judge_children(const growing *tree, int32_t v, int32_t u, int64_t free) {
    int32_t less = count(tree->whole[u + 1]) < count(tree->whole[u]) ? u + 1 : u, more = u + u + 1 - less;
    if (!has_table(tree, v)) {
        judge(tree, less, NULL);
        judge(tree, more, NULL);
        return;
    }
    sums *own = tree->table + free * tree->width, *rest = tree->table + tree->slot[v] * tree->width;
    tree->slot[less] = (int32_t)free;
    tree->slot[more] = tree->slot[v];
    fill_all(tree, tree->nodes + less, own);
    judge(tree, less, own);
    for (int64_t b = 0; b < tree->width; b++) rest[b] = minus(rest[b], own[b]);
    judge(tree, more, rest);
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
    if (has_table(tree, 0)) fill_all(tree, nodes, tree->table);
    judge(tree, 0, has_table(tree, 0) ? tree->table : NULL);
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
   leaves, to whose hessian `l2` is added. `table` has room for one more than `slots` times the cells of all columns,
   `slots` as many as leaves, or 0; `filled` and `cell` for the cells of all columns; of `gain` and `slot` there is room for twice as many, of `nodes`, `whole` and `values` for as many in each
   tree. What nodes add to a score becomes `values`, `made` how many each tree has, and `along` (rounds, k, n - inside)
   what the rows that are sent along score after each round. */
PUBLIC void suffice_boost(const int16_t *cells, int64_t n, int64_t d, const int32_t *columns, const int64_t *starts,
                          const int64_t *codes, const double *heavy, int64_t inside, int64_t k,
                          double *scores, double rate, int64_t rounds, const uint8_t *some, const int64_t *seeds,
                          int64_t most, int64_t least_rows, int64_t least_hessian, int64_t l2, int64_t slots,
                          double *share, sums *held, int32_t *rows, int32_t *room, sums *ordered, sums *table,
                          sums *filled, int32_t *cell,
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
            int64_t width = 0;
            for (int64_t j = 0; j < d; j++) width += starts[columns[j] + 1] - starts[columns[j]];
            growing tree = {cells, n, d, columns, starts, width, held, least_rows, least_hessian, slots, FEW * width / d,
                            (double)l2, (uint64_t)seeds[round], rows, room, ordered, table, filled, cell, nodes, whole,
                            gain, slot};
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
