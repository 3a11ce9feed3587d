/* Processes that the code under test leaves behind. Those in the group of the child in which it
 * ran end with that group. One that made a session of its own does not; but where this process
 * adopts what has lost its parent, it is found among this process's children:
 *
 *     tapool --- child --- left behind      the child ends
 *     tapool ------------- left behind      and tapool finds it
 *
 * Whoever started tapool may have given it children, too, which are left alone: a process counts as
 * left behind only if it runs the same executable as this one, in another session. Known weakness:
 * one that only made a group of its own, or that runs another program, is not found, and nothing is
 * where the kernel does not list a process's children or this process is killed. */
#ifndef TP_LEFT_BEHIND_H
#define TP_LEFT_BEHIND_H

#include <sys/types.h>

/* From now on this process adopts what its children leave behind. To be called before a child is
 * started that runs code under test. */
void tp_left_behind_adopt(void);

/* Ends what a child has left behind that has ended, was in `group`, and is not taken off yet. Those
 * of its group are only taken off: who calls this has ended them. */
void tp_left_behind_end(pid_t group);

#endif
