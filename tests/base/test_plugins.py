"""Rules of installed packages: what entry points say is read, what they lead to is looked at and never imported."""

from __future__ import annotations

import json
import site
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxlint.base import plugins
from onnxlint.base.plugins import Plugin, PluginError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A site-packages folder that this interpreter imports from."""
    folder = tmp_path / "two words" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(folder)])
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(folder)])
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    plugins.installed.cache_clear()
    sys.path_importer_cache.clear()
    yield folder
    plugins.installed.cache_clear()


def distribution(place: Path, name: str, entries: str, **files: str) -> Path:
    """Install a distribution with a package `acme_rules`, whose module must not be imported."""
    info = place / f"{name}.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    for file, text in files.items():
        (info / f"{file}.json").write_text(text)
    package = place / "acme_rules"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "ONXACME001-no-size.md").write_text("# No size\n")
    return package


ENTRIES = """\
[console_scripts]
acme = acme_rules:main

[ onnxlint.rules ]
# ONXACME009 = acme_rules:Old
ONXACME001 = acme_rules.rules:NoSize [extra]
ONXACME002=acme_rules.rules:Größe
"""


def plugin(code: str = "ONXACME001", target: str = "acme_rules.rules:NoSize", place: Path | str = "") -> Plugin:
    return Plugin(code, target, "acme-rules 1.0", str(place), "")


def test_entry_points_are_found_with_their_distribution(place: Path) -> None:
    distribution(place, "acme_rules-1.0", ENTRIES)
    distribution(place, "other-2", "[onnxlint.rulesets]\nONXOTHER001 = x:Y\n")
    first, second = plugins.installed()
    assert first == plugin(place=place)
    assert str(first) == "ONXACME001 of acme-rules 1.0"
    assert (first.module, second.code, second.target) == ("acme_rules.rules", "ONXACME002", "acme_rules.rules:Größe")
    assert "acme_rules" not in sys.modules


def test_nothing_is_installed_where_nothing_brings_rules(place: Path) -> None:
    (place / "empty-1.dist-info").mkdir()
    (place / "odd-1.dist-info").touch()
    assert plugins.installed() == ()


def test_the_contract_and_a_hash_of_all_files_are_read(place: Path) -> None:
    package = distribution(place, "acme_rules-1.0", ENTRIES)
    (one, _) = plugins.installed()
    contract, before = one.read()
    assert contract == package / "ONXACME001-no-size.md"
    assert one.read() == (contract, before)
    (package / "inner").mkdir()
    (package / "inner" / "x.pyc").write_bytes(b"x")
    assert one.read()[1] == before
    (package / "inner" / "größe.txt").write_text("x")
    assert one.read()[1] != before


@pytest.mark.parametrize(
    ("code", "target", "told"),
    [
        ("ONX101", "acme_rules:A", "the code of a package's rule is ONX, two or more capital letters"),
        ("ONXACME001", "acme rules:A", "`acme rules:A` is not `module:Class`"),
        ("ONXACME001", "acme_rules", "`acme_rules` is not `module:Class`"),
        ("ONXACME001", "gone_rules:A", "no package `gone_rules` is installed"),
        ("ONXACME001", "single:A", "`single` is a single file; put it into a package"),
        ("ONXACME003", "acme_rules:A", "one contract ONXACME003-some-name.md has to be in"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(place: Path, code: str, target: str, told: str) -> None:
    distribution(place, "acme_rules-1.0", ENTRIES)
    (place / "single.py").write_text("raise SystemExit('imported')\n")
    with pytest.raises(PluginError) as caught:
        plugin(code, target, place).read()
    assert str(caught.value).startswith(told)


def test_two_contracts_of_one_rule_are_refused_by_name(place: Path) -> None:
    (distribution(place, "acme_rules-1.0", ENTRIES) / "ONXACME001-other.md").touch()
    with pytest.raises(PluginError, match=r"there is ONXACME001-no-size\.md, ONXACME001-other\.md"):
        plugin(place=place).read()


def test_a_package_of_that_name_elsewhere_is_refused(place: Path, tmp_path: Path) -> None:
    distribution(place, "acme_rules-1.0", ENTRIES)
    (tmp_path / "acme_rules").mkdir()
    (tmp_path / "acme_rules" / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    with pytest.raises(PluginError, match="which is not where it is installed"):
        plugin(place=place).package()


def test_an_editable_installation_is_known_by_its_folder(place: Path, tmp_path: Path) -> None:
    work = tmp_path / "work größe"
    (work / "repository" / ".git").mkdir(parents=True)
    source = work / "repository" / "src"
    source.mkdir()
    package = distribution(
        place,
        "acme_rules-1.0",
        ENTRIES,
        direct_url=json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}),
    )
    package.rename(source / "acme_rules")
    sys.path.append(str(source))
    (one, _) = plugins.installed()
    assert one.source == str(source)
    assert one.package() == source / "acme_rules"
    assert one.inside(work / "repository" / "models")
    assert not one.inside(tmp_path / "elsewhere")
