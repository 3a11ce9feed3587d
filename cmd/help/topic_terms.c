/* tapool help terms: the vocabulary. */
#include "cmd/cli/commands.h"
#include "cmd/ui/terms.h"

static void print_terms(FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    for (size_t i = 0; i < tp_term_count; i++) {
        if (!i || tp_terms[i].group != tp_terms[i - 1].group)
            tp_page_put(&page, 0, "%s", tp_term_group_names[tp_terms[i].group]);
        tp_term_put(&page, &tp_terms[i]);
    }
}

const struct tp_topic tp_topic_terms = {"terms", "terms on screens and in JSON",
                                        "term words vocabulary glossary definitions",
                                        .print = print_terms};
