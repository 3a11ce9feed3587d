/* Included in every translation unit by CMake (-include), so that calls that overflow buffers or
 * hide errors do not compile. Use snprintf, memcpy, strtoull with a check, localtime_r. */
#ifndef TP_BANNED_H
#define TP_BANNED_H

/* the headers that declare the banned calls come first, so that only uses are caught */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol localtime gmtime

#endif
