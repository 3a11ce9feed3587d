/* A step of the work in a table, a tree or a search that hostile input could make long. A test that
 * counts them defines TP_STEP before it includes what it counts in; otherwise they are nothing. */
#ifndef TP_STEPS_H
#define TP_STEPS_H

#ifndef TP_STEP
#define TP_STEP() ((void)0)
#endif

#endif
