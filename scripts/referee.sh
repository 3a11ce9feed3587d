#!/usr/bin/env bash
# usage: scripts/referee.sh [TRACE...]
#
# Plans a step of each trace, replays the next one by the plan (-s planned) and by other strategies
# against fragmentation, and prints a Markdown table: peak reserved over the best packing of the
# replayed step, and driver calls. Steps begin with the period of the requests, or with a mark where
# they have none. Without traces: those of the table in alloc/README.md. TAPOOL names the binary
# (build/release/tapool), TAPOOL_SHARED the folder with corpus/pytorch, which may be missing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

if [ "${1:-}" = --help ]; then
    usage
    exit 0
fi
tapool=${TAPOOL:-$ROOT/build/release/tapool}
[ -x "$tapool" ] || fail 2 "there is no $tapool" "scripts/quickstart.sh builds it"
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
if [ $# -eq 0 ]; then
    made() {
        "$tapool" gen training-step "${@:2}" -o "$folder/$1.tpt" >/dev/null
        set_of+=("$folder/$1.tpt")
    }
    set_of=(sample:training-step)
    made gen-24-layers --layers 24 --hidden 1024 --count 6
    made gen-4-streams --streams 4 --count 6
    made gen-mixed-lengths --lengths mixed --count 6
    for name in gpt-train-b{2,8,32} gpt-train-ctx1024 gpt-fp16-b{2,16} hf-gpt2-b{2,16} resnet-b{4,32} \
        gpt-infer-ctx{128,1024} varlen-default; do
        set_of+=("$ROOT/tests/data/h200/$name.pickle.zst")
    done
    shopt -s nullglob
    set_of+=("${TAPOOL_SHARED:-$ROOT/../shared}"/corpus/pytorch/*)
    set -- "${set_of[@]}"
fi
python3 -S -E "$ROOT/scripts/referee.py" "$tapool" "$folder" "$@"
