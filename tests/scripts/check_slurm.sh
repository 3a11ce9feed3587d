#!/usr/bin/env bash
# usage: check_slurm.sh [FOLDER]
#
# Runs scripts/cluster/slurm.sh on a real Slurm of one node with two processors, which lives in a folder
# of its own: 8 shards of a sweep over made traces. One shard is killed, and the node fails and boots
# again, both while cells are computed. The merged store must then have the results of a sweep without
# shards, byte for byte, and no shard may have computed a cell again that its store had.
#
# Prints a line with the figures; exits 1 where something differs, and 77 where Slurm is missing. It
# leaves no process. With FOLDER all files are kept there.
#
# Environment: TAPOOL (the binary).
set -euo pipefail
export LC_ALL=C

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
SUBMIT=$HERE/../../scripts/cluster/slurm.sh
SHARDS=8
KILLED=2 # the shard
: "${TAPOOL:?is to name the binary}"

left_out() {
    echo "left out: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || left_out "slurmd needs root"
for program in slurmctld slurmd sbatch munged; do
    command -v "$program" >/dev/null || left_out "$program is not installed (apt install slurm-wlm munge)"
done

keep=${1:-}
if [ -n "$keep" ]; then
    WORK=$(mkdir -p -- "$keep" && cd -- "$keep" && pwd)
else
    WORK=$(mktemp -d)
fi
chmod 755 "$WORK" # munged refuses a folder that others cannot enter
NODE=$WORK/node
SWEEP=$WORK/sweep
export SLURM_CONF=$NODE/slurm.conf

# Ends the processes that have a file open whose path begins so, until there is none: daemons have their
# logs open, jobs their output.
kill_users_of() { # PATH
    local users
    while :; do
        users=$({ find /proc/[0-9]*/fd -lname "$1*" 2>/dev/null || true; } | cut -d/ -f3 | sort -u)
        [ -n "$users" ] || break
        # shellcheck disable=SC2086 # a list
        kill -KILL $users 2>/dev/null || true
        sleep 0.05
    done
}

clean_up() {
    kill_users_of "$NODE/"
    kill_users_of "$SWEEP/plan.slurm/"
    [ -n "$keep" ] || rm -rf -- "$WORK"
}
trap clean_up EXIT

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    tail -vn 30 "$NODE"/log/*.log "$SWEEP"/plan.slurm/*.log >&2 2>/dev/null || true
    exit 1
}

# wait_for WHAT CONDITION...: two minutes, which only a test that hangs takes.
wait_for() {
    local what=$1 i
    shift
    for ((i = 0; i < 2400; i++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    fail "$what: not within two minutes"
}

# ---- the node ----

free_port() { # LOWEST
    local port
    for ((port = $1 + RANDOM % 5000; ; port++)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done
    echo "$port"
}

# A requeued job waits until its old credential has expired. A node that is down comes back when it registers.
configure_node() {
    local host
    host=$(hostname -s)
    mkdir -p "$NODE"/{munge,state,spool,log,run}
    cat >"$SLURM_CONF" <<END
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port 20000)
SlurmdPort=$(free_port 26000)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$NODE/munge/socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$NODE/state
SlurmdSpoolDir=$NODE/spool
SlurmctldPidFile=$NODE/run/slurmctld.pid
SlurmdPidFile=$NODE/run/slurmd.pid
SlurmctldLogFile=$NODE/log/slurmctld.log
SlurmdLogFile=$NODE/log/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
    head -c 128 /dev/urandom >"$NODE/munge/key"
    chmod 400 "$NODE/munge/key"
}

node_is_free() { sinfo -h -o %T 2>/dev/null | grep -qx idle; }

start_node() {
    configure_node
    munged --socket="$NODE/munge/socket" --key-file="$NODE/munge/key" --pid-file="$NODE/munge/pid" \
        --log-file="$NODE/munge/log" --seed-file="$NODE/munge/seed"
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF"
    wait_for "a free node" node_is_free
}

# All that runs on the node ends, as if its power were cut, and Slurm is told what it would find out itself
# after SlurmdTimeout. Then the node boots.
fail_node() {
    kill_users_of "$NODE/log/slurmd.log"
    kill_users_of "$SWEEP/plan.slurm/"
    scontrol update "NodeName=$(hostname -s)" State=DOWN Reason="no power"
    slurmd -b -f "$SLURM_CONF"
}

# ---- the sweep ----

make_plan() {
    local i
    mkdir -p "$SWEEP/traces"
    cd "$SWEEP"
    for ((i = 1; i <= 64; i++)); do
        "$TAPOOL" gen "fleet-$((i % 10))" --count $((6000 + 300 * i)) --seed "$i" -o "traces/$i.tpt" >/dev/null
    done
    cat >plan.ini <<'END'
[sweep]
trace = traces/*.tpt
strategy = arena:arena_size=1MiB|4MiB
strategy = lru
strategy = stream-pool
strategy = bump
passes = usage
END
    cp plan.ini local.ini
}

# Whether the shard has stored a cell and has not ended.
computes() { # SHARD
    [ ! -e "plan.slurm/shard-$1.status" ] && grep -qs '"cell"' "plan.shard-$1-of-$SHARDS.sqlite-pending"
}

# Sets `others` to two other shards that compute.
two_others_compute() {
    local i
    others=()
    for ((i = KILLED + 1; i <= SHARDS; i++)); do
        ! computes "$i" || others+=("$i")
    done
    [ "${#others[@]}" -eq 2 ]
}

kill_shard() {
    local pid
    pid=$(pgrep -o -f -- "^$TAPOOL sweep $SWEEP/plan.ini --shard $KILLED/$SHARDS") ||
        fail "shard $KILLED was not there to be killed"
    kill -KILL "$pid"
}

no_job_is_left() { [ -z "$(squeue -h)" ]; }

# ---- what is asked of the results ----

export_results() { # NAME
    "$TAPOOL" sweep "$1.ini" --report --export-csv "$1.csv" >/dev/null || fail "no report of $1.ini"
}

# The last run of a shard went on from its store.
went_on() { # SHARD
    tail -n 5 "plan.slurm/shard-$1.log" | grep -qE 'computed in .*, [1-9][0-9]* already stored, 0 failed' ||
        fail "shard $1 began anew"
}

# Of the shards that were lost with the node one or both; a shard may have ended just before.
requeued() {
    local i
    for i in "${others[@]}"; do
        ! grep -q "Requeuing JobId=[0-9]*_$i(" "$NODE/log/slurmctld.log" || echo "$i"
    done
}

# The largest share over the mean share: by bytes of traces, which shares are made of and which must be at
# most 1.2, and by the seconds that the cells took in the sweep without shards.
balance() {
    python3 - local.sqlite plan.shard-*-of-$SHARDS.sqlite <<'END'
import os, sqlite3, sys

def cells(path):
    return {row[:2]: row[2] for row in sqlite3.connect(path).execute("SELECT trace, setting, seconds FROM results")}

def largest(shares):
    return max(shares) * len(shares) / sum(shares)

alone, *shards = map(cells, sys.argv[1:])
size = largest([sum(os.path.getsize(trace) for trace, _ in shard) for shard in shards])
print(f"{size:.2f} by bytes, {largest([sum(alone[cell] for cell in shard) for shard in shards]):.2f} by seconds")
sys.exit(size > 1.2)
END
}

make_plan
start_node
begin=$SECONDS
"$SUBMIT" plan.ini "$SHARDS" >submitted
wait_for "shard $KILLED computes" computes "$KILLED"
kill_shard
wait_for "two other shards compute" two_others_compute
fail_node
wait_for "the end of all jobs" no_job_is_left
seconds=$((SECONDS - begin))

grep -q "^to be continued: shards $KILLED of $SHARDS\$" plan.slurm/merge.log || fail "shard $KILLED was not submitted again"
mapfile -t lost < <(requeued)
[ "${#lost[@]}" -gt 0 ] || fail "the node has lost no shard"
for shard in "$KILLED" "${lost[@]}"; do
    went_on "$shard"
done
"$TAPOOL" sweep local.ini >/dev/null
export_results plan
export_results local
cmp plan.csv local.csv || fail "the results are not those of a sweep without shards"
shares=$(balance) || fail "shares are uneven: $shares"
echo "$SHARDS shards in $seconds s, shard $KILLED killed, shards ${lost[*]} lost with the node:" \
    "$(($(wc -l <plan.csv) - 1)) cells, the same results; largest share / mean: $shares"
