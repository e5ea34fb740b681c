#pragma once
#include "CSystemClock.h"
#include "CSystemFiles.h"
