#pragma once
#include "CSystemClock.h"
#include "CSystemEvents.h"
#include "CSystemFiles.h"
#include "CSystemKeys.h"
#include "CSystemMapped.h"
#include "CSystemNetwork.h"
#include "CSystemProgram.h"
