import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Oracles"))  # for the servers and the helpers

from fixtures import built, config, dot, ready, start  # noqa: E402, F401
