"""Patients stay together, and every party means the same public images in the same order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.data import Cases, PublicManifest, Split, check_leakage, split_by_patient
from medfed.data.cases import ArrayPixels
from medfed.errors import CheckpointError, LeakageError, ManifestMismatch


def cases_of(patients, labels=None, seed=0):
    count = len(patients)
    images = np.random.default_rng(seed).integers(0, 255, (count, 4, 4), np.uint8)
    table = np.zeros((count, 3), np.int8) if labels is None else np.array(labels, np.int8)
    names = tuple(f"case-{i}" for i in range(count))
    return Cases(names, tuple(patients), table, ArrayPixels(images), np.arange(count))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=120), st.integers(0, 1000))
def test_no_patient_is_in_two_parts_and_no_case_is_lost(patients, seed):
    cases = cases_of([str(p) for p in patients])
    split = split_by_patient(cases, fractions=(0.6, 0.2, 0.2), seed=seed)
    parts = [split.train, split.validation, split.test]
    assert sorted(np.concatenate(parts)) == list(range(len(patients)))
    owners = [{cases.patients[i] for i in part} for part in parts]
    assert not owners[0] & owners[1]
    assert not owners[0] & owners[2]
    assert not owners[1] & owners[2]


def test_a_rare_class_reaches_both_parts():
    labels = [[i < 40, i in (3, 77), 0] for i in range(100)]
    cases = cases_of([str(i) for i in range(100)], labels)
    split = split_by_patient(cases, fractions=(0.5, 0.5, 0.0), seed=1)
    assert cases.labels[split.train, 1].sum() == cases.labels[split.validation, 1].sum() == 1
    assert abs(int(cases.labels[split.train, 0].sum()) - 20) <= 1
    assert len(split.test) == 0


def test_the_same_seed_splits_the_same_and_another_does_not():
    cases = cases_of([str(i) for i in range(60)])
    one, two, three = (split_by_patient(cases, fractions=(0.7, 0.3, 0), seed=s) for s in (5, 5, 6))
    assert np.array_equal(one.train, two.train)
    assert not np.array_equal(one.train, three.train)


def test_a_kept_split_comes_back_and_knows_its_cases(tmp_path):
    cases = cases_of([str(i) for i in range(20)])
    split = split_by_patient(cases, fractions=(0.7, 0.3, 0), seed=5)
    path = tmp_path / "split.json"
    split.save(path, cases)
    assert np.array_equal(Split.load(path, cases).train, split.train)
    with pytest.raises(CheckpointError, match="other cases"):
        Split.load(path, cases.subset(range(19)))
    path.write_text(path.read_text().replace('"test": []', '"test": [1]'))
    with pytest.raises(CheckpointError, match="was changed"):
        Split.load(path, cases)


def test_a_patient_in_two_parts_is_named():
    cases = cases_of(["a", "a", "b"])
    with pytest.raises(LeakageError, match="case-1"):
        check_leakage(cases, Split(np.array([0]), np.array([1]), np.array([2])))


def test_an_identical_image_of_two_patients_is_named():
    cases = cases_of(["a", "b"])
    twin = Cases(cases.names, cases.patients, cases.labels, cases.pixels, np.array([0, 0]))
    split = Split(np.array([0]), np.array([1]), np.array([], np.int64))
    check_leakage(twin, split)
    with pytest.raises(LeakageError, match="image of case-1"):
        check_leakage(twin, split, pixels=True)


def test_a_set_in_another_order_is_put_in_the_agreed_one():
    cases = cases_of([str(i) for i in range(12)])
    manifest = PublicManifest.of(cases)
    shuffled = cases.subset(np.random.default_rng(3).permutation(12))
    ordered = shuffled.subset(manifest.order(shuffled))
    assert [ordered.digest(i) for i in range(12)] == [row.tobytes() for row in manifest.digests]
    assert np.array_equal(PublicManifest.of(shuffled).digests, manifest.digests)


@pytest.mark.parametrize("theirs", [range(11), range(1, 13)])
def test_a_set_that_differs_by_one_image_is_refused(theirs):
    cases = cases_of([str(i) for i in range(13)])
    manifest = PublicManifest.of(cases.subset(range(12)))
    with pytest.raises(ManifestMismatch, match="1 images of the agreed set are missing") as caught:
        manifest.order(cases.subset(theirs))
    assert "case-" not in caught.value.upstream


def test_a_set_with_one_image_more_is_refused():
    cases = cases_of([str(i) for i in range(13)])
    manifest = PublicManifest.of(cases.subset(range(12)))
    with pytest.raises(ManifestMismatch, match="case-12"):
        manifest.order(cases)


def test_an_image_that_stands_twice_is_named():
    cases = cases_of(["a", "b"])
    twice = cases.subset([0, 1, 0])
    with pytest.raises(ManifestMismatch, match="same image"):
        PublicManifest.of(twice)
