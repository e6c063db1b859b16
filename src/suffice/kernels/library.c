/* Which version of these files was compiled. */

#include "kernels.h"

PUBLIC uint32_t suffice_digest(void) { return (uint32_t)(DIGEST); }
