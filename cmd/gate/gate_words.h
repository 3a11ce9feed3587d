/* Words and figures of a gate's findings that several of its writers show. Every text is clean:
 * valid UTF-8 without control characters, long names are cut. */
#ifndef TP_GATE_WORDS_H
#define TP_GATE_WORDS_H

#include "alloc/base/str.h"
#include "cmd/gate/gate.h"

/* A line by value, as struct tp_text. What does not fit ends in "...". */
struct tp_gate_line {
    char s[1000];
};

/* Adds to a line, as printf writes. */
#define tp_gate_add(line, ...) tp_append((line)->s, sizeof(line)->s, __VA_ARGS__)

/* "regression", "better", "unchanged", "inconclusive", "insensitive". */
extern const char *const tp_verdict_words[TP_VERDICTS];

/* "memory and counts", "instructions", "latency". */
extern const char *const tp_class_words[TP_CLASS_REPORT];

/* As --require names them, in the same order; NULL-terminated. */
extern const char *const tp_class_required[TP_CLASS_REPORT + 1];

/* A name that others chose, cut after some 160 bytes. */
struct tp_gate_line tp_gate_name(const char *name);

/* "web.tpt, arena", and ", virtual" where the source tells cells apart. */
struct tp_gate_line tp_gate_cell_text(const struct tp_gate *g, const struct tp_gate_cell *cell);

/* "131.4 -> 137.9 MiB"; of an option what stands behind the colon of its note. */
struct tp_gate_line tp_finding_values(const struct tp_finding *f);

/* Both directions apart: the p of the one that the finding is about. */
double tp_finding_p(const struct tp_finding *f, bool adjusted);

/* "[+8.1, +12.0]" in percent; "" where there is none. */
struct tp_text tp_finding_interval(const struct tp_finding *f);
struct tp_text tp_finding_proof(const struct tp_finding *f); /* "[+8.1, +12.0] p<0.001" */

/* The note, but for an option, whose note is its name and values; "" where there is none. */
struct tp_gate_line tp_finding_note(const struct tp_finding *f);

/* "web.tpt, arena: peak_reserved 131.4 -> 137.9 MiB (+4.9 %), allowed: 0". */
struct tp_gate_line tp_finding_sentence(const struct tp_gate *g, const struct tp_finding *f);

/* All that the verdict rests on, one line: estimate, interval, p raw and adjusted, pairs, medians,
 * threshold. */
struct tp_gate_line tp_finding_evidence(const struct tp_gate *g, const struct tp_finding *f);

/* Inconclusive, and it could have been a regression. */
bool tp_finding_could_gate(const struct tp_gate *g, const struct tp_finding *f);

/* Inconclusive, and worth a line: of a PASS what could have gated, else all. */
bool tp_finding_is_open(const struct tp_gate *g, const struct tp_finding *f);

/* "holds 4.9 % more memory", "peak_carved +4.9 %", "option arena_size". */
struct tp_gate_line tp_cause_text(const struct tp_cause *c);

/* "peak_reserved 131.4 -> 137.9 MiB", without a name that tp_cause_text has; a note's words. */
struct tp_gate_line tp_cause_values(const struct tp_cause *c);

/* "allowed: 0", "allowed: +5 %  [+8.1, +12.0] p<0.001"; of what is better the proof alone; "". */
struct tp_gate_line tp_cause_rule(const struct tp_cause *c);

/* The figures that moved with it: "end_reserved +4.9 %, overhead +4.8 % and 3 more"; "". */
struct tp_gate_line tp_cause_folded(const struct tp_cause *c);

/* All of that, with its cell. */
struct tp_gate_line tp_cause_sentence(const struct tp_gate *g, const struct tp_cause *c);

/* Metrics of class N say on what they were measured. */
bool tp_finding_is_timed(const struct tp_finding *f);

/* An error or a signal ended the check before all of it was done, or what it found is not where it
 * was to be written. */
bool tp_gate_is_unfinished(const struct tp_gate *g);

/* --require asks for the class, and it was not checked, or not in every cell that was run and that
 * the base build knows. */
bool tp_class_unmet(const struct tp_gate *g, enum tp_class class);

/* Checked, but not in every cell that it could be. */
bool tp_class_is_partial(const struct tp_gate *g, enum tp_class class);

/* Why a gate failed though nothing got worse: what --require asks for was not checked, nothing was,
 * or cells of the baseline were not run; the error that ended it; "" otherwise. */
struct tp_gate_line tp_gate_unmet(const struct tp_gate *g);

/* The verdict: one line of fixed grammar, whole in every form, on the screen the only one that
 * begins with its word. "FAIL: 2 regressions, 1 better, 99 unchanged, 0 inconclusive; 6 of 6
 * cells". PASS, FAIL, INCONCLUSIVE, or UNFINISHED where an error or a signal ended the check before
 * a regression was found. */
struct tp_gate_line tp_gate_verdict(const struct tp_gate *g);

/* How small a slowdown this job would have seen; "" where it compared no times. */
struct tp_gate_line tp_gate_sharpness_text(const struct tp_gate *g);

/* "NOT CHECKED: valgrind is not installed: apt install valgrind"; of a class that was checked in
 * some cells only "not in every cell: ..."; "" where all is checked. */
struct tp_gate_line tp_class_unchecked(const struct tp_class_check *c);

struct tp_text tp_gate_time(uint64_t ns); /* "3 min 02 s" */

#endif
