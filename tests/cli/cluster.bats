#!/usr/bin/env bats
# scripts/cluster: slurm.sh against stand-ins of sbatch and squeue, which note their arguments, and of
# tapool, whose shards fail on demand; the manifest for Kubernetes against its schema and itself; the
# lines of the README. At night slurm.sh on a real Slurm (tests/scripts/check_slurm.sh).

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

CLUSTER=$TAPOOL_ROOT/scripts/cluster

setup() {
    enter_folder
    mkdir bin
    PATH=$WORK/bin:$PATH
}

program() { # NAME <TEXT
    { echo '#!/usr/bin/env bash' && cat; } >"bin/$1"
    chmod +x "bin/$1"
}

# A cluster that accepts jobs and numbers them. Each call is a line of `calls`, an argument between < and >.
with_slurm() {
    program sbatch <<'END'
printf '<%s>' "$@" >>"$WORK/calls"
echo >>"$WORK/calls"
[ ! -e "$WORK/refuses" ] || [[ $* != *:merge* ]] || exit 1
wc -l <"$WORK/calls"
END
    # shellcheck disable=SC2016 # of the stand-ins
    program squeue <<<'cat "$WORK/queue" 2>/dev/null || true'
    # shellcheck disable=SC2016
    program scancel <<<'echo "scancel $*" >>"$WORK/calls"'
    program tapool <<'END'
[[ $* != *--dry-run* ]] || exit 0
echo "tapool $*" >>"$WORK/calls"
[ ! -e "$WORK/status" ] || exit "$(cat "$WORK/status")"
END
    unset TAPOOL
    export WORK
    touch plan.ini
}

submit() { capture "$CLUSTER/slurm.sh" "$@"; }

# The jobs that are submitted run as Slurm would run them.
shard() { SLURM_ARRAY_TASK_ID=$1 SLURM_CPUS_PER_TASK=3 submit :shard "$WORK/bin/tapool" "$WORK/plan.ini" 4; }
merge() { submit :merge "$WORK/bin/tapool" "$WORK/plan.ini" 4%2 "$@"; }

call() { # NUMBER REGEX
    sed -n "$1p" calls | grep -qE -- "$2" || fail "call $1 does not match '$2':" "$(cat calls)"
}

@test "Slurm: an array of shards, and a merge after it" {
    with_slurm
    submit plan.ini 4%2 -- --partition=cpu '--comment=a b'
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    [ "$(wc -l <calls)" -eq 2 ] || fail "$(cat calls)"
    call 1 '<--partition=cpu><--comment=a b>.*<--requeue>.*<--array=1-4%2>.*<:shard><.*/bin/tapool><.*/plan.ini><4>$'
    call 2 '<--partition=cpu><--comment=a b>.*<--requeue>.*<--dependency=afterany:1>.*<:merge><.*/bin/tapool><.*/plan.ini><4%2><3><--partition=cpu><--comment=a b>$'
    matches "$out" '^shards: job 1, merge: job 2 \(to stop them: scancel 1 2\), output: .*/plan\.slurm$'
    [ -d plan.slurm ]
}

@test "Slurm: --dry-run prints both jobs and submits none" {
    with_slurm
    submit --dry-run plan.ini 4 -- '--comment=a b'
    [ "$rc" -eq 0 ] && [ ! -e calls ] && [ ! -e plan.slurm ] || fail "exit code $rc:" "$(cat "$err")"
    matches "$err" '^sbatch --comment=a\\ b .*--array=1-4 '
    matches "$err" '^sbatch --comment=a\\ b .*--dependency=afterany:JOB '
}

@test "Slurm: a shard has the workers that it has processors, and leaves its exit code" {
    with_slurm
    mkdir plan.slurm
    echo 137 >plan.slurm/shard-2.status
    shard 2
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    [ "$(cat plan.slurm/shard-2.status)" = 0 ]
    call 1 "^tapool sweep $WORK/plan.ini --shard 2/4 -j 3\$"
    echo 3 >status
    shard 3
    [ "$rc" -eq 3 ]
    [ "$(cat plan.slurm/shard-3.status)" = 3 ]
}

# ended CODE...: of shards 1, 2, ...; "-": none, as of one that was killed with its script
ended() {
    local i=0 code
    mkdir -p plan.slurm
    for code; do
        rm -f plan.slurm/shard-$((++i)).status
        [ "$code" = - ] || echo "$code" >plan.slurm/shard-$i.status
    done
}

@test "Slurm: the merge job submits shards that were ended, and only those" {
    with_slurm
    ended 0 137 3 -
    merge 1 --partition=cpu
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    call 1 '<--partition=cpu>.*<--array=2,4%2>'
    call 2 '<--dependency=afterany:1>.*<4%2><0><--partition=cpu>$'
    [ "$(wc -l <calls)" -eq 2 ]
}

@test "Slurm: stores are merged when all shards are done or no retry is left" {
    with_slurm
    ended 0 0 0 0
    merge 3
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    call 1 "^tapool sweep $WORK/plan.ini --merge\$"
    ended 0 3 0 2
    merge 3
    [ "$rc" -eq 3 ]
    call 2 "^tapool sweep $WORK/plan.ini --merge\$"
    matches "$err" '^with failures: shards 2,4; see .*/shard-2.log$'
    ended 0 3 - 4
    merge 0
    [ "$rc" -eq 4 ]
    call 3 "^tapool sweep $WORK/plan.ini --merge --partial\$"
    matches "$err" '^slurm.sh: cells are missing: shards 3,4 were'
    [ "$(wc -l <calls)" -eq 3 ]
}

@test "Slurm: a plan that is queued is not submitted again; afterwards it is, from the start" {
    with_slurm
    ended 0
    printf '7 %s\n' "$WORK" "$WORK" >queue
    submit plan.ini 4
    [ "$rc" -eq 2 ] && [ ! -e calls ] && [ -e plan.slurm/shard-1.status ] || fail "exit code $rc:" "$(cat "$err")"
    matches "$err" 'queued or running: job 7$'
    echo "8 $WORK/elsewhere" >queue # a plan of that name in another folder
    submit plan.ini 4
    [ "$rc" -eq 0 ] && [ ! -e plan.slurm/shard-1.status ] || fail "$(cat "$err")"
}

@test "Slurm: without a merge job there are no shards" {
    with_slurm
    touch refuses
    submit plan.ini 4
    [ "$rc" -eq 4 ] && call 3 '^scancel 1$' || fail "exit code $rc:" "$(cat "$err")"
}

@test "Slurm: command lines and plans that are wrong" {
    with_slurm
    for words in '' 'no.ini' '--foo plan.ini' 'plan.ini 0' 'plan.ini 4%' 'plan.ini 4 5' '--retries x plan.ini'; do
        # shellcheck disable=SC2086 # words
        submit $words
        [ "$rc" -eq 2 ] && [ ! -e calls ] || fail "'$words': $rc" "$(cat "$err")"
        matches "$err" '^slurm.sh: '
    done
    touch plan.shard-1-of-4.sqlite
    submit plan.ini 8
    [ "$rc" -eq 2 ] && [ ! -e calls ] || fail "exit code $rc:" "$(cat "$err")"
    matches "$err" "'.*/plan.shard-1-of-4.sqlite' is there, a shard of another number of shards\$"
    submit plan.ini 4
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    program tapool <<<'exit 3'
    submit plan.ini 4
    [ "$rc" -eq 3 ] && [ "$(wc -l <calls)" -eq 2 ] || fail "exit code $rc:" "$(cat "$err")"
    rm bin/tapool
    PATH=$WORK/bin:/usr/bin:/bin submit plan.ini
    [ "$rc" -eq 2 ] && matches "$err" 'there is no tapool' || fail "exit code $rc:" "$(cat "$err")"
}

kubernetes() { # WORD MANIFEST [ARGUMENT...]
    python3 -c 'import yaml' 2>/dev/null || skip "the Python module yaml is not installed (apt install python3-yaml)"
    capture python3 "$CLI/kubernetes_check.py" "$@"
}

# A manifest with a mistake, made by sed, is refused.
refuses() { # WORD MISTAKE [ARGUMENT...]
    sed "$2" "$CLUSTER/kubernetes.yaml" >wrong.yaml
    not cmp -s wrong.yaml "$CLUSTER/kubernetes.yaml" || return 1
    kubernetes "$1" wrong.yaml "${@:3}"
    [ "$rc" -ne 0 ] || fail "nothing is wrong with: $2"
}

@test "Kubernetes: the parts of the manifest agree" {
    kubernetes facts "$CLUSTER/kubernetes.yaml"
    [ "$rc" -eq 0 ] || fail "$(cat "$err")"
    for mistake in 's/completions: 8/completions: 9/' 's/parallelism: 8/completions: 8/' 's/suspend: true/suspend: false/' \
        '0,/claimName: sweep/s//claimName: other/' '0,/image: tapool/s//image: other/'; do
        refuses facts "$mistake" || return 1
    done
}

# bats test_tags=nightly
@test "Kubernetes: the manifest against the schemas in npm" {
    local modules=${TAPOOL_NODE_MODULES:-$TAPOOL_ROOT/build/npm/node_modules}
    command -v node >/dev/null && [ -d "$modules/kubernetes-models" ] && [ -e "$modules/typescript/bin/tsc" ] ||
        skip "no kubernetes-models and typescript in $modules (npm install --prefix ${modules%/*} kubernetes-models typescript)"
    kubernetes schema "$CLUSTER/kubernetes.yaml" "$modules"
    [ "$rc" -eq 0 ] || fail "$(cat "$out" "$err")"
    for mistake in 's/backoffLimitPerIndex/backoffLimitPerindex/' 's/completions: 8/completions: 8.5/' \
        's/storage: 10Gi/storage: 10Gx/' 's/DisruptionTarget/DisruptionTarget\n            type: x/'; do
        refuses schema "$mistake" "$modules" || return 1
    done
}

# A small plan, and its results without shards.
small_plan() {
    local i
    mkdir traces
    for i in 1 2 3 4 5; do
        "$TAPOOL" gen random-replace --live 50 --count 500 --seed "$i" -o "traces/$i.tpt" >/dev/null || return 1
    done
    printf '[sweep]\ntrace = traces/*.tpt\nstrategy = arena:arena_size=1MiB|4MiB\nstrategy = bump\n' >plan.ini
    cp plan.ini local.ini
    ok "$TAPOOL" sweep local.ini || return 1
    ln -s "$TAPOOL" bin/tapool
}

# The results are those without shards.
same_results() {
    [ "$rc" -eq 0 ] || fail "exit code $rc:" "$(cat "$err")" || return 1
    "$TAPOOL" sweep local.ini --report --export-csv local.csv >/dev/null &&
        "$TAPOOL" sweep plan.ini --report --export-csv plan.csv >/dev/null && diff local.csv plan.csv
}

# The lines of the README that begin so, as a shell reads them.
readme() { # REGEX
    sed -nE "/^    $1/,/^\$/s/^    //p" "$CLUSTER/README.md" >lines
    [ -s lines ] || fail "the README has no line '$1'"
}

@test "README: the line for xargs" {
    small_plan
    readme 'seq 8'
    capture bash lines
    same_results
}

@test "README: the line for GNU parallel" {
    command -v parallel >/dev/null || skip "GNU parallel is not installed (apt install parallel)"
    small_plan
    readme 'parallel '
    capture bash lines
    same_results
}

@test "README: the lines for GNU make" {
    command -v make >/dev/null || skip "GNU make is not installed"
    small_plan
    readme 'merge:'
    capture make -s -j 2 -f lines merge
    same_results
}

@test "Kubernetes: the commands of the manifest, run here, index by index" {
    local index words
    small_plan
    kubernetes command "$CLUSTER/kubernetes.yaml" sweep
    mapfile -t words <"$out"
    for index in 0 1 2 3 4 5 6 7; do
        JOB_COMPLETION_INDEX=$index SHARDS=8 ok "${words[@]}" || return 1
    done
    kubernetes command "$CLUSTER/kubernetes.yaml" sweep-merge
    mapfile -t words <"$out"
    capture "${words[@]}"
    same_results
}

# bats test_tags=nightly
@test "Slurm: a real one, with a shard that is killed and a node that fails" {
    capture "$TAPOOL_ROOT/tests/scripts/check_slurm.sh"
    [ "$rc" -ne 77 ] || skip "$(cat "$out")"
    [ "$rc" -eq 0 ] || fail "$(cat "$out" "$err")"
}
