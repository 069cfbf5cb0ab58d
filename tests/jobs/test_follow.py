import threading
import time

from medfed.flare.results import open_run_folder
from medfed.nvflare_jobs.follow import EventReader, follow_events
from medfed.nvflare_jobs.logs import job_process_that_died, last_error, set_earlier_logs_aside
from medfed.roles.channel import ProgressEvent

GOOD = '{"time": "t", "site": "a", "phase": "train", "done": 1, "total": 2, "text": ""}\n'


def test_what_a_run_folder_writes_can_be_followed(tmp_path, job):
    folder = open_run_folder(tmp_path, job)
    reader = EventReader(tmp_path / "events.jsonl")
    assert list(reader.new()) == []
    folder.append_event("site-1", "train", 1, 3)
    folder.append_event("server", "distil", 2, 9, "half way")
    assert list(reader.new()) == [
        ProgressEvent("site-1", "train", 1, 3),
        ProgressEvent("server", "distil", 2, 9, "half way"),
    ]
    assert list(reader.new()) == []


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path):
    path = tmp_path / "events.jsonl"
    reader = EventReader(path)
    path.write_text(GOOD[:30])
    assert list(reader.new()) == []
    path.write_text(GOOD)
    assert [e.done for e in reader.new()] == [1]


def test_a_foreign_line_is_skipped(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"?\n[]\n{}\n\xff\xfe\n" + GOOD.encode())
    assert [e.party for e in EventReader(path).new()] == ["a"]


def test_a_resumed_run_does_not_show_the_earlier_ones_events(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(GOOD * 3)
    assert list(EventReader(path, from_end=True).new()) == []


def test_following_ends_with_the_writer_and_misses_nothing(tmp_path):
    path, over = tmp_path / "events.jsonl", threading.Event()

    def write():
        for _ in range(5):
            time.sleep(0.05)
            with path.open("a") as file:
                file.write(GOOD)
        over.set()

    threading.Thread(target=write).start()
    assert len(list(follow_events(path, lambda: not over.is_set(), interval_s=0.02))) == 5


def test_causes_are_looked_for_in_this_runs_logs_only(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("x - INFO - Failing job 12-ab due to reported failure from site-2: exception\n"
                   "t - a - ERROR - something broke\n")  # fmt: skip
    assert job_process_that_died(tmp_path) == "site-2"
    assert "something broke" in last_error(tmp_path)
    set_earlier_logs_aside(tmp_path)
    assert job_process_that_died(tmp_path) is None
    assert last_error(tmp_path) == "no error was logged"
