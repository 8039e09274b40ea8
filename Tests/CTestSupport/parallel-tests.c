#include "CTestSupport.h"

#include <stdlib.h>

/// Bounds how many tests run at once, before Swift Testing reads its settings.
///
/// Swift Testing starts every test of the process at once. Tests that wait for sockets and children then starve beside
/// hundreds that compute. A variable that is set already wins, and `--no-parallel` still runs one test at a time.
__attribute__((constructor)) static void bound_parallel_tests(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "4", 0);
}
