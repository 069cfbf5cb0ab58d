"""`medfed evaluate`: score segmentations and classifications, and compare two evaluations.

The parts that score import what they need when they run; parsing and --help import no array library.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro

from medfed.errors import ConfigError
from medfed.evaluation.folders.settings import Settings

__all__ = ["classification", "compare", "main", "segmentation"]

VERBS = ("segmentation", "classification", "compare")
USAGE = """usage: medfed evaluate {segmentation,classification,compare} [options]

  segmentation PRED REF      masks of two folders, or a CSV of pairs
  classification SCORES      scores and targets of a CSV
  compare A B                two evaluations of the same cases

`medfed evaluate segmentation --help` shows its options. Exit code: 0 all cases scored, 1 some failed
(the results are written), 2 a wrong option, 3 nothing to score."""
SHOWN = 12  # failed cases printed; all are in the files


def main(argv: list[str]) -> int:
    """Parse and run one of the three."""
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if argv[0] not in VERBS:
        raise ConfigError(f"unknown: {argv[0]!r} (known: {', '.join(VERBS)}).")
    verbs: dict[str, Callable[..., int]] = {
        "segmentation": segmentation,
        "classification": classification,
        "compare": compare,
    }
    return tyro.cli(verbs[argv[0]], args=argv[1:], prog=f"medfed evaluate {argv[0]}")


def segmentation(
    pred: Annotated[Path, tyro.conf.Positional],
    ref: Annotated[Path | None, tyro.conf.Positional] = None,
    settings: Annotated[Settings, tyro.conf.arg(name="")] = Settings(),  # noqa: B008 - frozen
    *,
    out: Path = Path("evaluation"),
    pred_pattern: str = "",
    ref_pattern: str = "",
    images: Path | None = None,
    image_pattern: str = "",
    patient_pattern: str = "",
    workers: int = 0,
    resume: bool = True,
    overlays: int = 6,
    page: bool = True,
    title: str = "",
) -> int:
    """Score masks against references; write cases.csv, cases.json, summary.csv, summary.json, page.html.

    Formats: NIfTI, PNG, TIFF, BMP, DICOM-SEG, .npy, .npz, .mat, ImageScope XML, CPM text, and NRRD or
    MetaImage with SimpleITK. A case that cannot be scored is a row with its reason.

    Args:
        pred: folder of predictions, one file, or a CSV with the columns case, prediction, reference and
            perhaps patient and image.
        ref: folder of references, or one file; left out with a CSV.
        settings: how masks are scored.
        out: folder to write to.
        pred_pattern: where a prediction lies below its folder, such as '{case}_pred.nii.gz'; * stands for
            anything within a name.
        ref_pattern: likewise, such as '{case}/{case}-seg.nii.gz'; a / at the end names a folder with one
            mask an object, such as '{case}/masks/'.
        images: folder of images that the worst cases are drawn on.
        image_pattern: where an image lies below that folder.
        patient_pattern: regular expression that finds the patient in a case's name; its first group
            counts. Without it each case is taken for a patient of its own.
        workers: processes; 0 for one a processor.
        resume: take finished cases of an earlier run with the same files and settings.
        overlays: how many of the worst cases are drawn.
        page: write page.html.
        title: heading of the page.
    """
    from medfed.evaluation.folders.evaluate import evaluate_folder
    from medfed.evaluation.folders.pairing import PatientRule, image_files, pair_files, read_pairs

    patients = PatientRule(patient_pattern)
    if ref is None:
        if pred.suffix.lower() != ".csv":
            raise ConfigError(f"{pred}: give a folder of references too, or a CSV of pairs.")
        pairing = read_pairs(pred, patients=patients)
    else:
        pairing = pair_files(
            pred, ref, pred_pattern=pred_pattern, ref_pattern=ref_pattern, patients=patients
        )
    if images is not None:
        pairing = image_files(pairing, images, image_pattern)
    from medfed.cli.evaluate_tables import Meter, print_folder

    with Meter(len(pairing.pairs)) as meter:
        result = evaluate_folder(
            pairing, settings, out=out, workers=workers, resume=resume, progress=meter.advance
        )
    written = ["cases.csv", "cases.json", "summary.csv", "summary.json"]
    if page:
        from medfed.evaluation.pages.page import segmentation_page
        from medfed.files import write_atomically

        html = segmentation_page(result, title=title or pred.resolve().name, overlays=overlays)
        write_atomically(out / "page.html", html.encode())
        written.append("page.html")
    print_folder(result, out, written, shown=SHOWN)
    return 1 if result.failed else 0


def classification(
    scores: Annotated[Path, tyro.conf.Positional],
    targets: Annotated[Path | None, tyro.conf.Positional] = None,
    *,
    out: Path = Path("evaluation"),
    labels: tuple[str, ...] = (),
    uncertain: Literal["ignore", "zeros", "ones"] = "ignore",
    specificity: float = 0.9,
    bootstrap: int = 2_000,
    seed: int = 0,
    patient_pattern: str = "",
    page: bool = True,
    title: str = "",
) -> int:
    """Score probabilities against targets: AUROC, AUPRC, sensitivity at a specificity, Brier, ECE.

    One CSV holds the columns case, perhaps patient, and for each label `score:LABEL` and
    `target:LABEL` (or just score and target). Or two CSVs hold a column a label each and are joined by
    case. A target is 1, 0, -1 (uncertain) or empty (not labelled).

    Args:
        scores: CSV of scores, or of scores and targets.
        targets: CSV of targets.
        out: folder to write to.
        labels: labels to score; empty for all.
        uncertain: leave targets of -1 out, or count them as negative or positive.
        specificity: at which the sensitivity is given.
        bootstrap: resamples of the 95 % intervals, over patients.
        seed: of the resamples.
        patient_pattern: regular expression that finds the patient in a case's name.
        page: write page.html.
        title: heading of the page.
    """
    from medfed.cli.evaluate_tables import print_labels
    from medfed.evaluation.label_csv import read_label_table
    from medfed.evaluation.label_tables import LabelSettings, evaluate_labels
    from medfed.evaluation.label_tables import write_labels as write

    settings = LabelSettings(uncertain, specificity, bootstrap, seed)
    table = read_label_table(scores, targets, labels=labels, patient_pattern=patient_pattern)
    result = evaluate_labels(table, settings)
    write(out, result)
    if page:
        from medfed.evaluation.pages.classification_page import classification_page
        from medfed.files import write_atomically

        html = classification_page(result, title=title or scores.stem)
        write_atomically(out / "page.html", html.encode())
    print_labels(result, out)
    return 0


def compare(
    first: Annotated[Path, tyro.conf.Positional],
    second: Annotated[Path, tyro.conf.Positional],
    *,
    out: Path | None = None,
    metrics: tuple[str, ...] = (),
    penalty_mm: float = 0.0,
    bootstrap: int = 2_000,
    seed: int = 0,
) -> int:
    """Compare two evaluations of the same cases: Wilcoxon, bootstrap of the difference, effect sizes.

    Args:
        first: folder that `medfed evaluate segmentation` wrote.
        second: another, of the same cases with the same settings.
        out: also write compare.csv and compare.json to this folder.
        metrics: scores to compare; empty for the main ones.
        penalty_mm: what an infinite distance and a failed case count; 0 for the image's diagonal.
        bootstrap: resamples of the 95 % intervals, over patients.
        seed: of the resamples.
    """
    from medfed.cli.evaluate_tables import print_comparison
    from medfed.evaluation.compare import compare_results, write_comparison
    from medfed.evaluation.folders.results import read_results

    result = compare_results(
        read_results(first), read_results(second), metrics=metrics, penalty_mm=penalty_mm,
        bootstrap=bootstrap, seed=seed,
    )  # fmt: skip
    if out is not None:
        write_comparison(out, result)
    print_comparison(result, first, second)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
