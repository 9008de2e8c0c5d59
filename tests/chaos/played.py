"""What a model server of its own process plays: the script of the seed that its environment names."""

import os

from tests.chaos.job import cast
from tests.chaos.process import SEED, weather
from tests.support.model_server import chaotic

SCRIPT = chaotic(cast(), weather(int(os.environ[SEED])))
