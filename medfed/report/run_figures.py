"""Figures of the run itself: bytes, seconds, distillation, and what the teachers know."""

import math
from collections import defaultdict

from medfed.report.reading import RunRecord
from medfed.report.svg import Canvas, linear, ticks
from medfed.report.wording import MOST_SITES_SHOWN, duration, number, size

__all__ = [
    "coverage_figure",
    "distillation_figure",
    "phase_figure",
    "phase_seconds",
    "site_bytes",
    "wire_figure",
]

WIDTH = 760.0
LABELS = 226.0
NUMBERS = 172.0
ROW = 26.0


def site_bytes(record: RunRecord) -> dict[str, tuple[int, int]]:
    """Bytes down to and up from every site, sites in name order."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in record.wire:
        found[row.site][row.direction == "up"] += row.total_bytes
    return {site: (found[site][0], found[site][1]) for site in sorted(found)}


def wire_figure(record: RunRecord) -> str:
    """Bytes a site received and sent, beside one round of weight averaging; a logarithmic axis."""
    rows = site_bytes(record)
    if not rows:
        return ""
    if len(rows) > MOST_SITES_SHOWN:
        mean = tuple(sum(r[i] for r in rows.values()) // len(rows) for i in (0, 1))
        rows = {f"mean of {len(rows)} sites": (mean[0], mean[1])}
    weights = record.facts.student_bytes
    values = [max(v, 1) for pair in rows.values() for v in pair] + [weights] * bool(weights)
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values) * 1.05))
    place = linear(low, max(high, low + 1), LABELS, WIDTH - NUMBERS)
    bottom = 8 + ROW * (len(rows) + bool(weights))
    canvas = Canvas(WIDTH, bottom + 38, "Bytes on the wire of every site, against weight averaging")
    for power in range(low, max(high, low + 1) + 1):
        canvas.line(place(power), 8, place(power), bottom, "grid")
        canvas.text(place(power), bottom + 16, _power_of_ten(power), "tick", anchor="middle")
    middle = (LABELS + WIDTH - NUMBERS) / 2
    canvas.text(
        middle, bottom + 33, "bytes, each line ten times the one before", "axis", anchor="middle"
    )
    y = 8 + ROW / 2
    for site, (down, up) in rows.items():
        canvas.text(LABELS - 14, y + 4, site, "name", anchor="end")
        ends = place(math.log10(max(down, 1))), place(math.log10(max(up, 1)))
        canvas.line(min(ends), y, max(ends), y, "whisker site")
        canvas.dot(ends[0], y, 5, "fill site", f"down to {site}: {down} bytes")
        canvas.dot(ends[1], y, 5, "fill student", f"up from {site}: {up} bytes")
        canvas.text(WIDTH - NUMBERS + 16, y + 4, f"{size(up)} up", "value student")
        y += ROW
    if weights:
        canvas.text(LABELS - 14, y + 4, "one round of weight averaging", "name", anchor="end")
        canvas.diamond(
            place(math.log10(weights)), y, 5, "fill teacher", f"{weights} bytes each way"
        )
        canvas.text(WIDTH - NUMBERS + 16, y + 4, f"{size(weights)} up", "value teacher")
    return canvas.svg()


def phase_seconds(record: RunRecord) -> list[tuple[str, str, float]]:
    """Phase, whose time it is, and seconds; of the sites the slowest, for which the others wait."""
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for p in record.phases:
        spent[p.phase, p.party] += p.seconds
    found: list[tuple[str, str, float]] = []
    for phase in dict.fromkeys(p.phase for p in record.phases):
        server = [s for (f, party), s in spent.items() if f == phase and party == "server"]
        sites = [s for (f, party), s in spent.items() if f == phase and party != "server"]
        found += [(phase, "server", s) for s in server]
        if sites:
            found.append((phase, f"slowest of {len(sites)} sites", max(sites)))
    return found


def phase_figure(record: RunRecord) -> str:
    """Seconds of every phase."""
    rows = phase_seconds(record)
    if not rows:
        return ""
    longest = max(max(s for *_, s in rows), 1e-3)
    place = linear(0, longest, LABELS, WIDTH - NUMBERS)
    bottom = 8 + ROW * len(rows)
    canvas = Canvas(WIDTH, bottom + 38, "Seconds of every phase")
    for value in ticks(0, longest):
        canvas.line(place(value), 8, place(value), bottom, "grid")
        canvas.text(place(value), bottom + 16, f"{value:g}", "tick", anchor="middle")
    canvas.text((LABELS + WIDTH - NUMBERS) / 2, bottom + 33, "seconds", "axis", anchor="middle")
    for i, (phase, whose, seconds) in enumerate(rows):
        y = 8 + ROW * (i + 0.5)
        canvas.text(LABELS - 14, y + 4, f"{phase} ({whose})", "name", anchor="end")
        role = "ensemble" if whose == "server" else "site"
        canvas.bar(LABELS, y - 7, place(seconds) - LABELS, 14, f"fill {role}", f"{seconds:.2f} s")
        canvas.text(WIDTH - NUMBERS + 16, y + 4, duration(seconds), "value")
    return canvas.svg()


def distillation_figure(record: RunRecord) -> str:
    """The student's loss and its agreement with the ensemble, epoch by epoch."""
    if len(record.history) < 2:
        return ""
    canvas = Canvas(WIDTH, 236, "Distillation: loss and agreement by epoch")
    series = {
        "loss, public images": [e.loss for e in record.history],
        "agreement with the ensemble, held out": [e.agreement for e in record.history],
    }
    for i, (name, values) in enumerate(series.items()):
        _curve(canvas, record, name, values, x=56 + i * 384.0)
    return canvas.svg()


def _curve(canvas: Canvas, record: RunRecord, name: str, values: list[float], x: float) -> None:
    epochs = [e.epoch for e in record.history]
    finite = [v for v in values if not math.isnan(v)] or [0.0]
    low, high = min(finite), max(finite)
    margin = (high - low or 1.0) * 0.06
    across = linear(epochs[0], epochs[-1], x, x + 310)
    up = linear(low - margin, high + margin, 190, 28)
    canvas.text(x, 14, name, "panel-title")
    for value in ticks(low - margin, high + margin, 4):
        canvas.line(x, up(value), x + 310, up(value), "grid")
        canvas.text(x - 8, up(value) + 4, f"{value:g}", "tick", anchor="end")
    for value in ticks(epochs[0], epochs[-1], 6):
        canvas.text(across(value), 208, f"{value:g}", "tick", anchor="middle")
    canvas.text(x + 155, 226, "epoch", "axis", anchor="middle")
    points = [(across(e), up(v)) for e, v in zip(epochs, values, strict=True) if not math.isnan(v)]
    canvas.path(points, "line student")
    for e, v in zip(record.history, values, strict=True):
        if e.selected and not math.isnan(v):
            canvas.line(across(e.epoch), 28, across(e.epoch), 190, "chance")
            canvas.dot(across(e.epoch), up(v), 5, "fill student", f"epoch {e.epoch}: {number(v)}")


def _power_of_ten(power: int) -> str:
    """10^4 bytes as "10 kB"."""
    return f"{10 ** (power % 3)} {('B', 'kB', 'MB', 'GB', 'TB')[min(power // 3, 4)]}"


def coverage_figure(record: RunRecord) -> str:
    """How many public cases lie in each tenth of the ensemble's entropy."""
    coverage = record.coverage
    if coverage is None or not sum(coverage.histogram):
        return ""
    canvas = Canvas(WIDTH, 190, "Public cases by how decided the teachers are about them")
    most = max(coverage.histogram)
    across, up = linear(0, len(coverage.histogram), 56, WIDTH - 20), linear(0, most, 140, 24)
    for i, count in enumerate(coverage.histogram):
        x, next_x = across(i), across(i + 1)
        canvas.bar(
            x + 2, up(count), next_x - x - 4, 140 - up(count), "fill teacher", f"{count} cases"
        )
        if count:
            percent = 100 * count / coverage.cases
            share = f"{percent:.0f} %" if percent >= 1 else "< 1 %"
            canvas.text((x + next_x) / 2, up(count) - 6, share, "tick", anchor="middle")
        canvas.text(x, 156, f"{i / 10:g}", "tick", anchor="middle")
    canvas.text(across(len(coverage.histogram)), 156, "1", "tick", anchor="middle")
    canvas.line(across(0), 140, across(len(coverage.histogram)), 140, "base")
    canvas.text(56, 178, "← certain", "axis")
    canvas.text(WIDTH / 2 + 18, 178, "entropy of the ensemble's answer", "axis", anchor="middle")
    canvas.text(WIDTH - 20, 178, "undecided →", "axis", anchor="end")
    return canvas.svg()
