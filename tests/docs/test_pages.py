"""The pages say what the code does: examples parse, tables match, nothing comes from elsewhere."""

import re
import tomllib
from pathlib import Path

import pytest

import medfed.errors as errors
from medfed.cli.main import VERBS
from medfed.job import Job, validate_model
from medfed.privacy.policy import DEFAULT_KINDS, SitePolicy

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r'^```toml title="(job|site)\.toml"\n(.*?)^```', re.DOTALL | re.MULTILINE)


def blocks(which):
    found = []
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            if kind == which:
                found.append(pytest.param(text, id=f"{page.stem}-{len(found)}"))
    return found


def first_column(page, heading="|"):
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    cells = [line.split("|")[1].strip() for line in lines if line.startswith(heading)]
    return [re.sub(r"`", "", c) for c in cells if c.startswith("`")]


def nav_pages(entries):
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from nav_pages(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation():
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = list(nav_pages(config["project"]["nav"]))
    assert sorted(listed) == sorted(str(p.relative_to(DOCS)) for p in PAGES)


@pytest.mark.parametrize("text", blocks("job"))
def test_every_job_example_is_a_job(text):
    validate_model(Job, tomllib.loads(text), "example")


@pytest.mark.parametrize("text", blocks("site"))
def test_every_site_example_is_a_site(text, tmp_path):
    from medfed.data import Site

    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    Site.read(path)


def test_the_job_of_the_readme_is_a_job_of_ten_lines():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    job = re.search(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE).group(1)
    validate_model(Job, tomllib.loads(job), "README.md")
    assert len(job.splitlines()) == 10


def test_the_site_of_the_readme_is_a_site(tmp_path):
    from medfed.data import Site

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "site.toml"
    path.write_text(re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1])
    assert set(Site.read(path).datasets) == {"train", "public"}


def keys_of(model, name=""):
    """Every key of a job's tables, nested ones with a dot, as the page names them."""
    from medfed.job import NetworkSpec, StrictModel

    for field_name, field in model.model_fields.items():
        inner, label = field.annotation, field.alias or field_name
        if isinstance(inner, type) and issubclass(inner, StrictModel) and inner is not NetworkSpec:
            nested = f"{label}." if model is not Job else ""
            yield from (f"{nested}{key}" for key in keys_of(inner))
        else:
            yield label


def test_every_key_of_a_job_is_described():
    page = (DOCS / "scientist/job-toml.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")}
    assert rows - {"key"} == set(keys_of(Job))


def test_every_dataset_kind_and_network_is_described():
    from medfed.data.kinds import dataset_kinds
    from medfed.networks import names

    page = (DOCS / "hospital/site-toml.md").read_text(encoding="utf-8")
    assert all(f"| {kind} |" in page for kind in dataset_kinds())
    assert first_column("reference/networks.md") == list(names())


def test_every_verb_is_described():
    rows = first_column("reference/cli.md")
    assert [r.removeprefix("medfed ") for r in rows if r.startswith("medfed ")] == list(VERBS)


def test_every_verb_has_its_module():
    here = {path.stem for path in (ROOT / "medfed/cli").glob("*.py")}
    assert set(VERBS) <= here


def test_every_kind_that_may_leave_is_described():
    assert set(first_column("hospital/what-leaves.md")) == set(DEFAULT_KINDS)


def test_every_privacy_key_is_described():
    assert set(first_column("hospital/site-toml.md")) == set(SitePolicy.model_fields)


def test_every_exit_code_is_described():
    text = (DOCS / "reference/errors.md").read_text(encoding="utf-8")
    described = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert described == {getattr(errors, name).exit_code for name in errors.__all__}


def test_no_page_loads_anything_from_elsewhere():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"!\[[^]]*\]\(https?:|<(script|link|iframe|img)\b", text), page
