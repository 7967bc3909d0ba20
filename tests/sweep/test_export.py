"""Exports of a sweep: the files and their names, the manifest, and the page."""

from __future__ import annotations

import csv
import io
import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path
from shutil import copy, copytree
from urllib.parse import unquote

import fsspec  # type: ignore[import-untyped]
import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from mediakit import extras
from mediakit.errors import InputError
from mediakit.sweep import embedding
from mediakit.sweep.comparison import compare
from mediakit.sweep.export import file_name
from mediakit.sweep.rankings import bradley_terry
from mediakit.sweep.scoring import ScoredOutput
from tests.support.samples.media_samples import make_png
from tests.support.submissions import preference
from tests.sweep.clips import noise, tone, write_clip, write_sound
from tests.sweep.exports import CODE, Source, exported, results


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for number in range(3):
        write_clip(folder / f"job{number}", [noise(number, cell_px=8)] * 8)
    return folder


@pytest.fixture
def source(clips: Path, tmp_path: Path) -> Source:
    return Source(copytree(clips, tmp_path / "cache"))


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "exports" / "kites"


@pytest.fixture(params=["kites", "kites.html"])
def folder_or_page(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return tmp_path / "exports" / str(request.param)


def manifest_of(where: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((where / "manifest.csv").read_text())))


def names_in(where: Path) -> list[str]:
    files = (path for path in where.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(where)) for path in files)


class Page(HTMLParser):
    """Reads what a page refers to, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> set[str]:
        named = ("src", "href", "poster")
        return {
            unquote(value)
            for _, attributes in self.tags
            for name, value in attributes.items()
            if name in named and value
        }


def page_of(where: Path) -> Page:
    return Page((where if where.is_file() else where / "report.html").read_text())


def embedded_in(page: Page) -> list[bytes]:
    """Return the files in the players, pictures and sounds of a page, once each."""
    urls = dict.fromkeys(a["src"] or "" for _, a in page.tags if "src" in a)
    assert all(url.startswith("data:") for url in urls)
    return [b64decode(url.partition(";base64,")[2]) for url in urls]


def test_the_files_say_their_parameters(where: Path, source: Source) -> None:
    done = exported(where, source)

    names = [row["file"] for row in manifest_of(where)]
    stems = [re.sub(r"_[0-9a-f]{8}\.mp4$", "", name) for name in names]
    assert stems == ["kite_720p", "kite_720p", "boat_720p", ""]
    for number, name in enumerate(names[:3]):
        there = (where / name).read_bytes()
        assert there == (source.folder / f"job{number}").read_bytes()
    assert (done.files, done.written, done.place) == (3, 3, where)
    assert str(done).startswith(f"3 files saved in {where}.")


def test_a_second_export_fetches_nothing_and_changes_nothing(
    where: Path, source: Source
) -> None:
    exported(where, source)
    before = {name: (where / name).read_bytes() for name in names_in(where)}
    (where / "notes.txt").write_text("mine")
    again = exported(where, source)

    assert source.fetched == {"job0": 1, "job1": 1, "job2": 1}
    assert again.written == 0
    after = {name: (where / name).read_bytes() for name in names_in(where)}
    assert after == before | {"notes.txt": b"mine"}


def test_missing_files_are_written_again(where: Path, source: Source) -> None:
    exported(where, source)
    name = manifest_of(where)[1]["file"]
    (where / name).unlink()
    again = exported(where, source)

    assert again.written == 1
    assert source.fetched["job1"] == 2
    assert (where / name).read_bytes() == (source.folder / "job1").read_bytes()


def test_a_killed_export_continues_without_a_second_copy(
    where: Path, source: Source
) -> None:
    exported(where, source)
    clips = [name for name in names_in(where) if name.endswith(".mp4")]
    (where / "manifest.csv").unlink()
    again = exported(where, source)

    assert again.written == 0
    assert [name for name in names_in(where) if name.endswith(".mp4")] == clips


def test_a_file_that_was_edited_by_hand_stays(where: Path, source: Source) -> None:
    exported(where, source)
    name = manifest_of(where)[0]["file"]
    (where / name).write_bytes(b"cut by hand")
    exported(where, source)

    assert manifest_of(where)[0]["file"] == name
    assert (where / name).read_bytes() == b"cut by hand"
    assert source.fetched["job0"] == 1


def test_a_file_keeps_its_name_when_the_plan_grows(where: Path, source: Source) -> None:
    rows = results()
    exported(where, source, rows=rows[rows["take"] == 1].reset_index(drop=True))
    one = {row["job_id"]: row["file"] for row in manifest_of(where)}
    exported(where, source)
    both = {row["job_id"]: row["file"] for row in manifest_of(where)}

    assert both.items() > one.items()
    assert source.fetched["job0"] == 1


def test_the_manifest_has_every_cell_and_whole_money(
    where: Path, source: Source
) -> None:
    exported(where, source)
    rows = manifest_of(where)

    assert [row["charge_micro_usd"] for row in rows] == ["112000"] * 3 + ["0"]
    assert [row["rating"] for row in rows] == ["4", "", "5", ""]
    assert [row["rank"] for row in rows] == ["2", "", "1", ""]
    assert float(rows[2]["strength"]) > float(rows[0]["strength"])
    assert (rows[0]["tags"], rows[2]["note"]) == ("sharp, red", "Hand is odd.")
    assert rows[3]["problem"] == "content refused"
    assert list(rows[0])[:3] == ["file", "size_bytes", "animal"]
    size_bytes = (where / rows[0]["file"]).stat().st_size
    assert rows[0]["size_bytes"] == str(size_bytes)


def test_the_manifest_as_parquet_has_types_and_texts_as_they_are(
    where: Path, source: Source
) -> None:
    exported(where, source)
    table = pq.read_table(where / "manifest.parquet")
    frame, rows = table.to_pandas(), manifest_of(where)

    assert table.column_names == [*rows[0]]
    assert str(table.schema.field("charge_micro_usd").type) == "int64"
    assert len(frame) == len(rows)
    for name in ("file", "prompt", "status", "problem"):
        texts = frame[name].astype(object).where(frame[name].notna(), "")
        assert texts.tolist() == [row[name].removeprefix("'") for row in rows]
    charges = frame["charge_micro_usd"].astype("Int64")
    written = [row["charge_micro_usd"] for row in rows]
    assert ["" if pd.isna(n) else str(n) for n in charges] == written


def test_without_pyarrow_the_manifest_is_only_a_csv(
    where: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    exported(where, source)

    assert (where / "manifest.csv").exists()
    assert not (where / "manifest.parquet").exists()


def test_the_page_shows_the_files_beside_it_and_loads_nothing_else(
    where: Path, source: Source
) -> None:
    exported(where, source)
    page, text = page_of(where), (where / "report.html").read_text()

    assert page.links == {name for name in names_in(where) if "." in name} - {
        "manifest.csv",
        "manifest.parquet",
        "report.html",
    }
    videos = [attributes for tag, attributes in page.tags if tag == "video"]
    assert len(videos) == 3
    assert {video["preload"] for video in videos} == {"none"}
    assert all("controls" in video and video["poster"] for video in videos)
    assert "http" not in text
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe"}


def test_the_page_has_the_numbers_the_ratings_the_prompts_and_the_code(
    where: Path, source: Source
) -> None:
    exported(where, source)
    page = page_of(where)

    for text in (
        "text-to-video: animal x resolution",
        "spent$0.336",
        "cost per keeperunknown",
        "★★★★☆",
        "kept",
        "#sharp #red",
        "Hand is odd.",
        "stars 4 (It flies.)",
        "rank 1",
        "a boat",
        "content refused",
        "Without a file (1)",
        CODE,
    ):
        assert without_spaces(text) in without_spaces(page.text), text
    assert [tag for tag, _ in page.tags].count("h2") == 2 + 2 + 2


def versions(prompts: tuple[str, str] = ("v1", "v2")) -> pd.DataFrame:
    """Return rated and scored results of two versions of a prompt for six shots."""
    places = range(12)
    version = [place // 6 for place in places]
    frame = results().iloc[[0] * 12].reset_index(drop=True)
    shots = [f"shot {place % 6}" for place in places]
    names = pd.Series([prompts[v] for v in version], dtype="category")
    frame.insert(0, "version", names)
    frame["animal"] = pd.Categorical(shots)
    frame["rating"] = pd.array([2 + 2 * v + n % 2 for n, v in enumerate(version)])
    frame["fits"] = [0.25 * (n % 3) for n in places]
    frame["job_id"] = [f"job{place}" for place in places]
    frame["output_url"] = [f"http://127.0.0.1/{place}.mp4" for place in places]
    return frame


def exported_versions(where: Path, source: Source, **changed: object) -> Page:
    for place in range(3, 12):
        copy(source.folder / "job0", source.folder / f"job{place}")
    prompt = "an espresso cup, {}".format
    arguments = {
        "rows": versions(),
        "ranking": bradley_terry([preference("job6", "job0")]),
        "scores": {"job3": "fits 0.25 (The cup is small.)"},
        "fields": {
            f"job{n}": {"version": prompt(n), "duration": 7, "seed": n}
            for n in range(12)
        },
        "values": ["rating", "fits"],
        "axes": ("version", "animal"),
    }
    exported(where, source, **arguments | changed)
    return page_of(where)


def test_the_page_says_why_a_version_was_chosen(where: Path, source: Source) -> None:
    page = exported_versions(where, source)
    verdict = compare(versions(), "version").text
    assert "more than chance explains" in verdict
    assert f"rating by version: {verdict}" in page.text
    assert (
        f"fits by version: {compare(versions(), 'version', 'fits').text}" in page.text
    )
    assert "The cup is small." in page.text
    # Each cell of a heatmap is its mean and count, and the shade is no colour alone.
    words = ("Mean rating by version and animal", "Mean fits by version and animal")
    assert all(text in page.text for text in words)
    shades = [a["style"] or "" for t, a in page.tags if t == "td" and "style" in a]
    assert len(shades) == 2 * 12
    assert page.text.count("4 (1)") == 3
    assert {"--shade:11%", "--shade:34%"} <= {*shades}
    assert "Ranking" in page.text
    assert "v2, shot 0" in page.text
    assert "1 / 0 / 0" in page.text


def test_the_page_and_the_manifest_have_all_fields_as_they_were_sent(
    where: Path, source: Source
) -> None:
    page = exported_versions(where, source)
    assert page.text.count("All fields") == 12
    assert "an espresso cup, 5" in page.text
    rows = manifest_of(where)
    assert [row["version"] for row in rows] == ["v1"] * 6 + ["v2"] * 6
    assert rows[5]["param_version"] == "an espresso cup, 5"
    assert {row["duration"] for row in rows} == {"7"}
    assert [row["seed"] for row in rows] == [str(n) for n in range(12)]


@pytest.mark.parametrize(
    "evil", ["<script>x()</script>", "'\"><img src=x onerror=y()>"]
)
def test_names_in_the_evidence_and_the_fields_stay_text(
    where: Path, source: Source, evil: str
) -> None:
    rows = versions((evil, "v2"))
    fields = {"job0": {evil: evil}}
    page = exported_versions(where, source, rows=rows, fields=fields)
    assert page.text.count(evil) > 3
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any("onerror" in attributes for _, attributes in page.tags)


def test_every_picture_and_player_has_an_alternative_text(
    where: Path, source: Source
) -> None:
    page = exported_versions(where, source)
    media = [a for tag, a in page.tags if tag in ("img", "video", "audio", "svg")]
    assert len(media) >= 12
    assert all(a.get("alt") or a.get("aria-label") for a in media)


@pytest.mark.parametrize("axes", [(), ("animal",), ("animal", "resolution")])
def test_results_without_ratings_or_axes_have_a_page_without_a_verdict(
    where: Path, source: Source, axes: tuple[str, ...]
) -> None:
    rows = results(rating=pd.array([None] * 4, dtype="Int64"))
    exported(where, source, rows=rows, axes=axes, ranking=bradley_terry([]))
    assert "Verdict" not in page_of(where).text
    assert "Ranking" not in page_of(where).text


def without_spaces(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    "field", ["title", "plan_code", "prompt", "animal", "problem", "scores"]
)
def test_text_from_outside_stays_text(
    folder_or_page: Path, source: Source, field: str
) -> None:
    evil = "</style></title><script>alert('x')</script><img src=x onerror=\"y()\">$x$"
    if field in ("title", "plan_code"):
        exported(folder_or_page, source, **{field: evil})
    elif field == "scores":
        exported(
            folder_or_page, source, scores=dict.fromkeys(["job0", "job1", "job2"], evil)
        )
    else:
        exported(folder_or_page, source, rows=results(**{field: [evil] * 4}))
    page = page_of(folder_or_page)

    assert "<script>alert('x')</script>" in page.text
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any("onerror" in attributes for _, attributes in page.tags)
    names = [name.removeprefix("kites/") for name in names_in(folder_or_page.parent)]
    assert all("/" not in name.removeprefix("posters/") for name in names)


def test_exports_contain_no_password_or_signature(
    folder_or_page: Path, source: Source
) -> None:
    signed = "https://mia:hunter2@bucket.test/boat.png?X-Amz-Signature=abcdef"
    frame = results(
        image_url=pd.Series([signed] * 4, dtype="string"),
        image_urls=[[signed]] * 4,
        output_url=pd.Series([f"{signed}&n={n}" for n in range(3)] + [None]),
    )
    exported(
        folder_or_page,
        source,
        rows=frame,
        axes=("image_url", "image_urls"),
        plan_code=f"plan = client.sweep('r6', image_url=[{signed!r}])",
    )

    for name in names_in(folder_or_page.parent):
        content = (folder_or_page.parent / name).read_bytes()
        assert not [s for s in (b"hunter2", b"abcdef") if s in content], name
    assert "https://bucket.test/boat.png?…" in page_of(folder_or_page).text


@pytest.mark.parametrize("suffix", ["html", "js", "svg", "exe"])
def test_a_clip_is_not_saved_under_the_ending_that_its_url_asks_for(
    where: Path, source: Source, suffix: str
) -> None:
    url = f"http://127.0.0.1/media/0.{suffix}"
    exported(where, source, rows=results(output_url=[url] * 3 + [None]))

    files = [row["file"] for row in manifest_of(where) if row["file"]]
    assert {Path(name).suffix for name in files} == {".mp4"}


def test_pictures_and_sounds_are_shown_as_such(where: Path, source: Source) -> None:
    make_png(source.folder / "job0", (64, 36))
    rows = results(
        media_type=["image", "audio", "video", "video"],
        output_url=["http://h/a", "http://h/b.wav", "http://h/c.verylong", None],
    )
    exported(where, source, rows=rows)
    tags = [tag for tag, _ in page_of(where).tags]
    suffixes = [Path(row["file"]).suffix for row in manifest_of(where)[:3]]

    assert suffixes == [".png", ".wav", ".mp4"]
    assert (tags.count("audio"), tags.count("video")) == (1, 1)
    assert tags.count("img") == 2  # the picture, and the poster in the player
    assert len(list((where / "posters").iterdir())) == 1


def test_an_unavailable_output_affects_only_its_cell(
    where: Path, source: Source
) -> None:
    (source.folder / "job1").unlink()
    done = exported(where, source)
    row = manifest_of(where)[1]

    assert done.files == 2
    assert done.notes[-1].startswith("1 could not be saved")
    assert row["file"] == ""
    assert row["problem"].startswith("It could not be saved: FileNotFoundError")
    assert not [name for name in names_in(where) if name.endswith(".part")]


def test_a_clip_that_cannot_be_decoded_has_no_poster(
    where: Path, source: Source
) -> None:
    (source.folder / "job0").write_bytes(b"no clip")
    exported(where, source)

    videos = [attributes for tag, attributes in page_of(where).tags if tag == "video"]
    assert ["poster" in video for video in videos] == [False, True, True]


def test_a_sweep_without_results_is_exported_as_a_page_that_says_so(
    where: Path, source: Source
) -> None:
    none = pd.array([None] * 4, dtype="string")
    rows = results(output_url=none, status=["unsent"] * 4)
    done = exported(where, source, rows=rows)

    assert done.files == 0
    assert "No cell has a file yet." in page_of(where).text
    assert exported(where, source, rows=results().head(0)).files == 0


@pytest.mark.parametrize("wrong", [None, "", 5, "a\0b"])
def test_an_invalid_destination_is_rejected(source: Source, wrong: object) -> None:
    with pytest.raises(InputError, match="where"):
        exported(wrong, source)  # type: ignore[arg-type]


def test_a_file_is_no_folder(tmp_path: Path, source: Source) -> None:
    (tmp_path / "taken").write_text("mine")

    with pytest.raises(InputError, match="a folder or a page that can be written"):
        exported(tmp_path / "taken", source)
    assert (tmp_path / "taken").read_text() == "mine"


def test_an_export_is_written_to_any_url_that_fsspec_supports(source: Source) -> None:
    files = fsspec.filesystem("memory")
    done = exported("memory://bucket/kites", source)
    again = exported("memory://bucket/kites/", source)
    names = sorted(path.rpartition("kites/")[2] for path in files.find("/bucket/kites"))

    assert done.place == "memory://bucket/kites"
    assert done.report == "memory://bucket/kites/report.html"
    assert (done.files, done.written, again.written) == (3, 3, 0)
    assert {"manifest.csv", "report.html"} < set(names)
    assert sum(name.endswith(".mp4") for name in names) == 3
    assert not [name for name in names if name.endswith(".part")]
    assert source.fetched == {"job0": 1, "job1": 1, "job2": 1}
    files.rm("/bucket", recursive=True)


# -- one page -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kites.html", "Kites.HTM"])
def test_a_name_that_ends_in_html_becomes_one_page_with_everything_in_it(
    tmp_path: Path, source: Source, name: str
) -> None:
    where = tmp_path / "new" / name
    done = exported(where, source)
    page = page_of(where)

    assert names_in(tmp_path / "new") == [name]
    assert (done.place, done.report, done.files, done.notes) == (where, where, 3, ())
    clips = [(source.folder / f"job{number}").read_bytes() for number in range(3)]
    assert [each for each in embedded_in(page) if each in clips] == clips
    assert all(link.startswith("data:") for link in page.links)
    assert "http" not in where.read_text()
    videos = [attributes for tag, attributes in page.tags if tag == "video"]
    assert all(video["poster"] and video["aria-label"] for video in videos)
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert all(picture["alt"] for picture in pictures)
    assert "stars 4 (It flies.)" in page.text
    assert "not in this page" not in page.text


@pytest.mark.parametrize("files", [0, 1, 2])
def test_a_page_keeps_its_limit_and_says_what_is_not_in_it(
    where: Path, source: Source, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    exported(where.with_suffix(".html"), source)
    urls = page_of(where.with_suffix(".html")).links
    clips = [len(url) for url in urls if url.startswith("data:video/mp4")]
    posters = [len(url) for url in urls if url.startswith("data:image/jpeg")]
    assert (len(clips), len(posters)) == (3, 3)
    limit = 2 * (sum(posters) + 100) + files * (max(clips) + 50)
    assert limit < 2 * sum(posters) + sum(clips)
    monkeypatch.setattr(embedding, "PAGE_MAX_BYTES", limit)

    done = exported(where.with_suffix(".html"), source)
    page = page_of(where.with_suffix(".html"))
    in_page = [a["src"] or "" for tag, a in page.tags if tag == "video"]
    assert done.files == len(in_page) == files
    # Kept results come first; the rest are stills with captions.
    kept = (source.folder / "job2").read_bytes()
    assert files == 0 or kept in embedded_in(page)
    values = (v for _, a in page.tags for v in a.values() if v)
    assert sum(len(v) for v in values if v.startswith("data:")) <= limit
    stills = [a for tag, a in page.tags if tag == "img"]
    assert len(stills) == 3
    assert all(still["alt"] for still in stills)
    assert page.text.count(", not in this page)") == 3 - files
    assert f"{3 - files} of 3 outputs are not in this page" in page.text
    assert 'results.export("a_folder") saves all of them' in str(done)


def test_a_page_without_room_for_a_poster_names_its_files(
    where: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PAGE_MAX_BYTES", 100)
    exported(where.with_suffix(".html"), source)
    page = page_of(where.with_suffix(".html"))

    assert not page.links
    assert page.text.count(", not in this page)") == 3


def test_pictures_and_sounds_are_in_the_page_with_their_types(
    where: Path, source: Source
) -> None:
    make_png(source.folder / "job0", (64, 36))
    write_sound(source.folder / "job1", tone(0.5))
    rows = results(
        media_type=["image", "audio", "video", "video"],
        output_url=["http://h/a", "http://h/b.wav", "http://h/c.mov", None],
    )
    exported(where.with_suffix(".html"), source, rows=rows)
    page = page_of(where.with_suffix(".html"))
    (picture, _) = [a for t, a in page.tags if t == "img"]
    (sound,) = [a for t, a in page.tags if t == "audio"]
    (clip,) = [a for t, a in page.tags if t == "video"]

    assert (picture["src"] or "").startswith("data:image/png;")
    assert (sound["src"] or "").startswith("data:audio/wav;")
    # Browsers do not try "video/quicktime", though they play such a file.
    assert (clip["src"] or "").startswith("data:video/mp4;")


def test_an_unreadable_output_affects_only_its_place_in_the_page(
    where: Path, source: Source
) -> None:
    (source.folder / "job1").unlink()
    (source.folder / "job0").write_bytes(b"no clip")
    done = exported(where.with_suffix(".html"), source)
    page = page_of(where.with_suffix(".html"))

    assert done.files == 2
    assert done.notes == ("1 could not be saved; see the page for the reasons.",)
    assert "It could not be saved: FileNotFoundError" in page.text
    posters = ["poster" in a for tag, a in page.tags if tag == "video"]
    assert posters == [False, True]


def test_a_page_goes_to_a_url_and_replaces_an_earlier_one(source: Source) -> None:
    files = fsspec.filesystem("memory")
    done = exported("memory://bucket/kites.html", source)
    exported("memory://bucket/kites.html", source)

    assert done.report == "memory://bucket/kites.html"
    assert [*files.find("/bucket")] == ["/bucket/kites.html"]
    assert files.cat_file("/bucket/kites.html").startswith(b"<!doctype html>")
    files.rm("/bucket", recursive=True)


# -- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "stem"),
    [
        (
            [("animal", "kite"), ("resolution", "720p"), ("take", "2")],
            "kite_720p_take2",
        ),
        ([("duration", "5"), ("strength", "0.25")], "duration5_strength0.25"),
        ([("generate_audio", "true")], "generate-audio-true"),
        ([("prompt", "A Kite, over the Dünen/../..")], "a-kite-over-the-dunen"),
        ([("prompt", "凧")], ""),
        ([("image", "https://x.example/a/cat.png?sig=../../")], "cat"),
        ([("prompt", "x" * 300)], "x" * 24),
        ([("prompt", "")], ""),
        ([("seed", "nan")], "seednan"),
    ],
)
def test_a_name_is_safe_and_not_long(values: list[tuple[str, str]], stem: str) -> None:
    name = file_name(values, ScoredOutput("job", "https://x.example/a.MP4"), "video")
    assert re.fullmatch(rf"{re.escape(stem)}_?[0-9a-f]{{8}}\.mp4", name)
