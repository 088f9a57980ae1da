"""`python -m scholareval` is the program `scholareval`."""

import os
import subprocess
import sys

from ._program import find

if __name__ == "__main__":
    arguments = [find(), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(arguments[0], arguments)
    sys.exit(subprocess.call(arguments))
