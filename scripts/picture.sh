#!/usr/bin/env bash
# usage: scripts/picture.sh [FOLDER]
#
# Draws the picture at the top of README.md: picture-light.svg and picture-dark.svg in FOLDER, by
# default this one. It has figures of memory alone, which are the same in every build and on every
# machine; a test draws it again and compares. TAPOOL names the binary (build/release/tapool).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

folder=${1:-$ROOT/scripts}
tapool=${TAPOOL:-$ROOT/build/release/tapool}
trace=$ROOT/tests/data/pytorch/training-step.pickle.gz
[ -x "$tapool" ] || fail 2 "there is no $tapool" "scripts/quickstart.sh builds it"
[ -d "$folder" ] || fail 2 "there is no folder '$folder'"

for theme in light dark; do
    # Nothing but what decides the picture: no times beyond the one replay that they take.
    TAPOOL_CONFIG='' "$tapool" replay "$trace" -s torch -s arena -s lru --capacity 4GiB \
        --source virtual --no-fits --bound-time 0 --min-time 0 --svg-theme "$theme" \
        --export-svg "$folder/picture-$theme.svg" --force >/dev/null
done
