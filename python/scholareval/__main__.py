"""`python -m scholareval` is the program `scholareval`."""

import os
import subprocess
import sys

from ._program import find


def main() -> None:
    """Becomes the program, or waits for it where a process cannot be replaced."""
    words = [find(), *sys.argv[1:]]
    if sys.platform != "win32":
        os.execv(words[0], words)
    sys.exit(subprocess.call(words))


if __name__ == "__main__":
    main()
