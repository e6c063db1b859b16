/* What all loops share. Each does what its twin in Python does, addition by addition, so that answers are the same to
   the last bit (compiled without contraction of products and sums). Nothing is allocated, and nothing read beyond the
   sizes given: callers check that arrays are contiguous where they must be and that nodes lead to nodes of the same
   tree.
*/

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

#define NEAR 512 /* rows that all trees or columns are asked about before the next ones: they stay near the processor */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
