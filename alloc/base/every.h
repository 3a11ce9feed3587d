/* Numbers that stand for all streams, and for all devices, where otherwise one is named. */
#ifndef TP_EVERY_H
#define TP_EVERY_H

#include <stdint.h>

#define TP_ALL_STREAMS UINT16_MAX
/* Of a SYNC of all streams, of RESET and of TRIM; only where a program has several devices. */
#define TP_ALL_DEVICES UINT16_MAX

#endif
