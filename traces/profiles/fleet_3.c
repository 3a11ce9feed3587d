/* Profile `fleet-3`; common/fleet.c has all ten. */
#include "traces/profiles/common/fleet.h"

TP_FLEET_PROFILE(3);
