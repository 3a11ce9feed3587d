/* Profile `fleet-4`; common/fleet.c has all ten. */
#include "traces/profiles/common/fleet.h"

TP_FLEET_PROFILE(4);
