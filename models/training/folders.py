"""Where the sentences and recordings are (DATA), and where everything that is made goes (WORK)."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DATA", HERE / "data"))
WORK = Path(os.environ.get("WORK", HERE / "work"))
