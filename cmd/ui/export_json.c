/* --format json: the document of a command as it is. */
#include "cmd/ui/exporter.h"
#include "cmd/ui/json_out.h"

const struct tp_exporter tp_export_json = {
    .name = "json",
    .summary = "everything that was measured, for programs; its schema is shipped",
    .about = "Everything, under fixed names; share/tapool/result.schema.json describes each.",
    .write_tree = tp_json_print,
};
