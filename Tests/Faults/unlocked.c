// For LD_PRELOAD: every flock succeeds and locks nothing.
int flock(int descriptor, int operation) { return 0; }
