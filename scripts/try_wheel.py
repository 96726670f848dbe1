"""Install the wheel of a folder in an empty environment, and use it there as one does without Rust and a checkout.

It says how large the wheel is, its core, and what is installed beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

import way_in

_MB = 1_000_000
_STEPS = (
    ("demo", "--quick", "--out", "demo"),
    ("init", "small.toml"),
    ("run", "small.toml", "--out", "runs/small"),
    ("results", "list", "--in", "runs"),
    ("results", "sql", "select run, waf_host from runs", "--in", "runs"),
    ("results", "list", "--out", "runs.csv", "--in", "runs"),
    ("report", "runs", "-o", "small.html"),
)
_LEFT = ("demo/report.html", "runs/small/result.json", "small.html")


def main() -> int:
    """Try the wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is, and no other")
    (wheel,) = parser.parse_args().folder.resolve().glob("*.whl")
    _check_name(wheel)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "env", with_pip=True)
        scripts = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        kept = ("SYSTEMROOT", "TEMP", "TMP", "PIP_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")
        # Neither cargo nor another Python is on this path.
        bare = {key: os.environ[key] for key in kept if key in os.environ} | {
            "PATH": str(scripts),
            "HOME": name,
            "COFLASH_TRACES": str(place / "traces"),
            "COLUMNS": "80",
        }
        python = str(scripts / "python")
        before = _megabytes(place / "env")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", str(wheel)], cwd=place, check=True)
        for step in _STEPS:
            print(f"$ coflash {' '.join(step)}", flush=True)
            subprocess.run([str(scripts / "coflash"), *step], cwd=place, env=bare, check=True)
        way_in.cut_trace(python, place, bare)
        for words in way_in.commands():
            print(f"$ coflash {' '.join(words)}", flush=True)
            if error := way_in.walk([str(scripts / "coflash")], words, place, bare):
                sys.exit(error)
        for file in _LEFT:
            assert (place / file).stat().st_size, file
        print(f"{wheel.name}: {wheel.stat().st_size / _MB:.1f} MB")
        print(f"installed with all it needs: {_megabytes(place / 'env') - before:.0f} MB")
    return 0


def _check_name(wheel: Path) -> None:
    """Check that the wheel fits every Python from 3.10 on, and on Linux other machines than this one."""
    assert "-cp310-abi3-" in wheel.name, wheel.name
    assert sys.platform != "linux" or "-manylinux" in wheel.name or "-musllinux" in wheel.name, wheel.name
    with zipfile.ZipFile(wheel) as content:
        (core,) = (file for file in content.infolist() if file.filename.endswith((".so", ".pyd")))
    assert core.file_size < 25 * _MB, f"{core.filename} has {core.file_size / _MB:.0f} MB: it is not stripped"


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / _MB


if __name__ == "__main__":
    sys.exit(main())
