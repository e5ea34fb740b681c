#pragma once
#include <stdint.h>

/// time(2): whole seconds since 1970, UTC. Only LiveEffects calls this.
int64_t csystem_wall_clock_seconds(void);
