#!/bin/sh
#SBATCH --job-name=fencepost-sweep
#SBATCH --array=0-99
#SBATCH --cpus-per-task=4
#SBATCH --mem=256M
#SBATCH --time=01:00:00
#SBATCH --requeue
# A sweep of a million seeds as a hundred shards.
set -eu
SCENARIO=${SCENARIO:-random/redlock-in-model}
SEEDS=${SEEDS:-0..1000000}
SHARDS=${SHARDS:-100}
RESULTS=${RESULTS:-results}

# The index is written out: of an array that is only a part of this one, auto/N would count from that one's first task.
code=0
fencepost sweep "$SCENARIO" --seeds "$SEEDS" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" --out "$RESULTS/shard-$SLURM_ARRAY_TASK_ID" || code=$?
# What the shard's own seeds came to (0, 1 or 2) is a result; anything else is none.
[ "$code" -le 2 ] || exit "$code"
