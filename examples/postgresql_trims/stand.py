"""PostgreSQL on a file system of a served device, with the discards that its deallocations become."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(os.environ.get("POSTGRESQL", "/usr/local/pgsql"))
"""Where the patched PostgreSQL is installed."""


def command(*words: object, check: bool = True, user: str = "root", more: dict[str, str] | None = None) -> str:
    """Run a command, PostgreSQL's first; return what it wrote."""
    line = [str(word) for word in words]
    if user != "root":
        line = ["runuser", "-u", user, "--", *line]
    environment = {
        **os.environ,
        "PATH": f"{SERVER}/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{SERVER}/lib",
        "LC_ALL": "C",
        **(more or {}),
    }
    # A server outlives the command that begins it, so it must not keep a pipe open.
    with tempfile.TemporaryFile() as out:
        done = subprocess.run(line, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(line)} ended with {done.returncode}:\n{text[-2000:]}")
    return text


class Stand:
    """A served device seen as a loop device, its mounted ext4, and a server of PostgreSQL in it."""

    def __init__(self, address: str, place: Path) -> None:
        """Show the device at `address` as a loop device."""
        self.server = 0
        self.place, self.disk, self.mount = place, place / "disk", place / "mnt"
        self.data = self.mount / "data"
        for folder in (self.disk, self.mount):
            folder.mkdir(parents=True, exist_ok=True)
        place.chmod(0o711)
        self.fuse = subprocess.Popen(["/usr/bin/nbdfuse", str(self.disk), address], stderr=subprocess.DEVNULL)
        while not (self.disk / "nbd").exists():
            if self.fuse.poll() is not None:
                raise RuntimeError(f"nbdfuse ended with {self.fuse.returncode}")
            time.sleep(0.02)
        # Blocks as large as a flash page: a page is discarded whole.
        self.loop = command("losetup", "--find", "--show", "-b", 4096, self.disk / "nbd").strip()

    def make(self) -> None:
        """Make an ext4 with a small journal."""
        command("mkfs.ext4", "-q", "-b", 4096, "-m", 0, "-N", 2048, "-J", "size=4", "-E", "nodiscard", self.loop)

    def mounted(self) -> None:
        """Mount it, so that what is deallocated becomes a discard when the journal commits."""
        command("mount", "-o", "discard,noatime", self.loop, self.mount)

    def made(self) -> None:
        """Make a cluster with checksums."""
        self.data.mkdir()
        command("chown", "postgres", self.data)
        self.as_user("initdb", "-k", "-D", self.data, "--wal-segsize=1", "--no-locale", "--auth=trust")

    def as_user(self, *words: object, check: bool = True) -> str:
        """Run a command of PostgreSQL as its user."""
        return command(*words, check=check, user="postgres")

    def preloaded(self, in_place: Path | None) -> dict[str, str]:
        """Return the environment in which a hole is a discard below the file system."""
        return {"LD_PRELOAD": str(in_place), "BLOCK_DEVICE": self.loop} if in_place else {}

    def deallocate(self, file: Path, begin: int, length: int, in_place: Path | None = None) -> None:
        """Deallocate a part of a file."""
        command("fallocate", "--punch-hole", "-o", begin, "-l", length, file, more=self.preloaded(in_place))

    def begin(self, settings: dict[str, object], in_place: Path | None = None) -> None:
        """Begin the server; with the library `in_place` it makes no holes, and the drive alone forgets a page."""
        more = self.preloaded(in_place)
        command("chown", "postgres", self.loop)
        self.sockets = Path(tempfile.mkdtemp(prefix="pg"))
        command("chown", "postgres", self.sockets)
        options = {"listen_addresses": "", **settings}
        words = " ".join(f"-c {name}={value}" for name, value in options.items())
        log = self.sockets / "log"
        begin = (
            "pg_ctl",
            "-D",
            self.data,
            "-w",
            "-t",
            120,
            "-s",
            "-l",
            log,
            "-o",
            f"-k {self.sockets} {words}",
            "start",
        )
        try:
            command(*begin, user="postgres", more=more)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{log.read_text()[-3000:]}") from error
        self.server = int((self.data / "postmaster.pid").read_text().split()[0])

    def sql(self, text: str) -> str:
        """Return the answer to a query."""
        return self.as_user("psql", "-h", self.sockets, "-d", "postgres", "-qtA", "-v", "ON_ERROR_STOP=1", "-c", text)

    def pgbench(self, *words: object, check: bool = True) -> str:
        """Run pgbench."""
        return self.as_user("pgbench", "-h", self.sockets, *words, "postgres", check=check)

    def end(self) -> None:
        """End the server in its order."""
        self.as_user("pg_ctl", "-D", self.data, "-m", "fast", "-s", "-t", 120, "stop")

    def killed(self) -> None:
        """End the server as a crash does, on a device that may be gone."""
        with contextlib.suppress(ProcessLookupError):
            while self.server:
                os.kill(self.server, signal.SIGQUIT)
                time.sleep(0.02)

    def close(self) -> None:
        """Give mount, loop device and FUSE back, as far as they are there."""
        for words in (("umount", self.mount), ("losetup", "-d", self.loop), ("umount", "--lazy", self.disk)):
            for _ in range(100):
                if not subprocess.run([str(word) for word in words], capture_output=True, check=False).returncode:
                    break
                if words[0] == "umount" and not os.path.ismount(words[-1]):
                    break
                time.sleep(0.05)
        try:
            self.fuse.wait(20)
        except subprocess.TimeoutExpired:
            self.fuse.kill()


@contextlib.contextmanager
def stand(address: str, place: Path) -> Iterator[Stand]:
    """Yield a stand, and take it down."""
    made = Stand(address, place)
    try:
        yield made
    finally:
        made.close()
