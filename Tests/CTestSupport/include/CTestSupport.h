// The bound on how many tests run at once; see parallel-tests.c. Nothing is declared: linking is enough.
