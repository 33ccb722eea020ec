#!/bin/sh
#SBATCH --job-name=fencepost-merge
#SBATCH --time=00:10:00
# The verdict on all shards.
set -eu
RESULTS=${RESULTS:-results}
fencepost merge "$RESULTS"/shard-*
