/* --format json: the document of a command as it is. */
#include "cmd/ui/exporter.h"
#include "cmd/ui/json_out.h"

const struct tp_exporter tp_export_json = {
    .name = "json",
    .summary = "all figures, for programs; share/tapool has the schema",
    .about = "All figures; share/tapool/result.schema.json describes each name.",
    .write_tree = tp_json_print,
};
