/* What all loops share. Those over trees, knots and counts do what a twin in Python does, addition by addition, so that
   answers are the same to the last bit (compiled without contraction of products and sums). Nothing is allocated, and
   nothing read beyond the sizes given: callers check that arrays are contiguous where they must be and that nodes lead
   to nodes of the same tree.
*/

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define NEAR 512 /* rows that all trees or columns are asked about before the next ones: they stay near the processor */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline double dot(const double *a, const double *b, int64_t n) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0}, rest = 0.0;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int t = 0; t < 4; t++) sums[t] += a[i + t] * b[i + t];
    for (; i < n; i++) rest += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest;
}

/* A bijection that spreads every bit over all: `stats.rows.mixed`. */
static inline uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* A node asks for the cell in column `ask >> 1` and goes on to child[0] where cell + (ask & 1), read as unsigned, is at
   most `most`, else to child[1]. A missing cell is -1: with ask & 1 it is 0 and goes left, without it is the largest
   number and goes right. A leaf leads to itself. */
typedef struct {
    uint16_t ask, most, child[2];
} tree_node;
