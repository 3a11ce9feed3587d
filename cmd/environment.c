/* See environment.h. */
#include "cmd/environment.h"

#include "cmd/config.h"

const struct tp_fact tp_environment[] = {
    {"TMPDIR", "where programs above 32 MiB are kept while they are played"},
    {"TAPOOL_SAMPLES", "another folder for sample:NAME"},
    {"TAPOOL_CUDA_DRIVER", "another library than libcuda.so.1"},
    {"TAPOOL_VALGRIND", "another valgrind to count instructions with; empty: none"},
    {TP_CONFIG_VARIABLE, "another file than " TP_CONFIG_NAME "; empty: none"},
    {"TAPOOL_OPTION", "a value for --option (tapool help config)"},
    {"NO_COLOR", "no colour"},
    {NULL, NULL}};

const struct tp_fact tp_exit_codes[] = {
    {"0", "done"},
    {"1", "a regression was found, or what --fail-on names has happened"},
    {"2", "wrong command line or configuration"},
    {"3", "unusable input"},
    {"4", "the replay failed, a device is missing or lost, or output could not be written"},
    {"5", "inconclusive, where that was asked for: check --inconclusive=fail"},
    {"128+n", "ended by signal n"},
    {NULL, NULL}};
