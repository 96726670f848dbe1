"""Convert the configuration of another simulator to a scenario of coflash, and list the settings without a counterpart.

MQSim's ssdconfig.xml and its workload file, NVMeVirt's ssd_config.h, or a script that starts FEMU:

    python examples/imports ssdconfig.xml workload.xml -o mqsim.toml
    python examples/imports ssd_config.h --profile SAMSUNG_970PRO -o nvmevirt.toml
    python examples/imports run-blackbox.sh -o femu.toml

`coflash run mqsim.toml` simulates it. What is read stands in `parameters.txt`, and in a file for each simulator.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from coflash import CoflashError
from imported import Imported
from simulators import imported


def write(found: Imported, out: Path) -> None:
    """Write a scenario to a new file, and tell what it does not say.

    Raises:
        CoflashError: The file exists or cannot be written, or the scenario cannot be run as it stands.
    """
    text = found.to_toml()
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise CoflashError(f"{out}: exists; delete it or name another") from error
    except OSError as error:
        raise CoflashError(f"{out}: cannot be written: {error.strerror}") from error
    for remark in found.remarks:
        print(f"note: {remark}")
    for line in found.lost():
        print(line)
    print(out)
    if problem := found.problem:
        raise CoflashError(f"{out} was written, to be edited: it cannot be run as it stands: {problem}")


def main() -> None:
    """Convert the files that are given. Exit status 2 means an argument or a file that cannot be used."""
    options = argparse.ArgumentParser(prog="python examples/imports", description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="MQSim's XML files, NVMeVirt's ssd_config.h, or a script that starts FEMU",
    )
    options.add_argument(
        "--profile", metavar="NAME", help="NVMeVirt's drive; the number of a scenario of MQSim's workloads"
    )
    options.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="write the scenario to this new file, instead of showing it"
    )
    given = options.parse_args()
    try:
        found = imported(given.files, given.profile)
        if given.out is None:
            print(found.to_toml(), end="")
        else:
            write(found, given.out)
    except CoflashError as error:
        options.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
