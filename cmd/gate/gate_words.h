/* Words and figures that several writers of a gate's findings show. Every text is valid UTF-8
 * without control characters, and long names are cut. */
#ifndef TP_GATE_WORDS_H
#define TP_GATE_WORDS_H

#include "alloc/base/str.h"
#include "cmd/gate/gate.h"

/* A line that is passed by value, longer than struct tp_text. A text that does not fit ends in
 * "...". */
struct tp_gate_line {
    char s[1000];
};

/* Appends to a line, with a format as for printf. */
#define tp_gate_add(line, ...) tp_append((line)->s, sizeof(line)->s, __VA_ARGS__)

/* "regression", "better", "unchanged", "inconclusive", "insensitive". */
extern const char *const tp_verdict_words[TP_VERDICTS];

/* "memory and counts", "instructions", "latency". */
extern const char *const tp_class_words[TP_CLASS_REPORT];

/* What --require can name: the classes, indexed by enum tp_class, and then "all-cells";
 * NULL-terminated. */
enum { TP_REQUIRE_CELLS = TP_CLASS_REPORT };
extern const char *const tp_gate_required[TP_CLASS_REPORT + 2];

/* A name that the user or a file chose, made clean and cut after 160 bytes. */
struct tp_gate_line tp_gate_name(const char *name);

/* The name of a cell: "web.tpt, arena", or "web.tpt, arena, virtual" if the cells have different
 * sources. */
struct tp_gate_line tp_gate_cell_text(const struct tp_gate *g, const struct tp_gate_cell *cell);

/* "131.4 -> 137.9 MiB"; for an option the part of its note after the colon. */
struct tp_gate_line tp_finding_values(const struct tp_finding *f);

/* The p value of a finding. A test has one for each direction; the improvement's is returned for
 * TP_IMPROVED, the regression's for all other verdicts. NAN: the finding is not of class N. */
double tp_finding_p(const struct tp_finding *f, bool adjusted);

/* The interval of the change in percent, "[+8.1, +12.0]"; "" if there is none. */
struct tp_text tp_finding_interval(const struct tp_finding *f);
struct tp_text tp_finding_proof(const struct tp_finding *f); /* "[+8.1, +12.0] p<0.001" */

/* "partly free pages at the trace peak +12 MiB"; "" if no part of resident memory grew. */
struct tp_gate_line tp_finding_grown(const struct tp_finding *f);

/* The note of a finding, or what grew; "" if there is none, and for an option: its note is its name
 * and values, which are shown as such. */
struct tp_gate_line tp_finding_note(const struct tp_finding *f);

/* "web.tpt, arena: peak_reserved 131.4 -> 137.9 MiB (+4.9%), allowed: 0". */
struct tp_gate_line tp_finding_sentence(const struct tp_gate *g, const struct tp_finding *f);

/* Everything that the verdict rests on, in one line. Class N: medians, estimate, interval, raw and
 * adjusted p, number of pairs, threshold. Others: values, exact values, tolerance. */
struct tp_gate_line tp_finding_evidence(const struct tp_gate *g, const struct tp_finding *f);

/* Whether a finding is inconclusive and could have been a regression. */
bool tp_finding_could_gate(const struct tp_gate *g, const struct tp_finding *f);

/* Whether a finding is inconclusive and worth a line. After a PASS that is what
 * tp_finding_could_gate selects, otherwise every inconclusive finding. */
bool tp_finding_is_open(const struct tp_gate *g, const struct tp_finding *f);

/* What moved: "holds 4.9% more memory", "peak_carved +4.9%", "option arena_size". */
struct tp_gate_line tp_cause_text(const struct tp_cause *c);

/* "peak_reserved 131.4 -> 137.9 MiB". The name is left out if tp_cause_text has it already. For a
 * metric that became unstable this is the note. */
struct tp_gate_line tp_cause_values(const struct tp_cause *c);

/* "allowed: 0", "allowed: +5%  [+8.1, +12.0] p<0.001". Improvements show the proof only. "" if
 * there is nothing to show. */
struct tp_gate_line tp_cause_rule(const struct tp_cause *c);

/* The other figures of a cause: "end_reserved +4.9%, overhead +4.8% and 3 more"; "" if there are
 * none. */
struct tp_gate_line tp_cause_folded(const struct tp_cause *c);

/* A cause in one sentence: cell, text, values, rule and folded figures. */
struct tp_gate_line tp_cause_sentence(const struct tp_gate *g, const struct tp_cause *c);

/* The sentence on a cell that could not be measured; "" if it could, or if that is the error of the
 * gate, which is shown as such. */
struct tp_gate_line tp_cell_failure(const struct tp_gate *g, const struct tp_gate_cell *c);

/* Whether a finding was tested in pairs: times, class N, and the resident memory of libraries. */
bool tp_finding_is_timed(const struct tp_finding *f);

/* Whether an error or a signal ended the check early, or the findings could not be written where
 * they were asked for. */
bool tp_gate_is_aborted(const struct tp_gate *g);

/* Whether --require asks for a class that was not checked in every cell. Cells that are new to the
 * base build do not count if they are the only ones left out. */
bool tp_class_unmet(const struct tp_gate *g, enum tp_class metric_class);

/* Whether --require asks for all cells of the baseline, and some were not run. */
bool tp_cells_unmet(const struct tp_gate *g);

/* Whether a class was checked in some cells but not in every cell where it could be. */
bool tp_class_is_partial(const struct tp_gate *g, enum tp_class metric_class);

/* Why a gate failed although nothing got worse: a class that --require names was not checked,
 * nothing was checked, cells of the baseline were not run, slowdowns that --require-sensitivity
 * asks for could not be detected, or an error ended the check. "" if none of these is so. */
struct tp_gate_line tp_gate_unmet(const struct tp_gate *g);

/* What the verdict may rest on beside the baseline's cells and the defaults: "set on the command
 * line: -s lru --effect 9; by tapool-baseline.json: 2 tolerances"; "" if nothing is. */
struct tp_gate_line tp_gate_set_by(const struct tp_gate *g);

/* The verdict: "FAIL: 4 of 102 values worse, 1 better, 97 unchanged, 0 inconclusive; 6 of 6 cells;
 * minimum detectable slowdown 6%". The first word is PASS, FAIL, INCONCLUSIVE, or ABORTED if an
 * error or a signal ended the check before a regression was found. "(2 of 6 cells, memory and
 * counts only)" follows it if that is all that was checked. The grammar is fixed and every form
 * writes the whole line, because scripts read it; on the screen no other line begins with one of
 * these words. */
struct tp_gate_line tp_gate_verdict(const struct tp_gate *g);

/* The minimum detectable slowdown over all cells: "6%", or "not known" if that is so in any cell;
 * "" if the job compared no times. */
struct tp_text tp_gate_detectable(const struct tp_gate *g);

/* The same with the cell that it is about and the others: "minimum detectable slowdown (90% power):
 * 12% in web.tpt, arena; 9% in half of the cells"; "" if the cells are alike. */
struct tp_gate_line tp_gate_sharpness_text(const struct tp_gate *g);

/* Whether a slowdown as small as --require-sensitivity asks for could have been detected in every
 * cell that compares times, and in at least one. */
bool tp_gate_is_sharp(const struct tp_gate *g);

/* "20 pairs", "40 pairs in 2 sets"; "" for a finding that is not of class N. */
struct tp_text tp_finding_pairs(const struct tp_finding *f);

/* "NOT CHECKED: valgrind is not installed: apt install valgrind"; "not in every cell: ..." for a
 * class that was checked in some cells; "" for one that was checked in all of them. */
struct tp_gate_line tp_class_unchecked(const struct tp_class_check *c);

struct tp_text tp_gate_time(uint64_t ns); /* "59.9 s", "3 min 02 s" */

#endif
