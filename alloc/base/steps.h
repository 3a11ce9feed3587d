/* TP_STEP marks one step of a table, a tree or a search that hostile input could make long. A test
 * that counts steps defines TP_STEP before it includes the code under test; elsewhere the macro
 * does nothing. */
#ifndef TP_STEPS_H
#define TP_STEPS_H

#ifndef TP_STEP
#define TP_STEP() ((void)0)
#endif

#endif
