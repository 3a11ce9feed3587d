/* Steps (alloc/base/steps.h) are counted in what is included after this. */
#ifndef TP_TEST_COUNTED_STEPS_H
#define TP_TEST_COUNTED_STEPS_H

static unsigned long long steps;
#define TP_STEP() ((void)steps++)

#endif
