#!/usr/bin/env bash
# Makes the bundled model from nothing: audio, training, export. Made for one night on two CPU cores; a GPU is used when PyTorch has one.
#   HOURS  of audio to make (150)                MINUTES  of training (480)
#   WORK   where all of it goes (work/, not in git)    PYTHON  with torch, numpy, scipy and onnx (/usr/bin/python3)
set -euo pipefail
# Where the caller stands, and so that the last line's command finds it from any folder.
[ -z "${WORK:-}" ] || WORK=$(realpath -m -- "$WORK")
cd "$(dirname "$0")"
export WORK=${WORK:-$PWD/work} HOURS=${HOURS:-150} MINUTES=${MINUTES:-480}
python=${PYTHON:-/usr/bin/python3}

missing=()
for program in espeak-ng sox tslminfo; do command -v "$program" >/dev/null || missing+=("$program"); done
"$python" -c 'import torch, numpy, scipy, onnx' || missing+=("Python's torch, numpy, scipy, onnx")
[ -e /usr/lib/x86_64-linux-gnu/sunpinyin/data/lm_sc.t3g ] || missing+=("SunPinyin's data")
if [ ${#missing[@]} -gt 0 ]; then
  echo "not found: ${missing[*]}. On Debian or Ubuntu:" >&2
  echo "apt-get install $(tr '\n' ' ' <packages.txt)" >&2
  exit 1
fi

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
"$python" export.py
echo "judge it against the one in use:  npm run eval -- --no-pairs bundled $WORK/exported"
