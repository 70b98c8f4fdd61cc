#!/usr/bin/env bash
# Makes the bundled model from nothing: audio, training, export. Made for one night on two CPU cores.
#   HOURS  of audio to make (150)                MINUTES  of training (480)
#   WORK   where all of it goes (work/, not in git)    PYTHON  with torch, numpy, scipy and onnx (/usr/bin/python3)
set -euo pipefail
export HOURS=${HOURS:-150} MINUTES=${MINUTES:-480}
. "$(dirname "$0")/needs.sh"

# The training allocates and frees large blocks in every step, which the C library gives back to the system each time. jemalloc keeps
# them for five seconds; kept for ever (a decay of -1), they grew to tens of gigabytes.
jemalloc=$(ldconfig -p | awk '/libjemalloc\.so\.2/ { path = $NF } END { print path }')
threads=$(nproc)

"$python" synthesize.py eval
"$python" synthesize.py train --hours "$HOURS"
"$python" reading.py --sentences "$(awk "BEGIN { print int($HOURS * 2500) }")"
with_room() {
  LD_PRELOAD=$jemalloc MALLOC_CONF=dirty_decay_ms:5000,muzzy_decay_ms:5000 \
    OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive "$python" "$@"
}
share() { awk "BEGIN { print $MINUTES * $1 }"; }
train() { with_room train.py --minutes "$(share 0.47)" "$@"; }
train
mv "$WORK/net.pt" "$WORK/half.pt"
with_room tones.py --minutes "$(share 0.06)" --from "$WORK/half.pt"
mv "$WORK/net.pt" "$WORK/toned.pt"
train --from "$WORK/toned.pt"
exported
