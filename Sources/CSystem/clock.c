#include "CSystemClock.h"

#include <time.h>

int64_t csystem_wall_clock_seconds(void) { return time(NULL); }
