"""The table of files that other programs trust: complete, well-formed, and independent of case and spelling."""

import posixpath
import re
import tomllib
from importlib import resources

import pytest

from core.domain.sensitive_paths import is_protected, is_read_only, protected_path
from core.domain.trusted_files import PROTECTED, READ_ONLY_NAMES, TRUSTED_PROGRAMS
from core.workspace.trusted_places import NOTEWORTHY

REVERTED = """
.devcontainer.json .devcontainer/devcontainer.json team.code-workspace .cargo/config.toml .cargo/config
.pnpmfile.cjs lefthook.yml lefthook-local.toml .config/lefthook.yml .mvn/jvm.config
.mvn/wrapper/maven-wrapper.properties .dir-locals.el .dir-locals-2.el AGENTS.md AGENTS.override.md CLAUDE.md
CLAUDE.local.md GEMINI.md .cursorrules .cursor/rules/a.mdc .kilocode/rules/a.md .openhands/microagents/repo.md
.openhands_instructions .clinerules .clinerules/a.md .clinerules-code .windsurfrules .github/copilot-instructions.md
.github/instructions/a.instructions.md .junie/guidelines.md .aider.conf.yml .goosehints .roo/rules/a.md .roomodes
.pre-commit-config.yaml mise.toml .mise.toml .config/mise/config.toml .yarnrc.yml .envrc .husky/_/pre-commit
.idea/workspace.xml .terraformrc .helix/languages.toml .latexmkrc .octaverc WARP.md QWEN.md .rules
.lfsconfig .bsp/evil.json rust-analyzer.toml .luarc.json .externalToolBuilders/a.launch CMakeLists.txt.user
.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .RData .perldb irb.rc _irbrc .iex.exs hie.yaml .sl/config
.repo/repo/main.py _darcs/prefs/defaults .lite_project.lua team.sublime-project .rvmrc startup.m
.jj/repo/workspace-config.toml
.qoder/rules/a.md .venv/bin/git venv/bin/ls node_modules/.bin/ssh .amp/settings.json
.envrc.local .autoenv_leave.zsh mise/config.toml .rtx.work.toml .prototools .shadowenv.d/500_default.lisp
.flox/env/manifest.toml bin/activate-hermit .lazygit.yml .gh-dash.yml .reviewboardrc .arcconfig .trunk/trunk.yaml
.fossil-settings/editor .git/lazygit.yml jupyter_server_config.py ipython_config.py .kateproject .lapce/run.toml
.lsp/config.edn project.ipr .vscode/tasks.json .direnv/bin/x
.lintstagedrc .lintstagedrc.mjs lint-staged.config.js commitlint.config.ts .commitlintrc.cjs nano-staged.mjs hk.pkl
grumphp.yml.dist .gitlint .cargo-husky/hooks/pre-commit .byebugrc .rdbgrc .psysh.php .phpdbginit .dbxrc jdb.ini
gptme.toml .serena/project.yml .github/skills/a/SKILL.md buildServer.json omnisharp.json .pyre_configuration .gitreview
.pijul/config .config/git/config .xprofile .cshrc
"""
ASKED = """
.github/workflows/ci.yml .github/actions/build/action.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile .npmrc
gradle/wrapper/gradle-wrapper.properties gradlew mvnw .yarn/releases/yarn-4.cjs .pnp.cjs sitecustomize.py .user.ini
rust-toolchain.toml .bazelrc .tool-versions flake.nix .project .build.yml cloudbuild.yaml
.venv/lib/python3.11/site-packages/a.pth .venv/pyvenv.cfg venv/pyvenv.cfg .venv/bin/activate venv/bin/activate.fish
"""
NORMAL_WORK = """
Makefile justfile package.json pyproject.toml Cargo.toml Cargo.lock pom.xml build.gradle build.gradle.kts setup.py
conftest.py tsconfig.json vite.config.ts eslint.config.js Dockerfile docker-compose.yml main.tf .gitignore
.editorconfig .dockerignore README.md docs/agents/overview.md src/agents.py claude.py rules.md config/config.toml
pnpm-workspace.yaml .prettierrc .github/ISSUE_TEMPLATE/bug.md .github/dependabot.yml .nvmrc .venv/bin/python
venv/bin/pytest node_modules/.bin/gitlint bin/git
"""


@pytest.mark.parametrize("path", REVERTED.split())
def test_files_that_programs_execute_or_agents_follow(path: str) -> None:
    for place in (path, f"deep/er/{path}", path.upper(), path.replace("e", "\uff45"), f"{path}/below"):
        assert is_read_only(place) and is_protected(place) and protected_path(place), place
        assert NOTEWORTHY.search(f"./{place}".encode()), place


@pytest.mark.parametrize("path", ASKED.split())
def test_files_that_commands_change_as_part_of_normal_work(path: str) -> None:
    assert is_protected(path) and is_protected(f"a/{path.upper()}") and not is_read_only(path)


@pytest.mark.parametrize("path", NORMAL_WORK.split())
def test_normal_work_is_not_in_the_table(path: str) -> None:
    assert not is_protected(path) and not is_protected(f"a/{path}")


@pytest.mark.parametrize(
    "path",
    [".env\u200brc", ".ENVRC", ".envrc.", ".envrc ", ".envrc::$DATA", "\uff0eenvrc", ".hu\u017fky", "CLAUDE\u200d.md"],
)
def test_spellings_that_a_lenient_file_system_takes_for_the_same(path: str) -> None:
    assert is_read_only(path) and NOTEWORTHY.search(f"./a/{path}".encode())


def test_letters_of_other_scripts_are_other_names() -> None:
    """No program reads `.еnvrc` with a Cyrillic letter; and the Kelvin sign is the letter K to every file system."""
    assert not is_read_only(".\u0435nvrc") and is_read_only("loo\u212a/.hus\u212ay")


def test_the_table_is_well_formed() -> None:
    plain = tomllib.loads((resources.files("resources") / "safety" / "trusted_files.toml").read_text("utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", plain["checked"])
    files = [file for one in TRUSTED_PROGRAMS for file in one.files]
    assert len(files) == len(set(files)) == len(PROTECTED) and len({one.name for one in TRUSTED_PROGRAMS}) == len(
        TRUSTED_PROGRAMS
    )
    for one in TRUSTED_PROGRAMS:
        assert one.effect in ("revert", "ask") and one.source and one.files
        for file in one.files:
            assert file == posixpath.normpath(file) and not file.startswith(("/", "../"))
    assert {".git", ".Rprofile", "AGENTS.md"} <= set(READ_ONLY_NAMES)
