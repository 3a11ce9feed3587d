#!/usr/bin/env bash
# usage: slurm.sh [--dry-run] [--retries K] PLAN [N[%M]] [-- OPTION OF sbatch...]
#
# Runs 'tapool sweep PLAN' on Slurm: an array of N shards (default 8), at most M at a time, and a job
# that merges their stores. The folder of PLAN must be shared by the nodes. A shard uses as many workers
# as it has CPUs.
#
#   slurm.sh plan.ini 200%50 -- --partition=cpu --cpus-per-task=4 --time=2:00:00
#
#   --dry-run     print what would be submitted
#   --retries K   submit failed shards again, at most K times (default 3)
#
# A shard goes on from its own store: no cell is computed twice. Slurm requeues the shards of a node
# that failed. The merge job finds all other shards that were ended (out of memory, out of time, killed)
# and submits them again, and a merge job after them. A trace that cannot be read is not tried again.
# If your cluster accepts no jobs from compute nodes, or K was not enough, run the same command again.
#
# Output is in the folder PLAN.slurm: shard-I.log, merge.log, and the exit codes, shard-I.status.
# TAPOOL: the tapool that the nodes run (default: the one in PATH here).
set -euo pipefail

fail() { # STATUS SENTENCE [HINT]
    printf 'slurm.sh: %s\n' "$2" >&2
    [ -z "${3:-}" ] || printf 'hint: %s\n' "$3" >&2
    exit "$1"
}

# Slurm copies a batch script, which is why this file needs no other one, and can submit itself.
# It is run in three roles; the first argument of the jobs is what they share.
#
#     slurm.sh PLAN [N]                                   submits
#     slurm.sh :shard TAPOOL PLAN N                       a task of the array
#     slurm.sh :merge TAPOOL PLAN N[%M] K [OPTION...]     after the array

logs() { printf '%s.slurm' "${1%.ini}"; }

# Prints the command, and runs it unless this is a dry run. Its output is the number of the job.
sbatch_or_print() { # ARGUMENT...
    if [ "$dry_run" = yes ]; then
        printf '%q ' sbatch "$@" >&2
        printf '\n' >&2
        echo JOB
    else
        sbatch --parsable "$@"
    fi
}

# A percent sign begins a pattern in the names of Slurm's output files.
submit() { # TAPOOL PLAN TASKS N[%M] K [OPTION...]
    local tapool=$1 plan=$2 tasks=$3 count=$4 retries=$5 array merge folder most=''
    shift 5
    [[ $count != *%* ]] || most=%${count#*%}
    folder=$(logs "$plan")
    local common=("$@" --ntasks=1 --requeue --open-mode=append --chdir="${plan%/*}" --job-name="$(name "$plan")")
    array=$(sbatch_or_print "${common[@]}" --array="$tasks$most" --output="${folder//%/%%}/shard-%a.log" \
        "$0" :shard "$tapool" "$plan" "${count%\%*}")
    array=${array%%;*} # JOB;CLUSTER
    merge=$(sbatch_or_print "${common[@]}" --dependency="afterany:$array" --output="${folder//%/%%}/merge.log" \
        "$0" :merge "$tapool" "$plan" "$count" "$retries" "$@") || {
        scancel "$array"
        fail 4 "the merge job was not accepted, so the shards were cancelled"
    }
    merge=${merge%%;*}
    printf 'shards: job %s, merge: job %s (to stop them: scancel %s %s), output: %s\n' \
        "$array" "$merge" "$array" "$merge" "$folder"
}

name() { # PLAN
    local file=${1##*/}
    printf 'sweep-%s' "${file%.ini}"
}

# One of them: the merge would refuse it.
other_shards() { # PLAN N
    local store
    for store in "${1%.ini}".shard-*-of-*.sqlite; do
        [[ ! -e $store || $store == *-of-$2.sqlite ]] || { printf '%s' "$store" && break; }
    done
}

# The jobs of the plan. Their working folder tells it from others of its name.
queued() { # PLAN
    squeue -h -o '%A %Z' --name="$(name "$1")" |
        while read -r job folder; do
            [ "$folder" != "${1%/*}" ] || echo "$job"
        done | sort -u | paste -sd ' '
}

run_shard() { # TAPOOL PLAN N
    local workers=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}} code=0 file
    file=$(logs "$2")/shard-$SLURM_ARRAY_TASK_ID.status
    rm -f -- "$file"
    "$1" sweep "$2" --shard "$SLURM_ARRAY_TASK_ID/$3" -j "$workers" || code=$?
    echo "$code" >"$file"
    return "$code"
}

# The shards in a state, separated by commas. Another try does not help one that ended with a wrong plan (2)
# or a trace that cannot be read (3); one that was killed has another code, or none.
shards_in() { # again|failed PLAN N
    local code state shards='' i
    for ((i = 1; i <= $3; i++)); do
        code=$(cat "$(logs "$2")/shard-$i.status" 2>/dev/null) || true
        case $code in
        0) state='done' ;;
        2 | 3) state=failed ;;
        *) state=again ;;
        esac
        [ "$state" != "$1" ] || shards+=,$i
    done
    printf '%s' "${shards#,}"
}

# What is there is merged when no retry is left, so that the answers of a night are never lost.
run_merge() { # TAPOOL PLAN N[%M] K [OPTION...]
    local tapool=$1 plan=$2 count=$3 retries=$4 again failed partial=()
    shift 4
    again=$(shards_in again "$plan" "${count%\%*}")
    failed=$(shards_in failed "$plan" "${count%\%*}")
    if [ -n "$again" ] && [ "$retries" -gt 0 ]; then
        echo "to be continued: shards $again of ${count%\%*}"
        dry_run=no
        submit "$tapool" "$plan" "$again" "$count" $((retries - 1)) "$@"
        return
    fi
    [ -z "$again" ] || partial=(--partial)
    "$tapool" sweep "$plan" --merge "${partial[@]}"
    [ -z "$failed" ] || echo "with failures: shards $failed; see $(logs "$plan")/shard-${failed%%,*}.log" >&2
    [ -z "$again" ] || fail 4 "cells are missing: shards $again were ended too often" \
        "look at $(logs "$plan")/shard-${again%%,*}.log, then submit the plan again"
    [ -z "$failed" ] || exit 3
}

main() {
    local retries=3 plan tapool count=8 running other
    dry_run=no
    while [ $# -gt 0 ]; do
        case $1 in
        --dry-run) dry_run=yes ;;
        --retries) retries=${2:-} && shift ;;
        -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0" && exit ;;
        -*) fail 2 "unknown option '$1'" "$0 --help" ;;
        *) break ;;
        esac
        shift
    done
    [ $# -gt 0 ] || fail 2 'no PLAN was given' "$0 --help"
    [ -f "$1" ] || fail 2 "there is no plan '$1'"
    plan=$(cd -- "$(dirname -- "$1")" && pwd)/${1##*/}
    shift
    [ $# -eq 0 ] || [ "$1" = -- ] || { count=$1 && shift; }
    [ $# -eq 0 ] || [ "$1" = -- ] || fail 2 "unexpected '$1'" "options of sbatch stand behind --"
    [ $# -eq 0 ] || shift
    [[ $count =~ ^[1-9][0-9]*(%[1-9][0-9]*)?$ ]] || fail 2 "'$count' is not a number of shards"
    [[ $retries =~ ^[0-9]+$ ]] || fail 2 "'$retries' is not a number of retries"
    tapool=$(realpath -- "$(command -v -- "${TAPOOL:-tapool}")" 2>/dev/null) ||
        fail 2 "there is no ${TAPOOL:-tapool}" 'TAPOOL=/path/to/tapool'
    other=$(other_shards "$plan" "${count%\%*}")
    [ -z "$other" ] || fail 2 "'$other' is there, a shard of another number of shards" \
        "submit that number, or remove such files"
    "$tapool" sweep "$plan" --dry-run -j 1 || exit # says what is wrong with a plan before it is queued
    if [ "$dry_run" = no ]; then
        running=$(queued "$plan")
        [ -z "$running" ] || fail 2 "the plan is queued or running: job $running" "scancel $running"
        mkdir -p -- "$(logs "$plan")"
        rm -f -- "$(logs "$plan")"/shard-*.status
    fi
    submit "$tapool" "$plan" "1-${count%\%*}" "$count" "$retries" "$@"
}

case ${1:-} in
:shard) shift && run_shard "$@" ;;
:merge) shift && run_merge "$@" ;;
*) main "$@" ;;
esac
