/* What marks a name as part of the interface for plug-ins: headers between these marks are
 * installed, may be included from C++, and the tapool executable exports what is TP_API. */
#ifndef TP_API_H
#define TP_API_H

#define TP_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define TP_API_BEGIN extern "C" {
#define TP_API_END   }
#else
#define TP_API_BEGIN
#define TP_API_END
#endif

#endif
