"""ROC points, coverage and wording, by hand and by law."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from medfed.report import Metric, coverage_of, print_run, read_run
from medfed.report.roc import MOST_POINTS, roc_points
from medfed.report.svg import ticks
from medfed.report.wording import headline


def area(curve):
    return float(np.trapezoid(curve[:, 1], curve[:, 0]))


def test_a_tie_costs_half():
    curve = roc_points(np.array([0.5, 0.5]), np.array([1, 0]))
    assert curve.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_unknown_labels_and_missing_answers_are_left_out():
    scores = np.array([0.9, 0.1, np.nan, 0.99])
    labels = np.array([1, 0, 0, -1])
    assert area(roc_points(scores, labels)) == 1.0


@pytest.mark.parametrize("labels", [[1, 1], [0, 0], [-1, -1], []])
def test_one_class_alone_has_no_curve(labels):
    assert roc_points(np.ones(len(labels)), np.array(labels, np.int8)) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_the_area_is_the_share_of_pairs_in_order(cases):
    scores = np.array([s for s, _ in cases], float)
    labels = np.array([y for _, y in cases], np.int8)
    curve = roc_points(scores, labels)
    if curve is None:
        assert labels.all() or not labels.any()
        return
    ups, downs = scores[labels == 1][:, None], scores[labels == 0]
    assert area(curve) == pytest.approx(((ups > downs) + 0.5 * (ups == downs)).mean())
    assert (np.diff(curve, axis=0) >= 0).all()


def test_a_long_curve_is_thinned_but_keeps_its_ends():
    rng = np.random.default_rng(0)
    curve = roc_points(rng.random(20_000), rng.integers(2, size=20_000))
    assert len(curve) == MOST_POINTS
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_inside_and_are_evenly_spaced(low, span):
    values = ticks(low, low + span)
    assert 1 <= len(values) <= 7
    assert all(low - 1e-6 * span - 1e-9 <= v <= low + span * 1.000001 + 1e-9 for v in values)


def test_undecided_teachers_are_told_from_flat_ones():
    rng = np.random.default_rng(0)
    decided = coverage_of(rng.choice([-9.0, 9.0], (50, 3)), "multi_label")
    assert decided.warnings == ()
    assert decided.entropy < 0.01
    flat = coverage_of(np.full((50, 3), 9.0), "multi_label")
    assert len(flat.warnings) == 1
    assert "nearly the same" in flat.warnings[0]
    undecided = coverage_of(rng.normal(0, 0.3, (50, 3)), "single_label")
    assert any("undecided" in w for w in undecided.warnings)
    assert sum(undecided.histogram) == undecided.cases == 50


@pytest.mark.parametrize("kind", ["multi_label", "single_label"])
def test_coverage_stands_extreme_logits_and_one_class(kind):
    found = coverage_of(np.array([[1e30], [-1e30]]), kind)
    assert np.isfinite([found.entropy, found.spread]).all()


def with_main_scores(folder, student, site):
    folder.write_metrics([
        Metric("student", "mean", "auroc", *student, 300, 0),
        Metric("site/a", "mean", "auroc", *site, 300, 0),
    ])  # fmt: skip
    return headline(read_run(folder.path)).text


def test_the_headline_does_not_claim_what_intervals_do_not_show(new_folder):
    better = with_main_scores(new_folder("1"), (0.9, 0.88, 0.92), (0.7, 0.68, 0.72))
    assert "the student is better, and the two intervals do not overlap" in better
    unclear = with_main_scores(new_folder("2"), (0.9, 0.8, 0.95), (0.85, 0.79, 0.9))
    assert "does not tell them apart" in unclear
    worse = with_main_scores(new_folder("3"), (0.6, 0.58, 0.62), (0.7, 0.68, 0.72))
    assert "the student is worse" in worse


def printed(path, width=120):
    text = io.StringIO()
    print_run(path, Console(file=text, width=width))
    return text.getvalue()


def test_the_terminal_shows_scores_bytes_and_seconds(fill, new_folder):
    text = printed(fill(new_folder(), synthetic=True).path)
    expected = ["Phantom data", "Distilled student", "Ensemble, weighted by class", "Pneumothorax"]
    expected += ["28.2 MB", "slowest of 4 sites", "1 min 11 s"]
    assert [words for words in expected if words not in text] == []
    assert "partial" not in text


def test_the_terminal_calls_a_partial_run_partial(fill, new_folder):
    text = printed(fill(new_folder(), lost=("west",)).path)
    assert "This run is partial" in text
    assert text.count("(partial run)") == 4


def test_brackets_in_names_are_no_markup(fill, new_folder):
    folder = fill(new_folder(), sites=("[red]x[/red]", "[/bold]"))
    assert "[red]x[/red]" in printed(folder.path)


def test_single_label_tables_hold_both_scores(fill, new_folder, single_label_rows):
    text = printed(fill(new_folder(), single=True).path)
    assert "Accuracy [95 % interval]" in text
    shown = {
        m.metric: m
        for m in single_label_rows
        if m.model == "student" and m.label in ("all", "mean")
    }
    assert set(shown) == {"accuracy", "auroc"}
    assert all(f"{m.value:.3f}" in text for m in shown.values())
