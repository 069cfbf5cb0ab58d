"""Planted names stay in: nothing of a site's paths, patients or files is in anything that leaves it."""

import numpy as np
import pytest
from PIL import Image

from medfed.messages import KINDS
from medfed.wire import decode

pytestmark = pytest.mark.usefixtures("quick")
PATH, PATIENT, CASE = "canary-ward-9471", "88231177", "canary-case-5503"
CANARIES = (PATH, PATIENT, CASE)
TO_SERVER = {"opened", "trained", "range_answer", "logits", "vote_answer", "closed", "refusal"}


def canary_site(federation, helpers, more="", shared=None):
    root = federation.folder / PATH
    (root / "images").mkdir(parents=True)
    rows = ["Image Index,Finding Labels,Follow-up #,Patient ID,OriginalImage[Width,Height]"]
    for n in range(24):
        name = f"{CASE}-{n:03d}.png"
        rows.append(f"{name},{('No Finding', 'Nodule', 'Mass')[n % 3]},0,{PATIENT}{n},1024,1024")
        pixels = np.random.default_rng(n).integers(0, 255, (16, 16)).astype(np.uint8)
        Image.fromarray(pixels).save(root / "images" / name)
    (root / "Data_Entry_2017.csv").write_text("\n".join(rows) + "\n")
    train = f'\n[datasets.train]\nkind = "nih_cxr14"\nroot = "{root}"\nimages = ["images"]\n{more}'
    federation.write(
        "site-2", train + (helpers.SHARED if shared is None else shared) + helpers.PRIVACY
    )
    return root


class Tapped:
    """An endpoint whose answers are kept."""

    def __init__(self, endpoint, heard):
        self.endpoint, self.heard = endpoint, heard

    def handle(self, data):
        self.heard.append(self.endpoint.handle(data))
        return self.heard[-1]


def run_tapped(federation, job=None):
    heard = []
    folder = federation.run_through(lambda site, endpoint: Tapped(endpoint, heard), job)
    return folder, heard


def nothing_leaked(folder, heard):
    outside = [
        path for path in folder.path.rglob("*")
        if path.is_file() and "parties" not in path.relative_to(folder.path).parts
    ]  # fmt: skip
    assert len(outside) >= 8
    for canary in CANARIES:
        assert not [data for data in heard if canary.encode() in data]
        assert not [path for path in outside if canary.encode() in path.read_bytes()]
    kinds = {decode(data, sender="site").kind for data in heard}
    assert kinds <= TO_SERVER <= set(KINDS)
    return kinds


def test_a_whole_run_tells_no_name(federation, helpers):
    canary_site(federation, helpers)
    job = federation.job(
        fedkd={"quantiser": "paper", "levels": 16}, distillation={"select_by": "vote", "epochs": 3}
    )
    kinds = nothing_leaked(*run_tapped(federation, job))
    assert {"opened", "trained", "range_answer", "logits", "vote_answer", "closed"} <= kinds


def truncate(root):
    path = root / "images" / f"{CASE}-003.png"
    path.write_bytes(path.read_bytes()[:50])


def lose(root):
    for path in (root / "images").iterdir():
        path.unlink()


def mislabel(root):
    table = root / "Data_Entry_2017.csv"
    table.write_text(table.read_text().replace("Nodule", f"Nodule {PATH}"))


def empty_table(root):
    (root / "Data_Entry_2017.csv").write_text(PATIENT)


@pytest.mark.parametrize("damage", [truncate, lose, mislabel, empty_table])
def test_a_refusal_tells_no_name(federation, helpers, damage, caplog):
    damage(canary_site(federation, helpers, 'on_bad_file = "stop"\n'))
    folder, heard = run_tapped(federation)
    assert "refusal" in nothing_leaked(folder, heard)
    assert PATH in caplog.text  # the site's own log says where


def test_an_unexpected_error_tells_no_name(federation, helpers, monkeypatch, caplog):
    from medfed.roles.fedkd_site import FedKDSite

    def broken(self):
        raise RuntimeError(f"/data/{PATH}/{PATIENT}/{CASE}.png")

    monkeypatch.setattr(FedKDSite, "_train", broken)
    job, heard = federation.job(), []
    with pytest.raises(Exception, match="unexpected error; the site's own log says more"):
        federation.run_through(lambda site, endpoint: Tapped(endpoint, heard), job)
    assert nothing_leaked(federation.open(job), heard) == {"opened", "refusal"}
    assert PATH in caplog.text


def test_the_ledger_lists_every_message_that_left(federation, helpers):
    import hashlib
    import json

    heard = {"site-1": [], "site-2": []}
    folder = federation.run_through(lambda site, endpoint: Tapped(endpoint, heard[site]))
    for site, messages in heard.items():
        lines = (folder.path / "parties" / site / "ledger.jsonl").read_text().splitlines()
        listed = [json.loads(line)["sha256"] for line in lines]
        assert listed == [hashlib.sha256(data).hexdigest() for data in messages]
        seen = [
            r["sha256"] for r in helpers.lines(folder, "disclosures.jsonl") if r["site"] == site
        ]
        assert seen == listed


def test_a_site_that_lets_no_counts_out_refuses_before_it_trains(federation, helpers):
    federation.write("site-2", helpers.phantoms("train", 2000) + helpers.SHARED)
    folder, _ = run_tapped(federation)
    assert folder.status().outcome == "partial"
    assert "label_counts" in folder.status().reason
    assert not list((folder.path / "parties" / "site-2").rglob("training"))
