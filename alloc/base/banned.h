/* Forced into every translation unit (CMake: -include): calls that overflow, or that lie about
 * errors, do not compile. Use snprintf, memcpy, strtoull with a check, localtime_r. */
#ifndef TP_BANNED_H
#define TP_BANNED_H

/* the headers that declare them come first, so that only uses are caught */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol localtime gmtime

#endif
