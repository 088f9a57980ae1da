"""The reference page is that of the docstrings."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="annotations are shown in another way")
def test_the_reference_is_current(tmp_path):
    page = tmp_path / "python.md"
    subprocess.run([sys.executable, str(ROOT / "python/reference.py"), str(page)], check=True, cwd=tmp_path)
    current = (ROOT / "docs/python.md").read_text("utf-8")
    assert page.read_text("utf-8") == current, "python python/reference.py docs/python.md"
