#pragma once
#include "CSystemFiles.h"
