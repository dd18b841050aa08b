"""The objectives of this folder, importable here and by the processes that a test starts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
