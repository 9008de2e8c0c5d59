"""Programs that reach beyond the workspace, as data: by name, with the reason they ask."""

from __future__ import annotations

_NETWORK = "reaches the network"
_REMOTE = "acts on another system"
_RIGHTS = "runs with other rights"
_SYSTEM = "changes this machine"
_LATER = "starts something later"
_PUBLISHES = "publishes"
_INSTALLS = "installs for the whole machine or user"
_PROCESSES = "acts on other processes"
_CREDENTIALS = "handles credentials"
_HIDES = "runs a command that cannot be followed"
_DESKTOP = "acts on the desktop"

_BY_REASON: dict[tuple[str, str], tuple[str, ...]] = {
    ("network", _NETWORK): (
        *("curl", "wget", "wget2", "nc", "ncat", "netcat", "telnet", "ssh", "scp", "sftp", "rsync", "ftp", "lftp", "tftp", "http", "https"),
        *("httpie", "xh", "aria2c", "socat", "openssl", "dig", "nslookup", "host", "ping", "traceroute", "nmap", "w3m", "lynx", "links"),
        *("yt-dlp", "axel", "mosh", "rclone", "s3cmd", "websocat", "grpcurl", "ab", "wrk", "hey", "tcpdump", "tshark", "svn", "hg", "bzr"),
    ),
    ("remote", _REMOTE): (
        *("docker", "podman", "nerdctl", "buildah", "docker-compose", "kubectl", "helm", "terraform", "tofu", "pulumi", "ansible"),
        *(
            "ansible-playbook",
            "vagrant",
            "aws",
            "gcloud",
            "gsutil",
            "az",
            "heroku",
            "fly",
            "flyctl",
            "vercel",
            "netlify",
            "wrangler",
            "firebase",
        ),
        *(
            "doctl",
            "linode-cli",
            "serverless",
            "sam",
            "cdk",
            "eksctl",
            "psql",
            "mysql",
            "mongosh",
            "redis-cli",
            "lxc",
            "qemu",
            "virsh",
            "adb",
        ),
    ),
    ("rights", _RIGHTS): ("sudo", "su", "doas", "pkexec", "runuser", "setpriv", "capsh", "newgrp", "sg", "login"),
    ("system", _SYSTEM): (
        *(
            "mount",
            "umount",
            "mkfs",
            "fdisk",
            "parted",
            "swapon",
            "swapoff",
            "losetup",
            "modprobe",
            "insmod",
            "rmmod",
            "sysctl",
            "iptables",
        ),
        *("nft", "ufw", "ip", "ifconfig", "route", "useradd", "userdel", "usermod", "groupadd", "passwd", "chsh", "chfn", "visudo", "vipw"),
        *("systemctl", "service", "initctl", "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "hostnamectl", "timedatectl"),
        *("update-alternatives", "dpkg-reconfigure", "ldconfig", "setfacl", "chattr", "setcap", "defaults", "launchctl", "scutil", "mknod"),
        *("mkfifo", "logger", "wall", "write", "dconf", "gsettings", "hwclock", "ntpdate", "chroot", "chown", "chgrp"),
    ),
    ("later", _LATER): ("crontab", "at", "batch", "systemd-run", "anacron", "incrontab", "direnv"),
    ("publishing", _PUBLISHES): (
        "gh",
        "glab",
        "hub",
        "twine",
        "mail",
        "mailx",
        "sendmail",
        "mutt",
        "msmtp",
        "semantic-release",
        "goreleaser",
    ),
    ("installs", _INSTALLS): (
        *("apt", "apt-get", "aptitude", "dpkg", "dnf", "yum", "rpm", "pacman", "yay", "zypper", "apk", "snap", "flatpak", "brew", "port"),
        *(
            "nix",
            "nix-env",
            "conda",
            "mamba",
            "pipx",
            "gem",
            "cpan",
            "cpanm",
            "luarocks",
            "cabal",
            "opam",
            "rustup",
            "nvm",
            "pyenv",
            "asdf",
        ),
        *("npx", "bunx", "uvx", "easy_install", "pipenv", "pkg", "emerge", "xbps-install", "softwareupdate", "mas", "sdk", "volta", "fnm"),
    ),
    ("processes", _PROCESSES): ("kill", "pkill", "killall", "killall5", "renice", "gdb", "lldb", "fuser", "skill", "prlimit", "bpftrace"),
    ("credentials", _CREDENTIALS): (
        "ssh-keygen",
        "ssh-add",
        "ssh-agent",
        "ssh-copy-id",
        "gpg",
        "gpg2",
        "security",
        "secret-tool",
        "pass",
        "op",
        "bw",
    ),
    ("hidden", _HIDES): (
        *(
            "watch",
            "parallel",
            "script",
            "expect",
            "screen",
            "tmux",
            "entr",
            "unshare",
            "nsenter",
            "flock",
            "setarch",
            "faketime",
            "rlwrap",
        ),
        *("xvfb-run", "dbus-run-session", "nix-shell", "fakeroot", "proot", "bwrap", "firejail", "runcon", "ssh-exec", "daemonize"),
    ),
    ("desktop", _DESKTOP): (
        "xdg-open",
        "open",
        "osascript",
        "notify-send",
        "xclip",
        "xsel",
        "pbcopy",
        "pbpaste",
        "wl-copy",
        "wl-paste",
        "xdotool",
    ),
}

ALWAYS_ASK: dict[str, tuple[str, str]] = {name: reason for reason, names in _BY_REASON.items() for name in names}
"""Program name to the code and the words of its reason."""

PUBLISHING_WORDS = frozenset({"publish", "deploy", "upload", "release", "push", "login", "logout", "adduser", "unpublish", "yank"})
"""As a word of its own given to any program that does more than read (`npm publish`, `make deploy`)."""

INTERPRETERS = frozenset(
    {
        *(
            "python",
            "python2",
            "python3",
            "pypy",
            "pypy3",
            "node",
            "nodejs",
            "deno",
            "bun",
            "ruby",
            "perl",
            "php",
            "lua",
            "luajit",
            "julia",
        ),
        *(
            "Rscript",
            "R",
            "tclsh",
            "guile",
            "racket",
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "java",
            "osascript",
            "swift",
            "scala",
            "groovy",
            "ipython",
        ),
        *(
            "bash",
            "sh",
            "dash",
            "ash",
            "zsh",
            "fish",
            "ksh",
            "csh",
            "tcsh",
            "pwsh",
            "elixir",
            "erl",
            "ghci",
            "sqlite3",
            "make",
            "env",
            "xargs",
        ),
    }
)
"""Programs that run what they are given: only their exact command is ever remembered."""

CODE_OPTIONS = frozenset({"-c", "-e", "-E", "-p", "-pe", "-ne", "-le", "-r", "--eval", "--print", "-m"})
"""After these, an interpreter's next word is code (or a module's name), not a path."""

UNREAD_SHELLS = frozenset({"zsh", "fish", "ksh", "mksh", "csh", "tcsh", "pwsh", "rbash", "nu", "xonsh"})
"""Shells whose text is not analysed."""

PASSING_ON = frozenset(
    {
        *(
            "strace",
            "ltrace",
            "perf",
            "valgrind",
            "taskset",
            "numactl",
            "chrt",
            "unbuffer",
            "catchsegv",
            "uv",
            "poetry",
            "hatch",
            "pdm",
            "rye",
        ),
        *("bundle", "npm", "pnpm", "yarn", "bun", "deno", "tox", "nox", "cargo", "dotnet", "mise", "just", "task", "coverage", "hyperfine"),
        *(
            "python",
            "python3",
            "busybox",
            "toybox",
            "setsid",
            "stdbuf",
            "nice",
            "time",
            "env",
            "xargs",
            "doppler",
            "chronic",
            "ts",
            "caffeinate",
        ),
    }
)
"""Programs that may run the rest of their words as a command."""

RUNNERS = frozenset(
    {
        *("pytest", "py.test", "tox", "nox", "ruff", "mypy", "pyright", "black", "isort", "flake8", "pylint", "bandit", "coverage"),
        *("eslint", "prettier", "tsc", "jest", "vitest", "mocha", "ava", "biome", "stylelint", "rspec", "rubocop", "phpunit", "ctest"),
        *("golangci-lint", "gofmt", "rustfmt", "clippy-driver", "shellcheck", "shfmt", "clang-format", "clang-tidy", "ninja", "pre-commit"),
    }
)
"""Test runners, linters and builders whose narrow pattern is the program itself."""

WITH_VERB = frozenset(
    {"npm", "yarn", "pnpm", "bun", "cargo", "go", "make", "poetry", "uv", "dotnet", "mvn", "gradle", "just", "rake", "cmake", "hatch"}
)
"""Programs whose narrow pattern is the program and its first word."""
