/* What is documented in more than one place: `tapool help` and the man page. */
#ifndef TP_ENVIRONMENT_H
#define TP_ENVIRONMENT_H

struct tp_fact {
    const char *name;
    const char *help; /* a few words, lower case */
};

/* Variables that are no option's, in the order of the help; ends with a NULL name. */
extern const struct tp_fact tp_environment[];

/* What the exit codes mean; ends with a NULL name. */
extern const struct tp_fact tp_exit_codes[];

#endif
