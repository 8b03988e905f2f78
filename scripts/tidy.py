#!/usr/bin/env python3
# SPDX-License-Identifier: PostgreSQL
"""The house style as a test: fast, standard library only.

Usage: scripts/tidy.py [--no-format] [--root DIR] [FILE...]

Prints one line a violation, "file:line: rule: what to do", and exits 1 when there is any. With FILE... only
violations in these files are printed. The rules are listed in CONTRIBUTING.md.
"""
import argparse
import ast
import os
import re
import shutil
import subprocess
import sys

# A module of the sidecar includes only modules of lower levels, never a sibling.
LEVELS = {
    "base": 0, "model": 1, "types": 2,
    "wire": 3, "pg": 3, "bus": 3, "store": 3,
    "history": 4, "branch": 5, "merge": 6,
    "setup": 7, "ingest": 8, "feed": 8,
    "query": 9, "http": 9, "config": 10,
}
CLI_MAY_INCLUDE = {"base", "model", "setup", "config"}

# Each third-party header has one home; its types never leave it. Tests of a home may include it too.
OWNERS = [
    (re.compile(r"rocksdb/"), ["sidecar/store"]),
    (re.compile(r"libpq-fe\.h|libpq/libpq-fs\.h"), ["sidecar/pg", "tests/oracle"]),
    (re.compile(r"boost/"), ["sidecar/http", "cli"]),
    (re.compile(r"toml\+\+/|toml\.hpp"), ["sidecar/config"]),
    (re.compile(r"flatbuffers/|\w+_generated\.h"), ["sidecar/wire", "plugin/wire", "tests/support"]),
    (re.compile(r"spdlog/"), ["sidecar/base"]),
    (re.compile(r"prometheus/"), ["sidecar/http"]),
    (re.compile(r"xxhash\.h"), ["sidecar/model", "plugin/wire"]),
    (re.compile(r"zmq\.h|zmq\.hpp"), ["sidecar/bus", "plugin/wire", "tests/support"]),
    (re.compile(r"CLI/"), ["cli", "sidecar/main.cc"]),
    (re.compile(r"tl/expected\.hpp"), ["sidecar/base"]),
    (re.compile(r"catch2/|catch\.hpp"), ["tests/support"]),
]

SOURCE = (".c", ".cc")
CODE = (".c", ".cc", ".h")
SCRIPT = (".py", ".pl", ".pm", ".sh")
FILE_LINES_MAX = 500
HEADER_LINES_MAX = 250
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 110
TOP_MESON_LINES_MAX = 120
SLEEP_SECONDS_MAX = 1.0
TAB = 4

OWN_CODE = ("sidecar/", "cli/", "plugin/")
CPP = ("sidecar/", "cli/", "plugin/", "tests/", "bench/")

# (directories, suffixes, pattern in code without comments and strings, exempt files, message)
BANNED = [
    (OWN_CODE, CODE, r"\bthrow\b", (), "throw: own code returns Result"),
    (CPP, (".cc", ".h"), r"\busing\s+namespace\b", (), "using namespace: name what you use"),
    (CPP, (".cc", ".h"), r"\bstd::(ranges::)?views::|\bstd::ranges::(views|subrange)\b", (),
     "range views: clang 14 with libstdc++ 12 cannot compile them"),
    (CPP, (".cc", ".h"), r"\bstd::(w?regex|regex_\w+|basic_regex|format)\b", (),
     "std::regex and std::format: use a parser, use fmt"),
    (("sidecar/",), CODE,
     r"(?<![\w.>])(std::)?(printf|puts|putchar)\s*\(|\bstd::cout\b|\bfmt::print\s*\(\s*(?!stderr)",
     ("sidecar/main.cc",), "stdout belongs to main.cc: use base/log.h"),
    (CPP, CODE, r"\bPG_VERSION_NUM\b", ("plugin/compat.h",), "PG_VERSION_NUM: only plugin/compat.h tests it"),
    (CPP, (".cc", ".h"), r"\bexpected_lite\b|\bstd::expected\b", (), "use base/result.h"),
]
BANNED_INCLUDES = [
    (r"ranges|format|regex|expected", CPP, "<{}> is banned (g++ 12 and clang 14 must both build it)"),
    (r"iostream", ("sidecar/",), "<{}> is banned in the sidecar: use base/log.h"),
]
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
PRIVATE_PATH = re.compile(r"(^|[^\w.])/(home|root|Users)/\w")
SLEEPS = [re.compile(p) for p in (
    r"\b(?:time\.)?sleep\s*\(?\s*([0-9.]+)", r"pg_sleep\s*\(\s*([0-9.]+)",
    r"sleep_for\(\s*std::chrono::seconds\s*[({]\s*([0-9.]+)", r"sleep_for\(\s*([0-9.]+)s\s*\)")]
POSTGRES_HEADER = re.compile(
    r"(postgres|postgres_fe|c|fmgr|miscadmin|pgstat)\.h$|"
    r"(access|catalog|commands|executor|lib|mb|nodes|optimizer|parser|replication|storage|tcop|utils)/")


class Report:
    def __init__(self, only):
        self.only = only
        self.lines = []

    def add(self, path, line, rule, message):
        if not self.only or path in self.only:
            self.lines.append((path, line, rule, message))


def list_files(root):
    """Tracked and new files, not ignored ones; all files outside a git checkout."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                         capture_output=True, check=False)
    if git.returncode == 0:
        names = [n for n in git.stdout.decode().split("\0") if n]
    else:
        names = []
        for directory, subdirs, files in os.walk(root):
            subdirs[:] = [d for d in subdirs if not d.startswith((".git", "build"))]
            names += [os.path.relpath(os.path.join(directory, f), root) for f in files]
    return sorted(set(n for n in names if os.path.isfile(os.path.join(root, n))))


def blank(match):
    """Keeps the newlines of what is cut, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


CUT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\s\\"]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.S)


def strip_code(text):
    """C or C++ without comments, strings and characters."""
    return CUT.sub(lambda m: '""' + blank(m)[2:] if m.group(0)[0] in '"R' else blank(m), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


SCOPE = re.compile(r"^\s*(inline\s+)?(namespace|extern)\b|^\s*(template\s*<.*>\s*)?(typedef\s+)?"
                   r"(class|struct|union|enum)\b(?![^{]*\)\s*(const|noexcept|override|final|\s)*$)", re.S)


def function_heads(code):
    """(first line, last line, head) of outermost function bodies, found by braces."""
    stack, start, found = [], 0, []
    for match in re.finditer(r"[{};]|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", code, re.M):
        token = match.group(0)
        if token.lstrip().startswith("#"):
            start = match.end()
        elif token == "{":
            head = code[start:match.start()]
            inside = any(kind != "scope" for kind, _, _ in stack)
            if inside:
                kind = "block"
            elif SCOPE.match(head):
                kind = "scope"
            else:
                kind = "function" if ")" in head and not re.search(r"=\s*$", head) else "block"
            first = match.start() if not head.strip() else start + len(head) - len(head.lstrip())
            stack.append((kind, line_of(code, first), head))
            start = match.end()
        elif token == "}":
            if stack:
                kind, first, head = stack.pop()
                if kind == "function":
                    found.append((first, line_of(code, match.start()), head))
            start = match.end()
        else:
            start = match.end()
    return found


def check_sizes(path, text, report):
    lines = text.splitlines()
    limit = HEADER_LINES_MAX if path.endswith(".h") else FILE_LINES_MAX
    if len(lines) > limit:
        report.add(path, limit + 1, "size", f"{len(lines)} lines, at most {limit}: split the file by verb")
    for number, line in enumerate(lines, 1):
        columns = len(line.expandtabs(TAB))
        if columns > COLUMNS_MAX:
            report.add(path, number, "size", f"line of {columns} columns, at most {COLUMNS_MAX}")


def check_functions(path, code, report):
    for first, last, head in function_heads(code):
        names = re.findall(r"([\w:~]+)\s*\(", head)
        check_function(path, first, last, names[0] if names else "function", report)


def check_python_functions(path, text, report):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            check_function(path, node.lineno, node.end_lineno, node.name, report)


def check_function(path, first, last, name, report):
    lines = last - first + 1
    if lines > FUNCTION_LINES_MAX:
        report.add(path, first, "size", f"{name}: {lines} lines, at most {FUNCTION_LINES_MAX}")


def module_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "sidecar" and len(parts) > 2 else None


def check_direction(path, line, target, report):
    """Who may include whom inside the project."""
    top, module = path.split("/")[0], module_of(path)
    target_top, target_module = target.split("/")[0], module_of(target)
    if top == "sidecar" and target_top in ("plugin", "cli", "tests", "bench"):
        report.add(path, line, "direction", f"the sidecar does not include {target_top}/")
    if top == "plugin" and target_top in ("sidecar", "cli", "tests", "bench"):
        report.add(path, line, "direction", "plugin/ and sidecar/ share schemas/ only")
    if top == "cli" and target_top == "sidecar" and target_module not in CLI_MAY_INCLUDE:
        report.add(path, line, "direction", f"cli/ includes {', '.join(sorted(CLI_MAY_INCLUDE))} only")
    if path == "sidecar/main.cc" or target_top != "sidecar" or target_module is None or module is None:
        return
    if module not in LEVELS or target_module not in LEVELS:
        unknown = module if module not in LEVELS else target_module
        report.add(path, line, "direction", f"module {unknown} has no level in scripts/tidy.py")
    elif module != target_module and LEVELS[target_module] >= LEVELS[module]:
        report.add(path, line, "direction",
                   f"{module} (level {LEVELS[module]}) must not include {target_module} "
                   f"(level {LEVELS[target_module]})")


def owner_path(path):
    """What a test of a module may include: what the module itself may."""
    unit = re.match(r"tests/unit/(\w+)/", path)
    if not unit:
        return path
    return {"plugin": "plugin/wire/", "cli": "cli/"}.get(unit.group(1), f"sidecar/{unit.group(1)}/")


def check_include(path, line, style, target, report):
    for pattern, homes in OWNERS:
        if pattern.match(target) and not path.startswith("bench/"):
            place = owner_path(path)
            if not any(place == h or place.startswith(h + "/") for h in homes):
                report.add(path, line, "owner", f"{target} belongs to {', '.join(homes)}")
    for pattern, places, message in BANNED_INCLUDES:
        if style == "<" and path.startswith(places) and re.fullmatch(pattern, target):
            report.add(path, line, "banned", message.format(target))
    wall = path.endswith(".cc") or path.startswith(("sidecar/", "cli/", "plugin/wire/"))
    if wall and POSTGRES_HEADER.match(target) and not target.startswith("sidecar/"):
        report.add(path, line, "wall", f"{target}: a .cc file never sees a server header")
    if style == '"' and path.startswith(("sidecar/", "cli/")) and path.endswith((".cc", ".h")):
        if "/" not in target and not target.endswith("_generated.h"):
            report.add(path, line, "include", f'"{target}": write the full path from the top of the tree')


def check_includes(path, text, report, files):
    found = re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.M)
    offsets = [m.start() for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*[<"]', text, re.M)]
    for (style, target), offset in zip(found, offsets):
        line = line_of(text, offset)
        check_direction(path, line, target, report)
        check_include(path, line, style, target, report)
    own = path[:-3] + ".h"
    if path.endswith(".cc") and own in files and found and found[0][1] not in (own, os.path.basename(own)):
        report.add(path, line_of(text, offsets[0]), "include", f"the first include is {own}")


def check_banned(path, code, report):
    for places, suffixes, pattern, exempt, message in BANNED:
        if path.startswith(places) and path.endswith(suffixes) and path not in exempt:
            for match in re.finditer(pattern, code):
                report.add(path, line_of(code, match.start()), "banned", message)


def check_text(path, text, report):
    """Rules for every text file."""
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            report.add(path, number, "unfinished", "finish it, or make it a clear error")
        if PRIVATE_PATH.search(line):
            report.add(path, number, "path", "a path of somebody's own machine")
        if path.startswith("tests/") and path.endswith(CODE + SCRIPT):
            for pattern in SLEEPS:
                for found in pattern.finditer(line):
                    if float(found.group(1).rstrip(".") or 0) > SLEEP_SECONDS_MAX:
                        report.add(path, number, "sleep", f"wait by polling: {found.group(1)} s is too long")


def is_script(path, text):
    return path.endswith(SCRIPT) or text.startswith("#!")


def check_head(path, text, report):
    head = "\n".join(text.splitlines()[:3])
    if "SPDX-License-Identifier: PostgreSQL" not in head:
        report.add(path, 1, "spdx", "the first lines name the licence: SPDX-License-Identifier: PostgreSQL")
    if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.M):
        report.add(path, 1, "pragma", "a header says #pragma once")


def check_named(root, files, report):
    """A source or test file that no meson.build on its way up names is never built or run. The SQL tests are
    listed by tests/regress/run, since their order matters."""
    texts = {}
    for path in files:
        if os.path.basename(path) == "meson.build" or path == "tests/regress/run":
            with open(os.path.join(root, path), encoding="utf-8") as f:
                texts[os.path.dirname(path)] = texts.get(os.path.dirname(path), "") + f.read()
    for path in files:
        test = re.match(r"tests/(unit|fuzz|tap/t|isolation|regress/sql|crash|real|tidy)/", path)
        wanted = path.endswith(SOURCE) or (test and path.endswith((".pl", ".sql", ".spec", "_test.py")))
        if not wanted:
            continue
        name = os.path.basename(path)
        stem = os.path.splitext(name)[0]
        before, behind = (r"[\s(]", r"[\s)]") if path.startswith("tests/regress/sql/") else ("['/]", "'")
        names = re.compile(rf"{before}({re.escape(name)}|{re.escape(stem)}){behind}")
        directory, listed = os.path.dirname(path), False
        while not listed:
            listed = bool(names.search(texts.get(directory, "")))
            if not directory:
                break
            directory = os.path.dirname(directory)
        if not listed:
            report.add(path, 1, "unlisted", f"no meson.build names {name}")
        if path.startswith("tests/regress/sql/"):
            expected = path.replace("/sql/", "/expected/").replace(".sql", ".out")
            if expected not in files:
                report.add(path, 1, "unlisted", f"{expected} is missing")


def check_format(root, files, report):
    tool = shutil.which("clang-format-14")
    if not tool:
        print("tidy: clang-format-14 is not here, the layout is not checked", file=sys.stderr)
        return
    # The plugin's C follows PostgreSQL's own layout.
    paths = [p for p in files if p.endswith((".cc", ".h")) and p.startswith(CPP)
             and not (p.startswith("plugin/") and p.endswith(".h"))]
    half = [paths[0::2], paths[1::2]]
    command = [tool, "--dry-run", "--Werror", "--ferror-limit=1"]
    running = [subprocess.Popen([*command, *part], cwd=root, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE) for part in half if part]
    for process in running:
        for line in process.communicate()[1].splitlines():
            found = re.match(r"(\S+?):(\d+):\d+: error:", line)
            if found:
                report.add(found.group(1), int(found.group(2)), "format", "run clang-format-14 -i on it")


def check_file(root, path, files, report):
    try:
        with open(os.path.join(root, path), encoding="utf-8") as f:
            text = f.read()
    except UnicodeDecodeError:
        return
    if not path.startswith("tests/regress/expected/"):
        check_text(path, text, report)
    if path == "meson.build" and len(text.splitlines()) > TOP_MESON_LINES_MAX:
        report.add(path, 1, "size", f"the top meson.build has at most {TOP_MESON_LINES_MAX} lines")
    if not path.endswith(CODE) and not is_script(path, text):
        return
    check_head(path, text, report)
    check_sizes(path, text, report)
    if path.endswith(".py"):
        check_python_functions(path, text, report)
    if path.endswith(CODE):
        code = strip_code(text)
        check_functions(path, code, report)
        check_banned(path, code, report)
        check_includes(path, text, report, files)


def main():
    parser = argparse.ArgumentParser(description="Checks the house style.")
    parser.add_argument("--no-format", action="store_true", help="leave clang-format out")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("files", nargs="*", help="print violations in these files only")
    options = parser.parse_args()
    only = {os.path.relpath(os.path.abspath(f), os.path.abspath(options.root)) for f in options.files}
    report = Report(only)
    listed = list_files(options.root)
    files = set(listed)
    for path in listed:
        check_file(options.root, path, files, report)
    check_named(options.root, files, report)
    if not options.no_format:
        check_format(options.root, [p for p in listed if not only or p in only], report)
    for path, line, rule, message in sorted(report.lines):
        print(f"{path}:{line}: {rule}: {message}")
    if report.lines:
        print(f"tidy: {len(report.lines)} violations", file=sys.stderr)
    return 1 if report.lines else 0


if __name__ == "__main__":
    sys.exit(main())
