# Pages in Chromium: one browser for all tests of a file.
# shellcheck shell=bash
# shellcheck disable=SC2154 # CLI comes from common.bash

setup_file() {
    ! has_browser || {
        export TAPOOL_BROWSER=$BATS_FILE_TMPDIR
        python3 "$TAPOOL_ROOT/tests/browser/chromium.py" "$TAPOOL_BROWSER" >/dev/null 2>&1 3>&- &
        TAPOOL_BROWSER_PID=$!
    }
}

teardown_file() {
    [ -z "${TAPOOL_BROWSER_PID:-}" ] || {
        kill "$TAPOOL_BROWSER_PID"
        wait "$TAPOOL_BROWSER_PID" || true # until it has written its last file
    }
}

has_browser() {
    [ -z "${TAPOOL_NO_BROWSER:-}" ] && command -v chromium chromium-browser google-chrome >/dev/null
}

needs_browser() {
    [ -z "${TAPOOL_NO_BROWSER:-}" ] || skip "no browser was asked for (--no-browser)"
    has_browser || skip "there is no Chromium"
}

# looked_at PAGE...: the browser finds nothing wrong.
looked_at() {
    needs_browser
    python3 "$CLI/../browser/page_check.py" "$@" >found 2>compared || fail "$(cat found compared)"
}

# noticed PAGE [ARG]...: it finds something wrong after the changes by sed that stdin names. Each line is a change of a
# page of its own, where anything may be found; those of the form CHANGE ## REGEX that follow on each other are made in
# one page, and for each there is a finding like that.
noticed() {
    local page=$1 line regex change alone=() whole=() n=0 together=
    shift
    needs_browser
    : >wanted
    while IFS= read -r line; do
        change=${line%% ## *}
        regex=
        [ "$change" = "$line" ] || regex=${line#* ## }
        if [ -z "$line" ]; then
            together=
            continue
        elif [ -z "$regex" ]; then
            together=
            alone+=("bad-$((++n)).html")
            cp "$page" "bad-$n.html"
        elif [ -z "$together" ]; then
            together=yes
            whole+=("bad-$((++n)).html")
            cp "$page" "bad-$n.html"
        fi
        sed -E "$change" "bad-$n.html" >changed.html
        not cmp -s "bad-$n.html" changed.html || fail "changes nothing: $change"
        mv changed.html "bad-$n.html"
        printf '^bad-%d.html: %s\n' "$n" "${regex:+.*$regex}" >>wanted
    done
    : >found
    [ ${#alone[@]} -eq 0 ] || python3 "$CLI/../browser/page_check.py" "${alone[@]}" --once --first "$@" >>found 2>errors || [ $? -eq 1 ]
    [ ${#whole[@]} -eq 0 ] || python3 "$CLI/../browser/page_check.py" "${whole[@]}" --once "$@" >>found 2>>errors || [ $? -eq 1 ]
    lacks errors Traceback
    while IFS= read -r regex; do
        grep -qE -- "$regex" found || fail "not seen: $regex"
    done <wanted
    [ -s wanted ]
}
