#!/usr/bin/env bash
# Goes on with the bundled model on a GPU, which hears in minutes what a night on a CPU cannot.
#   MINUTES  of training (7)                     SENTENCES  to draw (800000)
#   WORK     where all of it goes (work/, not in git)    PYTHON  with torch (CUDA), numpy, scipy and onnx (/usr/bin/python3)
set -euo pipefail
. "$(dirname "$0")/needs.sh"

"$python" synthesize.py eval
# For the statistics of reopen.py, and for rounding.py; the training makes its own.
"$python" synthesize.py train --hours 1
"$python" debian_texts.py
"$python" reading.py --sentences "${SENTENCES:-800000}"
"$python" reopen.py
"$python" train_gpu.py --minutes "${MINUTES:-7}" --from "$WORK/reopened.pt"
exported
