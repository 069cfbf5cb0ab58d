"""What a run says about itself in words: the privacy statement and the student's model card."""

import math
from collections import defaultdict
from dataclasses import dataclass

from medfed.report.reading import RunRecord
from medfed.report.records import MEAN, WHOLE
from medfed.report.wording import duration, headline, interval, listed, score_name, size

__all__ = [
    "PHANTOM_WARNING",
    "Left",
    "model_card",
    "privacy_markdown",
    "privacy_paragraphs",
    "what_left",
]

PHANTOM_WARNING = (
    "Phantom data. The images of this run were drawn by a program. Its scores say that the "
    "software works; they say nothing about patients, and this student must not be shown a real "
    "image."
)
LOAD = """from load import classes, model, pipeline  # in the folder student/
x = pipeline(image)  # raw image (H, W) in [0, 1]
logits = model(torch.from_numpy(x)[None])  # (1, classes)"""


@dataclass(frozen=True)
class Left:
    """Everything of one kind that left one site."""

    site: str
    kind: str
    messages: int
    total_bytes: int
    shapes: str
    mechanism: str
    digests: tuple[str, ...]


def what_left(record: RunRecord) -> list[Left]:
    """What left each site, by site and kind, in the order in which it first left."""
    groups = defaultdict(list)
    for d in record.disclosures:
        groups[d.site, d.kind].append(d)
    found = []
    for (site, kind), items in sorted(groups.items(), key=lambda item: item[0][0]):
        shapes = "; ".join(
            dict.fromkeys(
                f"{name} {'×'.join(map(str, shape))}"
                for d in items
                for name, shape in d.shapes.items()
            )
        )
        mechanisms = listed(list(dict.fromkeys(d.mechanism for d in items)))
        digests = tuple(d.sha256 for d in items)
        total = sum(d.total_bytes for d in items)
        found.append(
            Left(site, kind, len(items), total, shapes or "no arrays", mechanisms, digests)
        )
    return found


def privacy_paragraphs(record: RunRecord) -> list[str]:
    """What the run disclosed and what that means, without a claim that does not hold."""
    facts = record.facts
    found = [
        "No image, no mask, no weight of a site's network and no patient identifier is part of any "
        "message of this method. What left each site is listed below, with the digest that also "
        "stands in that site's own ledger, so a hospital can compare the two.",
    ]
    if facts.guarantee:
        found.append(f"Formal guarantee: {facts.guarantee}")
    else:
        found.append(
            "No formal differential privacy. A site's predictions on the public images depend on "
            "its patients, and nothing in this run bounds by how much. Published attacks tell from "
            "such predictions which labels are common at a site and, for some patients, whether "
            "they were in its training data."
        )
    found.append(
        "Quantised logits save bytes. Rounding is deterministic, so it protects nobody by itself."
    )
    if facts.noise == "none":
        found.append("No noise was added to the logits.")
    else:
        found.append(
            f"Noise on the logits: {facts.noise}, drawn once for every case and class. It makes "
            "an inversion harder. A budget that means something needs noise far above the size of "
            "a logit, so this run claims none."
        )
    found += [
        "Label counts, where a site's policy lets them out, are rounded; they still tell roughly "
        "how common each finding is at that site.",
        "The server sees every message. Whoever holds the student alone sees less: that is a "
        "weaker adversary than the one above, and a different claim.",
    ]
    return found


def privacy_markdown(record: RunRecord) -> str:
    """The privacy statement as a file of its own."""
    lines = [f"# Privacy statement: {record.facts.name}", ""]
    if record.partial:
        lines += ["**Partial run:** " + "; ".join(record.shortfalls), ""]
    for text in privacy_paragraphs(record):
        lines += [text, ""]
    lines += ["## What left each site", ""]
    lines += [
        "| site | kind | messages | bytes | arrays | mechanism |",
        "|---|---|---|---|---|---|",
    ]
    for row in what_left(record):
        cells = (row.site, row.kind, row.messages, row.total_bytes, row.shapes, row.mechanism)
        lines.append("| " + " | ".join(_cell(c) for c in cells) + " |")
    lines += [
        "",
        "Beside these answers, progress leaves (phase, counts of epochs and batches) where the",
        "site's policy lets it.",
    ]
    return "\n".join(lines) + "\n"


def model_card(record: RunRecord) -> str:
    """The card that goes with the student's weights."""
    facts, status = record.facts, record.status
    lines = [f"# {facts.name}: student distilled by {facts.method}", ""]
    if facts.synthetic:
        lines += [f"> **{PHANTOM_WARNING}**", ""]
    if record.partial:
        lines += ["> **Partial run.** " + "; ".join(record.shortfalls), ""]
    lines += [headline(record).text, "", "Not a medical device. Not for use on patients.", ""]
    lines += ["## Load", "", "```python", LOAD, "```", ""]
    classes = [c + (" (nobody annotated it)" if c in facts.dropped else "") for c in facts.classes]
    pairs = {
        "Task": f"{facts.task} ({facts.task_kind.replace('_', ' ')})",
        "Outputs": f"logits, in this order: {', '.join(classes)}",
        "Network": facts.networks.get("student", "see student.json"),
        "Weights": size(facts.student_bytes),
        "Taught by": f"{len(facts.sites)} sites on {facts.public_cases} unlabelled public images",
        "Images": facts.data,
        "Checkpoint chosen by": facts.selection,
        "Noise": facts.noise,
        "Formal privacy guarantee": facts.guarantee or "none",
        "Seed": str(facts.seed),
        "Started, ended": f"{status.started}, {status.ended or 'not ended'}",
        "Versions": ", ".join(f"{k} {v}" for k, v in facts.versions.items()),
    }
    lines += [f"- **{k}:** {v}" for k, v in pairs.items()]
    lines += [
        "",
        "## Scores",
        "",
        f"| class | {score_name(record)[0]} [95 %] | cases | positives |",
    ]
    lines += ["|---|---|---|---|"]
    for m in record.metrics:
        if m.model == "student" and not math.isnan(m.value):
            label = {MEAN: "mean over classes", WHOLE: "all cases"}.get(m.label, m.label)
            lines.append(
                f"| {_cell(label)}: {m.metric} | {interval(m)} | {m.cases} | {m.positives} |"
            )
    seconds = sum(p.seconds for p in record.phases if p.party == "server")
    lines += ["", f"The server worked for {duration(seconds)}.", ""]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
