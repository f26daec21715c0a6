"""Attacks by a system's own packages. Each returns the evidence that it succeeded, or None.

An attack is a requirements file with an index, or a change of the cache. It succeeds if its code ran here, if a file
was written elsewhere, or if an environment came about that its pins do not allow.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from contextlib import chdir
from pathlib import Path

from made_wheels import member, pin, wheel

from edu_rag.errors import EduRagError, each_fault
from harness.own_packages.package_environment import FORMAT, PackageCaps, environment_of
from harness.own_packages.requirements_file import PinnedPackage

SMALL = PackageCaps(wheel_bytes=1 << 20, unpacked_bytes=1 << 20, n_files=50)
PACKAGE_ATTACKS: dict[str, Callable[[Place], str | None]] = {}
START_PIP = (
    "source_that_runs_code_when_it_is_built",
    "another_file_of_the_same_name_on_the_index",
    "a_module_named_pip_in_the_current_folder",
    "wheels_that_are_too_large",
)
"""Attacks that are not refused before pip starts, which takes a second."""


def attack(one: Callable[[Place], str | None]) -> Callable[[Place], str | None]:
    """Register an attack."""
    PACKAGE_ATTACKS[one.__name__] = one
    return one


class Place:
    """A folder for one attack: its index, its requirements file, a cache, and a canary that its code would write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.index, self.cache = self.folder / "index", self.folder / "cache"
        self.index.mkdir(parents=True)
        self.requirements = self.folder / "submission" / "requirements.txt"
        self.requirements.parent.mkdir()
        self.canary = self.folder / "canary"
        self.code = f"open({str(self.canary)!r}, 'w').write('ran')\n"
        self.said: list[str] = []
        """Why it was refused; an attack that is refused for nothing was broken."""
        self.install: Callable[[Place], Path | None] | None = None
        """Another way to make an environment, to show that the attacks are attacks."""

    def pins(self, *wheels: Path, more: str = "") -> Place:
        self.requirements.write_text("".join(pin(one) for one in wheels) + more, encoding="utf-8")
        return self

    def copied(self, pins: Sequence[PinnedPackage], folder: Path, file: Path, most: int) -> None:
        """Instead of pip: every file of the index."""
        for one in sorted(self.index.iterdir()):
            shutil.copy(one, folder / one.name)

    def made(self, *, by_pip: bool = False) -> Path | None:
        """The environment, or None if it was refused."""
        if self.install is not None:
            return self.install(self)
        try:
            if by_pip:
                made = environment_of(self.requirements, self.cache, caps=SMALL)
            else:
                made = environment_of(self.requirements, self.cache, fetch=self.copied, caps=SMALL)
            with made as environment:
                return environment.site
        except EduRagError as error:
            self.said += [str(one) for one in each_fault(error)]
            return None

    def outcome(self, *, by_pip: bool = False) -> str | None:
        """Evidence of an attack that a refusal stops."""
        site = self.made(by_pip=by_pip)
        if self.canary.exists():
            return "its code ran, or its file was written"
        return None if site is None else f"an environment was made: {sorted(p.name for p in site.iterdir())}"


def _sdist(folder: Path, name: str, setup: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for place, text in {
            "setup.py": setup,
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        }.items():
            info = tarfile.TarInfo(f"{name}-1.0/{place}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


@attack
def source_that_runs_code_when_it_is_built(place: Place) -> str | None:
    return place.pins(_sdist(place.index, "shiny", place.code)).outcome(by_pip=True)


@attack
def source_that_is_named_like_a_wheel(place: Place) -> str | None:
    made = place.index / "shiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("setup.py", place.code)
    return place.pins(made).outcome()


@attack
def a_module_named_pip_in_the_current_folder(place: Place) -> str | None:
    for name in ("pip.py", "sitecustomize.py", "zipfile.py"):
        (place.requirements.parent / name).write_text(place.code)
    place.pins(wheel(place.index, "shiny", {"shiny.py": ""}))
    with chdir(place.requirements.parent):
        place.made(by_pip=True)
    place.said.append("nothing to refuse")
    return "its code ran" if place.canary.exists() else None


@attack
def another_file_of_the_same_name_on_the_index(place: Place) -> str | None:
    place.pins(wheel(place.index, "shiny", {"shiny.py": "good"}))
    wheel(place.index, "shiny", {"shiny.py": place.code})
    return place.outcome(by_pip=True)


@attack
def another_file_of_the_same_name_behind_the_installer(place: Place) -> str | None:
    place.pins(wheel(place.index, "shiny", {"shiny.py": "good"}))
    wheel(place.index, "shiny", {"shiny.py": place.code})
    return place.outcome()


@attack
def a_wheel_that_nobody_pinned(place: Place) -> str | None:
    place.pins(wheel(place.index, "shiny", {"shiny.py": ""}))
    wheel(place.index, "other", {"numpy/__init__.py": place.code})
    return place.outcome()


@attack
def a_file_name_of_another_package(place: Place) -> str | None:
    made = wheel(place.index, "other", {"other.py": ""})
    return place.pins(more=pin(made, "shiny")).outcome()


@attack
def metadata_of_another_package(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {"shiny.py": ""}, says="numpy")).outcome()


@attack
def metadata_with_two_names(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {"shiny.py": ""}, says="shiny\nName: numpy")).outcome()


@attack
def two_packages_in_one_wheel(place: Place) -> str | None:
    info = {"numpy-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n"}
    return place.pins(wheel(place.index, "shiny", info)).outcome()


def _traversal(name: str) -> Callable[[Place], str | None]:
    def one(place: Place) -> str | None:
        at = name.format(folder=place.folder)
        odd = {member(at): b"written"}
        made = wheel(place.index, "shiny", {"shiny.py": ""}, odd=odd)
        return place.pins(made).outcome()

    return one


for _told, _name in {
    "a_path_that_leads_out": "../../../../canary",
    "an_absolute_path": "{folder}/canary",
    "a_path_that_leads_out_in_the_middle": "shiny/../../../../../canary",
    "a_path_with_backslashes": "..\\..\\canary",
    "a_path_that_leads_out_of_the_data_folder": "shiny-1.0.data/purelib/../../../../../canary",
    "a_path_with_a_drive": "c:/canary",
    "a_path_with_a_newline": "shiny/\ncanary",
    "a_path_that_is_too_long": "shiny/" + "x" * 300,
}.items():
    PACKAGE_ATTACKS[_told] = _traversal(_name)


@attack
def a_link_that_leads_out_and_a_file_behind_it(place: Place) -> str | None:
    odd = {member("shiny/out", 0o120777): str(place.folder).encode(), member("shiny/out/canary"): b"written"}
    return place.pins(wheel(place.index, "shiny", {"shiny/a.py": ""}, odd=odd)).outcome()


@attack
def a_device_among_the_files(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {}, odd={member("shiny/zero", 0o020666): b""})).outcome()


@attack
def a_bomb(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {"shiny.bin": bytes(3 << 20)})).outcome()


@attack
def a_bomb_that_states_a_small_size(place: Place) -> str | None:
    made = wheel(place.index, "shiny", {"shiny.bin": bytes(3 << 20)})
    made.write_bytes(made.read_bytes().replace((3 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    return place.pins(made).outcome()


@attack
def a_bomb_of_many_packages(place: Place) -> str | None:
    made = [wheel(place.index, f"shiny{i}", {f"shiny{i}.bin": bytes(300_000)}) for i in range(5)]
    return place.pins(*made).outcome()


@attack
def too_many_files(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {f"shiny/{i}.py": "" for i in range(60)})).outcome()


@attack
def wheels_that_are_too_large(place: Place) -> str | None:
    return place.pins(wheel(place.index, "shiny", {"shiny.bin": os.urandom(2 << 20)})).outcome(by_pip=True)


@attack
def a_file_twice(place: Place) -> str | None:
    with warnings.catch_warnings(action="ignore"):  # of zipfile, which thinks that we do not mean it
        made = wheel(place.index, "shiny", {"shiny.py": "good"}, odd={member("shiny.py"): b"bad"})
    return place.pins(made).outcome()


@attack
def a_file_over_that_of_another_package(place: Place) -> str | None:
    first = wheel(place.index, "numpy", {"numpy/__init__.py": "good"})
    return place.pins(first, wheel(place.index, "shiny", {"numpy/__init__.py": "bad"})).outcome()


@attack
def a_file_in_the_place_of_a_folder_of_another_package(place: Place) -> str | None:
    first = wheel(place.index, "numpy", {"numpy/__init__.py": "good"})
    return place.pins(first, wheel(place.index, "shiny", {"numpy": "bad"})).outcome()


def _requirements(text: str) -> Callable[[Place], str | None]:
    def one(place: Place) -> str | None:
        good = pin(wheel(place.index, "shiny", {"shiny.py": ""}))
        bad = pin(wheel(place.folder / "elsewhere", "evil", {"evil.py": place.code}))
        values = {
            "good": good,
            "bad": bad,
            "elsewhere": place.folder / "elsewhere",
            "hash": bad.split("sha256:")[1].strip(),
        }
        place.requirements.write_bytes(text.format(**values).encode("utf-8", "surrogateescape"))
        return place.outcome(by_pip=True)

    return one


for _told, _text in {
    "an_option_for_another_index": "--index-url file://{elsewhere}\n{good}",
    "an_option_for_more_files": "{good}--find-links {elsewhere}\n{bad}",
    "an_editable_requirement": "{good}-e {elsewhere}\n",
    "another_requirements_file": "{good}-r {elsewhere}/more.txt\n",
    "a_constraints_file": "{good}-c {elsewhere}/more.txt\n",
    "an_address": "{good}file://{elsewhere}/evil-1.0-py3-none-any.whl --hash=sha256:{hash}\n",
    "a_name_with_an_address": "{good}evil @ file://{elsewhere}/evil-1.0-py3-none-any.whl --hash=sha256:{hash}\n",
    "a_path": "{good}{elsewhere}/evil-1.0-py3-none-any.whl --hash=sha256:{hash}\n",
    "an_option_of_one_package": "{good}shiny2==1.0 --global-option=x --hash=sha256:{hash}\n",
    "an_option_after_a_continued_line": "{good}\\\n--find-links {elsewhere}\n{bad}",
    "an_option_after_a_continued_comment": "# a comment \\\n--find-links {elsewhere}\n{good}{bad}",
    "an_option_behind_a_line_separator": "{good}shiny3==1.0\u2028--find-links={elsewhere}\n",
    "an_option_behind_a_carriage_return": "{good}shiny3==1.0\r--find-links={elsewhere}\n",
    "an_option_behind_a_form_feed": "{good}shiny3==1.0\x0c--find-links={elsewhere}\n",
    "a_pin_without_a_hash": "{good}evil==1.0\n",
    "a_weak_hash": "{good}evil==1.0 --hash=md5:0cc175b9c0f1b6a831c399e269772661\n",
    "a_range_of_versions": "{good}evil>=1.0 --hash=sha256:{hash}\n",
    "a_name_in_other_letters": "shin\u0443==1.0 --hash=sha256:{hash}\n",
    "signs_in_other_widths": "shiny\uff1d\uff1d1.0 --hash=sha256:{hash}\n",
    "a_variable_of_the_environment": "{good}${{HOME}}==1.0 --hash=sha256:{hash}\n",
    "an_encoding_that_hides_lines": "# -*- coding: utf-7 -*-\n+AC0ALQBmaW5kLWxpbmtz- {elsewhere}\n{good}",
    "bytes_that_are_no_text": "{good}\udcff\udcfe==1.0\n",
    "a_package_twice": "{good}Shiny==2.0 --hash=sha256:{hash}\n",
}.items():
    PACKAGE_ATTACKS[_told] = _requirements(_text)


@attack
def a_requirements_file_that_is_a_link(place: Place) -> str | None:
    secret = place.folder / "secret"
    secret.write_text("my secret\n")
    place.requirements.symlink_to(secret)
    found = place.outcome()
    return "its text was shown" if any("my secret" in line for line in place.said) else found


def _poisoned(change: Callable[[Place, Path], None]) -> Callable[[Place], str | None]:
    """A change of the cached environment: it succeeds if the next run gets it."""

    def one(place: Place) -> str | None:
        place.pins(wheel(place.index, "shiny", {"shiny/__init__.py": "good", "shiny/more.py": "good"}))
        site = place.made()
        assert site is not None, place.said
        change(place, site)
        again = place.made()
        if again is None:
            return None
        files = {str(path.relative_to(again)): path.read_text() for path in again.rglob("*.py")}
        place.said.append("the environment was made again")
        good = {"shiny/__init__.py": "good", "shiny/more.py": "good"}
        is_linked = any(path.is_symlink() for path in (again.parent, again, *again.rglob("*")))
        return None if files == good and not is_linked else f"the next run gets {files}"

    return one


def _changed(place: Place, site: Path) -> None:
    (site / "shiny" / "__init__.py").write_text(place.code)


def _changed_and_dated_back(place: Place, site: Path) -> None:
    path = site / "shiny" / "__init__.py"
    before = path.stat()
    path.write_text("evil")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _with_its_wheel(place: Place, site: Path) -> None:
    _changed(place, site)
    files = {"shiny/__init__.py": place.code, "shiny/more.py": "good"}
    shutil.copy(wheel(place.folder / "forged", "shiny", files), site.parent / "wheels")


def _removed(place: Place, site: Path) -> None:
    (site / "shiny" / "more.py").unlink()


def _linked_file(place: Place, site: Path) -> None:
    path = site / "shiny" / "more.py"
    (place.folder / "outside").write_text("good")
    path.unlink()
    path.symlink_to(place.folder / "outside")


def _linked_entry(place: Place, site: Path) -> None:
    moved = place.folder / "moved"
    site.parent.rename(moved)
    (place.cache / FORMAT / site.parent.name).symlink_to(moved)


for _told, _change in {
    "a_changed_file_in_the_cache": _changed,
    "a_changed_file_with_size_and_time_of_before": _changed_and_dated_back,
    "a_changed_file_with_a_wheel_to_match": _with_its_wheel,
    "a_removed_file_in_the_cache": _removed,
    "an_added_file_in_the_cache": lambda place, site: (site / "json.py").write_text(place.code) and None,
    "an_added_folder_in_the_cache": lambda place, site: (site / "numpy").mkdir(),
    "a_link_in_the_cache": _linked_file,
    "a_link_in_the_place_of_the_environment": _linked_entry,
}.items():
    PACKAGE_ATTACKS[_told] = _poisoned(_change)


@attack
def a_cache_that_others_may_write_to(place: Place) -> str | None:
    (place.cache / FORMAT).mkdir(parents=True)
    (place.cache / FORMAT).chmod(0o777)
    place.pins(wheel(place.index, "shiny", {"shiny.py": ""}))
    return place.outcome()
