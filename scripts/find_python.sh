# Sourced by scripts/yagent and scripts/check; POSIX sh. Needs $root, the repository.

# Succeeds when .venv is complete for $1 (`run` or `dev`) and pyproject.toml as it is; starts one small program at most.
is_ready() {
    [ -x "$root/.venv/bin/python" ] && [ -r "$root/.venv/yagent-stamp" ] || return 1
    { read -r kind && read -r sum && IFS= read -r place; } <"$root/.venv/yagent-stamp" || return 1
    [ "$place" = "$root" ] && [ "$sum" = "$(cksum <"$root/pyproject.toml")" ] && { [ "$kind" = dev ] || [ "$kind" = "$1" ]; }
}

# Makes .venv complete for $1 with the newest suitable Python; one with its venv module is preferred, so that its lack is the last resort.
make_ready() {
    is_ready "$1" && return 0
    for wanted in 'import sys, ensurepip' 'import sys'; do
        for python in python3.13 python3.12 python3.11 python3 python; do
            if "$python" -c "$wanted; sys.exit(sys.version_info < (3, 11))" </dev/null >/dev/null 2>&1; then
                "$python" "$root/scripts/set_up.py" "$1" "$(cksum <"$root/pyproject.toml")" </dev/null
                return
            fi
        done
    done
    echo "yagent: Python 3.11 or newer is needed and none was found (tried python3.13 to python3.11, python3, python); install one, for example the packages python3 and python3-venv." >&2
    return 2
}
