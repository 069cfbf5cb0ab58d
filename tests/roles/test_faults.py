"""One site's trouble: it is named, the others go on, and nothing of it reaches the result."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from medfed.errors import NotEnoughSites, RunFolderError, UnknownAlias
from medfed.messages import LogitsUpload, Opened, Trained
from medfed.report import RunFolder
from medfed.roles.channel import Failure
from medfed.roles.local import LocalChannel
from medfed.roles.registry import envelope_for
from medfed.wire import decode, encode

pytestmark = pytest.mark.usefixtures("quick")
BAD = "site-2"


def write_nih(root, count=24):
    """A small folder in the NIH layout."""
    (root / "images").mkdir(parents=True)
    rows = ["Image Index,Finding Labels,Follow-up #,Patient ID,OriginalImage[Width,Height]"]
    findings = ("No Finding", "Nodule", "Mass|Nodule", "Cardiomegaly")
    for n in range(count):
        rows.append(f"{n:08d}_000.png,{findings[n % 4]},0,{n},1024,1024")
        pixels = np.random.default_rng(n).integers(0, 255, (16, 16)).astype(np.uint8)
        Image.fromarray(pixels).save(root / "images" / f"{n:08d}_000.png")
    (root / "Data_Entry_2017.csv").write_text("\n".join(rows) + "\n")
    return root


def nih_site(federation, helpers, more=""):
    root = write_nih(federation.folder / "nih")
    train = f'\n[datasets.train]\nkind = "nih_cxr14"\nroot = "{root}"\nimages = ["images"]\n{more}'
    federation.write(BAD, train + helpers.SHARED + helpers.PRIVACY)
    return root


def only_the_bad_site_is_missing(folder, helpers, reason, words):
    """The outcome is partial, receipts and status name the site; the student is that of the others."""
    status = folder.status()
    assert status.outcome == "partial"
    assert BAD in status.reason
    rows = helpers.lines(folder, "receipts.jsonl")
    failed = [row for row in rows if row["status"] != "answered"]
    assert {row["site"] for row in failed} == {BAD}
    assert failed[0]["status"] == reason
    assert words in failed[0]["reason"]
    assert helpers.student(folder) == helpers.student(helpers.alone())


def test_a_truncated_png_is_left_out_and_the_site_goes_on(federation, helpers):
    root = nih_site(federation, helpers)
    path = root / "images" / "00000003_000.png"
    path.write_bytes(path.read_bytes()[:60])
    folder = federation.run()
    assert folder.status().outcome == "complete"
    trained = [r for r in helpers.lines(folder, "disclosures.jsonl") if r["kind"] == "trained"]
    assert len(trained) == 2


def test_a_truncated_png_stops_a_site_that_wants_to_be_stopped(federation, helpers):
    root = nih_site(federation, helpers, 'on_bad_file = "stop"\n')
    path = root / "images" / "00000003_000.png"
    path.write_bytes(path.read_bytes()[:60])
    only_the_bad_site_is_missing(federation.run(), helpers, "refused", "bad_file")


def test_a_table_that_names_missing_files_keeps_the_site_out(federation, helpers):
    root = nih_site(federation, helpers)
    for n in range(12):
        (root / "images" / f"{n:08d}_000.png").unlink()
    only_the_bad_site_is_missing(federation.run(), helpers, "refused", "")


def test_a_public_set_with_another_image_keeps_the_site_out(federation, helpers):
    public = helpers.phantoms("public", 50_000, 23) + helpers.phantoms("benchmark", 70_000)
    federation.write(BAD, helpers.phantoms("train", 2000) + public + helpers.PRIVACY)
    only_the_bad_site_is_missing(federation.run(), helpers, "refused", "manifest")


def test_public_images_in_another_order_and_under_other_names_change_nothing(federation, helpers):
    shared = federation.folder / "one", federation.folder / "two"
    for folder, numbers in zip(shared, (range(20), range(19, -1, -1)), strict=True):
        folder.mkdir()
        for place, n in enumerate(numbers):
            pixels = np.random.default_rng(n).integers(0, 255, (16, 16)).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{place:03d}.png")

    def run(name, second):
        for number, (party, root) in enumerate(
            (("site-1", shared[0]), (BAD, second), ("server", shared[0])), start=1
        ):
            public = f'\n[datasets.public]\nkind = "image_folder"\nroot = "{root}"\n'
            own = helpers.phantoms("train", 1000 * number) + helpers.PRIVACY
            federation.write(party, public + ("" if party == "server" else own))
        return federation.run(federation.job(data={"benchmark": None}), name)

    assert helpers.student(run("a", shared[0])) == helpers.student(run("b", shared[1]))


def test_a_site_without_any_positive_takes_part(federation, helpers):
    root = nih_site(federation, helpers)
    table = root / "Data_Entry_2017.csv"
    text = table.read_text()
    for finding in ("Mass|Nodule", "Nodule", "Cardiomegaly"):
        text = text.replace(finding, "No Finding")
    table.write_text(text)
    for number, job in enumerate((
        federation.job(),
        federation.job(fedkd={"weight_by": "uniform", "quantiser": "paper", "levels": 16}),
    )):  # fmt: skip
        assert federation.run(job, f"run-{number}").status().outcome == "complete"


def test_an_unknown_alias_is_named_at_the_site_and_not_outside_it(federation, helpers, caplog):
    federation.write(BAD, helpers.phantoms("other-canary", 2000) + helpers.SHARED + helpers.PRIVACY)
    folder = federation.run()
    assert "[datasets.train]" in caplog.text
    only_the_bad_site_is_missing(folder, helpers, "refused", "unknown_alias")
    assert "other-canary" not in folder.status().reason


def test_an_unknown_alias_at_the_server_stops_the_run(federation):
    federation.write("server", "")
    with pytest.raises(UnknownAlias, match="public"):
        federation.run()
    assert RunFolder.open(federation.folder / "run").status().outcome == "failed"


class Forged:
    """An endpoint whose answers of one kind are changed on their way."""

    def __init__(self, endpoint, kind, change):
        self.endpoint, self.kind, self.change = endpoint, kind, change

    def handle(self, data):
        answered = self.endpoint.handle(data)
        message = decode(answered, sender="test")
        return self.change(message) if isinstance(message, self.kind) else answered


def changed(**fields):
    return lambda message: encode(dataclasses.replace(message, **fields))


def declaring(size):
    """A safetensors header that promises more bytes than come."""

    def change(message):
        data = encode(message)
        length = int.from_bytes(data[:8], "little")
        header = data[8 : 8 + length].replace(
            b'"dtype":"U8","shape":[0]', b'"dtype":"U8","shape":[%d]' % size
        )
        return len(header).to_bytes(8, "little") + header + data[8 + length :]

    return change


def with_nan(message):
    data = encode(dataclasses.replace(message, packed=np.zeros(24 * 14 * 4, np.uint8)))
    return data[: -24 * 14 * 4] + np.full(24 * 14, np.nan, np.float32).tobytes()


FORGERIES = {
    "logits of another question": (LogitsUpload, changed(question="benchmark?")),
    "logits of fewer cases": (LogitsUpload, changed(cases=3)),
    "a wider bound": (LogitsUpload, changed(bound=1e6)),
    "classes that the job lacks": (LogitsUpload, changed(labelled=np.ones(3, bool))),
    "too few bytes": (LogitsUpload, changed(packed=np.zeros(3, np.uint8))),
    "an unknown encoding": (LogitsUpload, changed(encoding="pickle")),
    "confidences that nobody asked for": (LogitsUpload, changed(confidence=np.zeros(5, np.uint8))),
    "a forged kind": (LogitsUpload, lambda message: encode(Trained(1, 1.0, False))),
    "10 GiB declared": (LogitsUpload, declaring(10 << 30)),
    "a header of 4 GiB": (LogitsUpload, lambda message: (4 << 30).to_bytes(8, "little") + b"{}"),
    "noise instead of a message": (LogitsUpload, lambda message: bytes(range(256)) * 4),
    "nothing": (Trained, lambda message: b""),
    "counts of too few classes": (Opened, changed(positives=np.ones(3, np.int64), annotated=np.ones(3, np.int64))),
    "negative counts": (Opened, changed(samples=-5)),
    "another medfed": (Opened, changed(medfed_version="0.0.1")),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_answer_is_left_out(federation, helpers, reference, name):
    kind, change = FORGERIES[name]

    def wrap(site, endpoint):
        return Forged(endpoint, kind, change) if site == BAD else endpoint

    folder = federation.run_through(wrap, trained=reference)
    only_the_bad_site_is_missing(folder, helpers, "invalid", "")


def test_nan_in_float_logits_is_left_out(federation, helpers):
    def wrap(site, endpoint):
        if site != BAD:
            return endpoint
        nan = lambda m: encode(dataclasses.replace(m, packed=_nan_floats(m)))  # noqa: E731
        return Forged(endpoint, LogitsUpload, nan)

    folder = federation.run_through(wrap, federation.job(fedkd={"levels": 0}))
    assert folder.status().outcome == "partial"
    assert "NaN" in folder.status().reason


def _nan_floats(message):
    from medfed.algorithms import packing

    classes = int(message.labelled.sum())
    packed, encoding = packing.pack_floats(np.full((message.cases, classes), np.nan, np.float32))
    assert encoding == message.encoding or encoding.startswith("float")
    return packed


def test_another_medfed_release_is_refused_by_the_site(federation, helpers, monkeypatch):
    import medfed

    class Older:
        def __init__(self, endpoint):
            self.endpoint = endpoint

        def handle(self, data):
            with monkeypatch.context() as patch:
                patch.setattr(medfed, "__version__", "0.0.1")
                return self.endpoint.handle(data)

    folder = federation.run_through(lambda site, e: Older(e) if site == BAD else e)
    only_the_bad_site_is_missing(folder, helpers, "refused", "the site runs medfed 0.0.1")


class Silent(LocalChannel):
    """A channel on which one site gives no answer in one phase."""

    reason, silent_in = "late", "train"

    def ask(self, message, sites, *, phase, deadline_s):
        for site in sorted(sites):
            if site == BAD and phase == self.silent_in:
                yield site, Failure(site, self.reason, "no answer in time")
            else:
                yield from super().ask(message, [site], phase=phase, deadline_s=deadline_s)


@pytest.mark.parametrize(
    ("reason", "phase"), [("late", "train"), ("dead", "predict public"), ("dead", "open")]
)
def test_a_silent_site_is_left_out(federation, helpers, reason, phase):
    job = federation.job()
    folder = federation.open(job)
    channel = Silent(job.federation.sites, federation.endpoint, envelope_for(folder))
    channel.reason, channel.silent_in = reason, phase
    federation.serve(job, channel, folder)
    only_the_bad_site_is_missing(folder, helpers, reason, "no answer in time")


def test_too_few_sites_are_each_named_with_their_reason(three, helpers):
    three.write("site-2", helpers.PRIVACY)
    three.write(
        "site-3", helpers.phantoms("train", 1) + helpers.phantoms("public", 1) + helpers.PRIVACY
    )  # other images
    job = three.job(federation={"min_sites": 2})
    with pytest.raises(NotEnoughSites) as caught:
        three.run(job)
    text = caught.value.local
    assert "1 of 3 sites answered and the job needs 2" in text
    assert "site-2: refused (unknown_alias" in text
    assert "site-3: refused (manifest" in text
    # What is finished is kept, and the mended sites join the next run.
    for number, name in enumerate(three.names, start=1):
        three.write(
            name, helpers.phantoms("train", 1000 * number) + helpers.SHARED + helpers.PRIVACY
        )
    assert three.run(job).status().outcome == "complete"


def test_a_run_folder_that_cannot_be_written_is_refused_at_the_door(federation):
    (federation.folder / "run").write_text("a file")
    with pytest.raises(RunFolderError, match="is a file"):
        federation.run()


def test_a_run_folder_that_fills_up_stops_with_what_to_do(federation, helpers, monkeypatch):
    from medfed.report import run_folder

    real = run_folder.write_atomically

    def full(path, data):
        if "student" in path.parts:
            raise OSError(28, "No space left on device")
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_atomically", full)
        with pytest.raises(RunFolderError, match="--resume"):
            federation.run()
    assert federation.run().status().outcome == "complete"
