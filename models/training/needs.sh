# Sourced by run.sh and run-gpu.sh: WORK and python, and what must be there.
# Where the caller stands, and so that the last line's command finds it from any folder.
[ -z "${WORK:-}" ] || WORK=$(realpath -m -- "$WORK")
[[ ${PYTHON:-} != */* ]] || PYTHON=$(realpath -ms -- "$PYTHON") # a virtual environment's is a link, and stays one
cd "$(dirname "${BASH_SOURCE[0]}")"
export WORK=${WORK:-$PWD/work}
python=${PYTHON:-/usr/bin/python3}

missing=()
for program in espeak-ng sox tslminfo; do command -v "$program" >/dev/null || missing+=("$program"); done
"$python" -c 'import torch, numpy, scipy, onnx' || missing+=("Python's torch, numpy, scipy, onnx")
[ -e /usr/lib/x86_64-linux-gnu/sunpinyin/data/lm_sc.t3g ] || missing+=("SunPinyin's data")
[ -d /usr/share/gcin-voice/ogg ] || missing+=("the recorded syllables of gcin-voice")
if [ ${#missing[@]} -gt 0 ]; then
  echo "not found: ${missing[*]}. On Debian or Ubuntu:" >&2
  echo "apt-get install $(tr '\n' ' ' <packages.txt)" >&2
  exit 1
fi

exported() {
  "$python" ngrams.py
  "$python" rounding.py --from "$WORK/net.pt"
  "$python" export.py --from "$WORK/rounded.pt"
  echo "judge it against the one in use:  npm run eval -- --no-pairs bundled $WORK/exported"
}
