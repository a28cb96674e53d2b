"""Fetching a package: only regular files, from one commit, and nothing of a repository is run."""

from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.packages.package_index import PackageIndex, folder_digest
from core.packages.package_source import fetch_package, is_git_address
from tests.core.packages.made import commit_all, git, make_package


def test_a_repository_is_read_at_a_branch_a_tag_or_a_commit(tmp_path: Path) -> None:
    repository = make_package(tmp_path / "there")
    first = commit_all(repository)
    git(repository, "tag", "v1")
    (repository / "guard.sh").write_text("exit 0\n", "utf-8")
    second = commit_all(repository)
    address = repository.as_uri()
    newest = fetch_package(address)
    assert newest.commit == second and newest.files["guard.sh"] == (b"exit 0\n", True)
    assert fetch_package(address, "main").commit == second
    assert (
        fetch_package(address, "v1").commit == first and b"exit 2" in fetch_package(address, "v1").files["guard.sh"][0]
    )
    assert fetch_package(address, second).commit == second
    assert list(fetch_package(address, path="commands").files) == ["status.md", "summarize.md"]
    with pytest.raises(Problem):
        fetch_package(address, "--upload-pack=touch x")
    with pytest.raises(Problem):
        fetch_package(address, path="../..")


@pytest.mark.parametrize("path", ["missing", "guard.sh", "commands/status"])
def test_a_folder_that_a_package_does_not_have_is_named(tmp_path: Path, path: str) -> None:
    repository = make_package(tmp_path / "there")
    commit_all(repository)
    with pytest.raises(Problem, match=f"There are no files in {path}."):
        fetch_package(repository.as_uri(), path=path)


def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    """Hooks, filters, a template of the user, and replaced or converted contents have no effect."""
    repository, mark = make_package(tmp_path / "there"), tmp_path / "mark"
    (repository / ".gitattributes").write_text("*.sh filter=evil ident\n*.md eol=crlf export-ignore\n", "utf-8")
    commit_all(repository)
    git(repository, "config", "filter.evil.smudge", f"touch {mark}")
    git(repository, "config", "uploadpack.packObjectsHook", f"touch {mark}; exit 1")
    for name in ("post-checkout", "post-merge", "reference-transaction", "post-update"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n", "utf-8")
        hook.chmod(0o755)
    fetched = fetch_package(repository.as_uri())
    assert not mark.exists()
    assert fetched.files["commands/status.md"][0] == b"Here is the state: !`git status`"
    assert not any(name.startswith(".git/") for name in fetched.files)


@pytest.mark.parametrize("kind", ["link", "submodule", "lfs"])
def test_a_package_has_only_files_with_their_contents(tmp_path: Path, kind: str) -> None:
    repository = make_package(tmp_path / "there")
    if kind == "link":
        (repository / "commands" / "link.md").symlink_to("/etc/passwd")
    elif kind == "lfs":
        (repository / "big.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "utf-8")
    commit_all(repository)
    if kind == "submodule":
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{git(repository, 'rev-parse', 'HEAD')},sub")
        git(repository, "commit", "-q", "-m", "a submodule")
    with pytest.raises(Problem) as refused:
        fetch_package(repository.as_uri())
    assert {"link": "a link", "submodule": "a submodule", "lfs": "Git LFS"}[kind] in str(refused.value)
    if kind == "link":
        with pytest.raises(Problem, match="a link"):
            fetch_package(str(repository))


def test_other_protocols_are_refused(tmp_path: Path) -> None:
    assert is_git_address("git@host.example:team/agents.git") and is_git_address("https://host.example/agents")
    assert not is_git_address("/home/me/agents") and not is_git_address("agents")
    for address in ("http://host.example/agents", "git://host.example/agents"):
        with pytest.raises(Problem, match="not encrypted"):
            fetch_package(address)
    mark = tmp_path / "mark"
    with pytest.raises(Problem):
        fetch_package(f"ext::sh -c touch% {mark}")
    assert not mark.exists()


def test_a_missing_folder_or_address_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot be read"):
        fetch_package(str(tmp_path / "none"))
    with pytest.raises(Problem, match="git fetch failed"):
        fetch_package((tmp_path / "none").as_uri())
    (tmp_path / "empty").mkdir()
    with pytest.raises(Problem, match="is empty"):
        fetch_package(str(tmp_path / "empty"))


def test_the_digest_covers_names_contents_and_executable_flags(tmp_path: Path) -> None:
    index, package = PackageIndex(tmp_path), make_package(tmp_path / "there")
    first = index.write_files("a", fetch_package(str(package)).files)
    assert first and first == folder_digest(index.folder("a"))
    guard = index.folder("a") / "guard.sh"
    guard.chmod(0o444)
    assert folder_digest(index.folder("a")) not in ("", first)
    guard.chmod(0o555)
    assert folder_digest(index.folder("a")) == first
    index.folder("a").chmod(0o755)
    (index.folder("a") / "link").symlink_to(guard)
    assert folder_digest(index.folder("a")) == ""
    assert index.write_files("a", fetch_package(str(package)).files) == first
    assert [path for path in index.folder("a").rglob("*") if path.stat().st_mode & 0o200] == []
