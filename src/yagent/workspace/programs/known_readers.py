"""The options of programs that only read, as data (I-04: a program's name alone says nothing).

An option that is missing here asks, and that is the safe side: add one only after reading what it can write or start.
"""

from __future__ import annotations

from yagent.workspace.programs.options import Options, known

HARMLESS_ALWAYS = frozenset(
    {
        *("echo", "true", "false", ":", "pwd", "sleep", "basename", "dirname", "expr", "seq", "test", "[", "]", "whoami", "logname"),
        *("exit", "return", "break", "continue", "shift", "wait", "cd", "pushd", "popd", "dirs", "set", "read", "unset", "getopts"),
        *("export", "readonly", "declare", "typeset", "local", "times", "which", "type", "arch", "nproc", "groups", "tty", "yes"),
        *("printenv", "factor", "numfmt", "printf", "uptime", "users"),
    }
)
"""No argument makes these change a file or run a program (variables and directories are followed elsewhere)."""

_LINES = "--lines --bytes"
_GREP = known(
    "ivwxnHhlLcoqsEFGPazZbTuU --ignore-case --invert-match --word-regexp --line-regexp --line-number --with-filename --no-filename "
    "--files-with-matches --files-without-match --count --only-matching --quiet --silent --no-messages --extended-regexp "
    "--fixed-strings --basic-regexp --perl-regexp --text --null --null-data --byte-offset --color --colour --no-ignore-case "
    "--line-buffered",
    "mABCDd --max-count --after-context --before-context --context --color --colour --include --exclude --exclude-dir --binary-files "
    "--label --directories --devices",
    operands="pattern",
    also={"paths": "f --file --exclude-from", "recursive": "r --recursive", "patterns": "e --regexp"},
    traits="inert number",
)
_RG = known(
    "ivwxnNHIlcoqsFSUPuhpa0 --ignore-case --invert-match --word-regexp --line-regexp --line-number --no-line-number --with-filename "
    "--no-filename --files-with-matches --files-without-match --count --count-matches --only-matching --quiet --fixed-strings "
    "--smart-case --files --case-sensitive --multiline --multiline-dotall --pcre2 --hidden --no-ignore --no-ignore-vcs --unrestricted "
    "--heading --no-heading "
    "--column --json --vimgrep --null --text --trim --stats --no-messages --no-config --glob-case-insensitive --type-list --version "
    "--pretty --binary --one-file-system --crlf --passthru",
    "ABCgtTmMdrEj --after-context --before-context --context --glob --iglob --type --type-not --max-count --max-columns --max-depth "
    "--replace --encoding --color --colors --sort --sortr --threads --max-filesize --engine --path-separator --context-separator",
    operands="pattern",
    default=".",
    also={"paths": "f --file --ignore-file", "patterns": "e --regexp"},
)

SPECS: dict[str, Options] = {
    "cat": known(
        "AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank --show-nonprinting", traits="inert"
    ),
    "tac": known("br --before --regex", "s --separator", traits="inert"),
    "head": known("qvz --quiet --silent --verbose --zero-terminated", f"nc {_LINES}", traits="inert number"),
    "tail": known("qvzfFr --quiet --silent --verbose --follow --zero-terminated", f"ncs --pid {_LINES}", traits="inert number"),
    "wc": known("clmwL --bytes --chars --lines --words --max-line-length", also={"paths": "--files0-from"}, traits="inert"),
    "ls": known(
        "aAbBcCdDfFgGhHiklLmnNopqQrsStuUvxXZ1 --all --almost-all --author --directory --classify --human-readable --inode --size --reverse "
        "--no-group --numeric-uid-gid --group-directories-first --full-time --color --file-type --si --dereference --zero",
        "ITw --color --sort --time --time-style --format --block-size --ignore --hide --width --indicator-style --quoting-style",
        default=".",
        also={"recursive": "R --recursive"},
        traits="inert",
    ),
    "stat": known("Lft --dereference --file-system --terse x", "c --format --printf", traits="inert"),
    "file": known("bikLhpNrs0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference", "F", traits="inert"),
    "du": known(
        "abcDhHklLmPsSx0 --all --summarize --human-readable --total --apparent-size",
        "dBt --max-depth --exclude",
        default=".",
        traits="inert",
    ),
    "df": known("ahHiklPT --all --human-readable --inodes --local --total", "Bt --type --output", traits="inert"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "cut": known("nsz --complement --only-delimited", "bcdf --bytes --characters --delimiter --fields --output-delimiter", traits="inert"),
    "tr": known("cCdst --complement --delete --squeeze-repeats --truncate-set1", operands="text", traits="inert"),
    "nl": known("p", "bdfhilnsvw", traits="inert"),
    "rev": known(traits="inert"),
    "fold": known("bs", "w --width", traits="inert"),
    "expand": known("i", "t", traits="inert"),
    "join": known("i", "aeojtv12", traits="inert"),
    "paste": known("sz --serial", "d --delimiters", traits="inert"),
    "column": known("tnxe --table", "csoNRHEO --separator --output-separator", traits="inert"),
    "comm": known("123z --check-order --nocheck-order --total", "--output-delimiter", traits="inert"),
    "cmp": known("bls --print-bytes --verbose --quiet --silent", "in --ignore-initial --bytes", traits="inert"),
    "diff": known(
        "abBcdefiNnpqstTuwyZE --brief --unified --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --new-file "
        "--text --side-by-side --suppress-common-lines --color --report-identical-files --minimal",
        "CUIxLW --unified --context --color --exclude --label --width --strip-trailing-cr",
        also={"paths": "X", "recursive": "r --recursive"},
        traits="inert",
    ),
    "od": known("abcdfilosvx", "AjNtSw --format --address-radix --skip-bytes --read-bytes", traits="inert"),
    "hexdump": known("bcCdovx", "ens", traits="inert"),
    "strings": known("afo --all", "nte --bytes --radix", traits="inert"),
    "md5sum": known("btcz --check --quiet --status", traits="inert"),
    "cksum": known("", "a --algorithm", traits="inert"),
    "realpath": known(
        "eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks", "--relative-to --relative-base", traits="inert"
    ),
    "readlink": known("femnqsvz --canonicalize", traits="inert"),
    "sort": known(
        "bdfghiMnRrVcCmsuz --ignore-case --numeric-sort --reverse --unique --human-numeric-sort --version-sort --stable --zero-terminated",
        "kt --key --field-separator --parallel --sort",
    ),
    "uniq": known("cdDiuz --count --repeated --unique --ignore-case --all-repeated", "fsw"),
    "tree": known("adfilpsugDFqNQCnxrthvUcJX --dirsfirst --noreport --gitignore --prune --du --si", "LPIT --filelimit --sort", default="."),
    "jq": known(
        "cCMrRsSneja --compact-output --raw-output --raw-input --slurp --sort-keys --null-input --exit-status --tab --color-output",
        "--indent",
        operands="pattern",
        also={"paths": "f --from-file"},
    ),
    "date": known("uR --utc --universal --iso-8601 --rfc-email", "dI --date --rfc-3339 --iso-8601", operands="text"),
    "id": known("Ggnruz", operands="text", traits="inert"),
    "uname": known("asnrvmpio --all", operands="none"),
    "hostname": known("fis", operands="none"),
    "free": known("bkmghtw --human", "sc", operands="none"),
    "locale": known("am", operands="text"),
    "getconf": known("a", operands="text"),
    "ps": known("efFlAaxTH", "opuC -o --sort --pid", operands="none"),
    "xxd": known("pbuE", "clsg"),
}
for _sum in ("sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "shasum", "sum"):
    SPECS[_sum] = SPECS["md5sum"]

FIND_TESTS = frozenset(
    {
        *(
            "-print",
            "-print0",
            "-ls",
            "-not",
            "!",
            "-o",
            "-or",
            "-a",
            "-and",
            "(",
            ")",
            ",",
            "-prune",
            "-empty",
            "-depth",
            "-xdev",
            "-mount",
        ),
        *("-quit", "-true", "-false", "-executable", "-readable", "-writable", "-daystart", "-nouser", "-nogroup", "-noleaf", "-H", "-P"),
    }
)
FIND_VALUED = frozenset(
    {
        *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname", "-ilname", "-regex", "-iregex", "-regextype"),
        *("-type", "-xtype", "-maxdepth", "-mindepth", "-size", "-perm", "-user", "-group", "-uid", "-gid", "-links", "-inum", "-fstype"),
        *("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-used", "-printf"),
    }
)
FIND_PATHS = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})

VERSION_QUESTIONS = frozenset({"--version", "-V", "-v", "version", "--help", "-h", "help"})
"""Asked alone, of a program in VERSIONED."""

VERSIONED = frozenset(
    {
        *("python", "python3", "node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "ruby", "gem", "bundle", "perl", "php", "composer"),
        *("cargo", "rustc", "rustup", "go", "gcc", "g++", "clang", "cmake", "make", "ninja", "java", "javac", "mvn", "gradle", "kotlinc"),
        *(
            "pip",
            "pip3",
            "uv",
            "poetry",
            "ruff",
            "mypy",
            "pytest",
            "black",
            "tsc",
            "eslint",
            "prettier",
            "git",
            "rg",
            "docker",
            "bash",
            "sh",
        ),
    }
)
ONLY_LONG_VERSION = frozenset({"java", "javac", "perl", "ruby", "php", "bash", "sh", "gcc", "g++", "clang", "make", "python", "python3"})
"""Of these, only `--version` is certain to do nothing else."""
