"""How long the foreign peers wait for anything, in seconds: as long as the other tests do."""

import os

LENGTH = 60 * float(os.environ.get("TEST_PATIENCE", "1"))
