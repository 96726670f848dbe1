"""`coflash truth`, which the command line of coflash finds by the entry point of this distribution."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from coflash.cli.console import errors, output
from coflash.cli.options import Group

app = Group(context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def truth(
    out: Path = Path("results/truth"), publish: Path | None = None, workers: int = 1, quiet: bool = False
) -> None:
    """Fit every measured drive, predict the points held out, and write the page that says how far off they are.

    Options:
        out: `--out -o DIR` The folder for page, figures and scenarios.
        publish: `--publish DIR` Write the page and its images into this folder as well.
        workers: `--on N 1..` Drives fitted at once.
    """
    from coflash.calibrate import fit  # slow to import
    from coflash.calibrate import page as of_drive
    from coflash.calibrate.drive import drive_toml
    from coflash.files import atomic_write
    from coflash_reproduce.output import IMAGES, Output
    from coflash_reproduce.truth.cache import predict_caches
    from coflash_reproduce.truth.drives import FDP_DRIVE, read_drives
    from coflash_reproduce.truth.others import closed_forms, opfcl, reference_simulator
    from coflash_reproduce.truth.page import image_of, markdown

    place = Output(out, publish)
    chosen = list(read_drives())
    fits = []
    with ProcessPoolExecutor(min(workers, len(chosen))) as pool:
        for found in pool.map(fit, chosen):
            fits.append(found)
            place.write_image(image_of(found).removesuffix(".png"), {"png": of_drive.figure(found)})
            atomic_write.write_file(
                out / image_of(found).replace("truth-", "").replace(".png", ".toml"), drive_toml(found)
            )
            if not quiet:
                errors().print(f"{found.measured.name}: {of_drive.verdict(found)}", markup=False, highlight=False)
    spares = [found.model.parameters.spare for found in fits if found.measured.name == FDP_DRIVE]
    caches = [one for spare in spares for one in predict_caches(spare)]
    page = place.write_page("truth", markdown(fits, [*closed_forms(), reference_simulator(), *opfcl()], caches))
    if not quiet:
        output().print(f"page: {page}, images: {page.parent / IMAGES}", highlight=False, soft_wrap=True)
