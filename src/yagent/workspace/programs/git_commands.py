"""git's commands, as data: which read (with the options for which that is certain), which work here, which reach out."""

from __future__ import annotations

from yagent.workspace.programs.options import Options, known

_DIFF = (
    "pusbawz --patch --no-patch --stat --shortstat --numstat --name-only --name-status --summary --raw --minimal --patience --histogram "
    "--color --no-color --word-diff --check --full-index --binary --no-renames --find-renames --find-copies --ignore-space-change "
    "--ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --cached --staged --merge-base --exit-code --quiet --no-ext-diff "
    "--no-textconv "
    "--no-prefix --relative --function-context --compact-summary --dirstat --pickaxe-all --pickaxe-regex --text --cc -c -W -M -C -R -B -D"
)
_DIFF_VALUED = (
    "USGl --unified --diff-filter --stat --color --word-diff --word-diff-regex --diff-algorithm --find-renames --find-copies --abbrev "
    "--inter-hunk-context --submodule --ignore-submodules --dirstat --relative --anchored --color-moved --color-words --ws-error-highlight"
)
_LOG = (
    f"{_DIFF} -i -E -F -P --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --follow --merges --no-merges "
    "--reverse "
    "--first-parent --date-order --topo-order --author-date-order --abbrev-commit --no-abbrev-commit --left-right --cherry-pick "
    "--cherry --walk-reflogs "
    "-g --full-history --simplify-merges --boundary --source --name-only --count --no-walk --invert-grep --all-match --parents "
    "--children --objects "
    "--no-notes --notes --relative-date --show-pulls --left-only --right-only --not --clear-decorations"
)
_LOG_VALUED = (
    f"{_DIFF_VALUED} nL --max-count --skip --since --after --until --before --author --committer --grep --format --pretty --date "
    "--decorate "
    "--decorate-refs --branches --tags --remotes --glob --exclude --min-parents --max-parents --since-as-filter --encoding --notes"
)


def _verb(flags: str = "", valued: str = "", traits: str = "number") -> Options:
    return known(flags, valued, traits=traits)


READING: dict[str, Options] = {
    "status": _verb(
        "sbvz --short --branch --long --porcelain --verbose --show-stash --ignored --no-renames --ahead-behind --no-ahead-behind --null",
        "u --untracked-files --porcelain --ignored --ignore-submodules --column --find-renames",
    ),
    "log": _verb(_LOG, _LOG_VALUED),
    "show": _verb(_LOG, _LOG_VALUED),
    "shortlog": _verb(f"{_LOG} -s -n -e --summary --numbered --email", f"{_LOG_VALUED} --group"),
    "whatchanged": _verb(_LOG, _LOG_VALUED),
    "diff": _verb(f"{_DIFF} --no-index", _DIFF_VALUED),
    "diff-tree": _verb(f"{_DIFF} -r -t --root --no-commit-id -m -v --stdin", f"{_DIFF_VALUED} --pretty --format"),
    "diff-index": _verb(_DIFF, _DIFF_VALUED),
    "diff-files": _verb(_DIFF, _DIFF_VALUED),
    "range-diff": _verb(_DIFF, f"{_DIFF_VALUED} --creation-factor"),
    "blame": _verb(
        "bewslftpcknMC --root --show-stats --porcelain --line-porcelain --incremental --color-lines -w", "L --since --date --abbrev"
    ),
    "annotate": _verb("wlft", "L"),
    "grep": known(
        "ivwnlLchHoqzEFGPapWIr --ignore-case --word-regexp --line-number --files-with-matches --count --cached --untracked --no-index "
        "--name-only --extended-regexp --fixed-strings --perl-regexp --show-function --function-context --heading --break --all-match "
        "--or --and --not",
        "ABCm --max-depth --threads --context --after-context --before-context --color",
        also={"patterns": "e"},
        operands="pattern",
        traits="number",
    ),
    "rev-parse": _verb(
        "--show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree "
        "--is-bare-repository "
        "--is-inside-git-dir --verify --short --abbrev-ref --symbolic-full-name --symbolic --all --branches --tags --remotes -q --quiet "
        "--is-shallow-repository --show-superproject-working-tree --revs-only --no-revs --flags --no-flags --sq",
        "--short --abbrev-ref --default --git-path --show-object-format --path-format",
    ),
    "rev-list": _verb(f"{_LOG} --objects --count --use-bitmap-index", _LOG_VALUED),
    "ls-files": _verb(
        "cdmoiskuztvf --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude-standard --full-name "
        "--error-unmatch --recurse-submodules --directory --no-empty-directory --eol --deduplicate",
        "x --exclude --abbrev --format --with-tree",
    ),
    "ls-tree": _verb("rtdlz --name-only --name-status --full-name --full-tree --long", "--abbrev --format"),
    "cat-file": _verb("tspe --batch-check --batch-all-objects --batch", "--batch-check --batch"),
    "describe": _verb(
        "--tags --all --always --long --dirty --contains --exact-match --first-parent --debug",
        "--match --exclude --abbrev --candidates --dirty",
    ),
    "name-rev": _verb("--tags --all --always --name-only --no-undefined", "--refs"),
    "merge-base": _verb("a --all --octopus --independent --is-ancestor --fork-point"),
    "show-ref": _verb("dsq --head --heads --tags --branches --dereference --hash --verify --quiet", "--hash --abbrev"),
    "show-branch": _verb("ar --all --remotes --current --list --topics --sparse --sha1-name", "--more"),
    "for-each-ref": _verb("--ignore-case", "--format --count --sort --points-at --contains --no-contains --merged --no-merged --exclude"),
    "count-objects": _verb("vH --verbose --human-readable"),
    "cherry": _verb("v", "--abbrev"),
    "check-ignore": _verb("qvnz --quiet --verbose --non-matching --no-index"),
    "check-attr": _verb("az --all --cached"),
    "var": _verb("l"),
    "version": _verb("--build-options"),
    "help": _verb("ag --all --guides"),
    "branch": _verb(
        "arlvq --all --remotes --list --verbose --show-current --ignore-case --no-color --no-column",
        "--format --sort --contains --no-contains --merged --no-merged --points-at --color --column --abbrev",
    ),
    "tag": _verb("l --list --no-column", "n --format --sort --contains --no-contains --merged --no-merged --points-at --column"),
    "remote": _verb("v --verbose"),
    "reflog": _verb(_LOG, _LOG_VALUED),
    "stash": _verb(_DIFF, _DIFF_VALUED),
    "worktree": _verb("v --porcelain -z --verbose"),
    "notes": _verb("", "--ref"),
    "bisect": _verb(""),
    "submodule": _verb("--recursive --cached --quiet"),
    "symbolic-ref": _verb("q --short --quiet"),
}
"""Commands that read, with the options for which that is certain; an option that is not listed asks."""

ONLY_AFTER: dict[str, frozenset[str]] = {
    "remote": frozenset({"get-url"}),
    "reflog": frozenset({"show", "exists"}),
    "stash": frozenset({"list", "show"}),
    "worktree": frozenset({"list"}),
    "notes": frozenset({"list", "show"}),
    "bisect": frozenset({"log"}),
    "submodule": frozenset({"status", "summary"}),
}
"""Commands with a second verb: which of them read. `remote`, `reflog`, `notes` and `submodule` read without one, too."""

BARE_READS = frozenset({"remote", "reflog", "notes", "submodule"})

PUBLISHING = frozenset(
    {"push", "send-email", "send-pack", "svn", "p4", "request-pull", "imap-send", "cvsexportcommit", "cvsserver", "daemon"}
)
NETWORK = frozenset({"fetch", "pull", "clone", "ls-remote", "fetch-pack", "archive-remote", "http-fetch", "instaweb", "lfs"})
LOSING = frozenset({"clean", "gc", "prune", "filter-branch", "filter-repo", "update-ref", "replace", "reflog", "prune-packed", "repack"})
SETTINGS = frozenset(
    {"config", "credential", "credential-store", "credential-cache", "maintenance", "hook", "difftool", "mergetool", "gui", "citool"}
)

WORKING = frozenset(
    {
        *(
            "add",
            "commit",
            "mv",
            "rm",
            "stash",
            "switch",
            "checkout",
            "restore",
            "merge",
            "rebase",
            "cherry-pick",
            "revert",
            "tag",
            "branch",
        ),
        *(
            "init",
            "apply",
            "am",
            "reset",
            "notes",
            "worktree",
            "format-patch",
            "bisect",
            "hash-object",
            "write-tree",
            "read-tree",
            "archive",
        ),
        *("update-index", "sparse-checkout", "bundle", "fsck", "diff-files", "interpret-trailers", "stripspace", "mktree", "commit-tree"),
    }
)

VALUED_LETTERS: dict[str, str] = {
    "am": "pCS",
    "apply": "pC",
    "archive": "o",
    "branch": "u",
    "checkout": "bB",
    "cherry-pick": "mXS",
    "commit": "mFCctSu",
    "commit-tree": "pmFS",
    "format-patch": "ov",
    "hash-object": "t",
    "init": "b",
    "merge": "mFsXS",
    "notes": "mFCc",
    "push": "o",
    "rebase": "sXCS",
    "restore": "s",
    "revert": "mXS",
    "stash": "m",
    "switch": "cC",
    "tag": "mFu",
    "worktree": "bB",
}
"""The letters of a command after which the rest of the word is a value: `-amfix` gives no -f."""

COMPLETE = frozenset({"--edit", "--index"})
"""Options that begin as longer ones do, and are no abbreviations of them."""
