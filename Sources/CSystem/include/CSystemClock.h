#pragma once
#include <stdint.h>

/// time(2): whole seconds since 1970, UTC. For LiveEffects alone.
int64_t csystem_wall_clock_seconds(void);
