#!/usr/bin/env python3
# SPDX-License-Identifier: PostgreSQL
"""Each rule of scripts/tidy.py fires on a file that breaks it, and a clean tree passes."""
import os
import subprocess
import sys
import tempfile
import unittest

TIDY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "tidy.py")
SPDX = "// SPDX-License-Identifier: PostgreSQL\n"
SCRIPT_SPDX = SPDX.replace("//", "#")


def run(files, *options):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        environment = {**os.environ, "GIT_DIR": os.path.join(root, "no-git")}
        command = [sys.executable, TIDY, "--root", root, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout


class TidyTest(unittest.TestCase):
    def breaks(self, rule, path, text, line, head=SPDX):
        status, out = run({path: head + text, "meson.build": f"'{path}'"}, "--no-format")
        self.assertIn(f"{path}:{line}: {rule}: ", out)
        self.assertEqual(status, 1)

    def passes(self, path, text, head=SPDX):
        status, out = run({path: head + text, "meson.build": f"'{path}'"}, "--no-format")
        self.assertEqual((status, out), (0, ""))

    def test_a_clean_file_passes(self):
        self.passes("sidecar/store/db.cc", '#include <rocksdb/db.h>\n#include "sidecar/model/change.h"\n'
                    "// throw and std::regex in a comment, and\nconst char* kText = \"using namespace\";\n")

    def test_a_module_includes_lower_levels_only(self):
        self.breaks("direction", "sidecar/wire/a.cc", '#include "sidecar/history/history.h"\n', 2)
        self.breaks("direction", "sidecar/wire/a.cc", '#include "sidecar/store/db.h"\n', 2)
        self.breaks("direction", "sidecar/base/a.cc", '#include "sidecar/unknown/db.h"\n', 2)
        self.breaks("direction", "sidecar/base/a.cc", '#include "plugin/wire/writer.h"\n', 2)
        self.breaks("direction", "plugin/wire/a.cc", '#include "sidecar/base/ids.h"\n', 2)
        self.breaks("direction", "cli/a.cc", '#include "sidecar/http/client.h"\n', 2)

    def test_a_third_party_header_has_one_home(self):
        self.breaks("owner", "sidecar/history/a.cc", "#include <rocksdb/db.h>\n", 2)
        self.breaks("owner", "tests/unit/history/a.cc", "#include <rocksdb/db.h>\n", 2)
        self.passes("tests/unit/store/a.cc", "#include <rocksdb/db.h>\n")

    def test_a_cc_file_never_sees_a_server_header(self):
        self.breaks("wall", "plugin/wire/a.cc", '#include "postgres.h"\n', 2)
        self.breaks("wall", "plugin/wire/a.h", '#pragma once\n#include "utils/rel.h"\n', 3)
        self.passes("plugin/output/a.c", '#include "postgres.h"\n')

    def test_banned_constructs(self):
        self.breaks("banned", "sidecar/base/a.cc", "void F() { throw 1; }\n", 2)
        self.breaks("banned", "sidecar/base/a.cc", "using namespace std;\n", 2)
        self.breaks("banned", "sidecar/base/a.cc", "#include <ranges>\n", 2)
        self.breaks("banned", "sidecar/base/a.cc", "std::regex r;\n", 2)
        self.breaks("banned", "sidecar/base/a.cc", 'void F() { printf(""); }\n', 2)
        self.breaks("banned", "plugin/output/a.c", "#if PG_VERSION_NUM >= 160000\n", 2)
        self.passes("sidecar/base/a.cc", 'void F() { fprintf(stderr, ""); snprintf(p, 1, ""); }\n')

    def test_sizes(self):
        self.breaks("size", "sidecar/base/a.cc", "\n" * 500, 501)
        self.breaks("size", "sidecar/base/a.h", "#pragma once\n" + "\n" * 249, 251)
        self.breaks("size", "sidecar/base/a.cc", "// " + "x" * 108 + "\n", 2)
        body = "  int x = 0;\n" * 69
        self.breaks("size", "sidecar/base/a.cc", "namespace a {\nvoid F(int a) {\n" + body + "}\n}\n", 3)
        self.passes("sidecar/base/a.cc", "namespace a {\nvoid F(int a) {\n" + body[13:] + "}\n}\n")
        member = "#pragma once\nclass A {\n int F() const {\n"
        self.breaks("size", "sidecar/base/a.h", member + body + "}\n};\n", 4)
        self.breaks("size", "plugin/output/a.c", "static void\nf(struct s *x)\n{\n" + body + "}\n", 2)
        self.breaks("size", "scripts/a.py", "def f():\n" + "    x = 0\n" * 70, 2, SCRIPT_SPDX)
        self.passes("sidecar/base/a.cc", "int a[] = {\n" + "1,\n" * 80 + "};\n")

    def test_unfinished_work_private_paths_and_sleeps(self):
        self.breaks("unfinished", "sidecar/base/a.cc", "// TO" "DO: later\n", 2)
        self.breaks("path", "docs/a.md", "see /home/" "me/x\n", 1, head="")
        self.breaks("sleep", "tests/tap/t/a.pl", "sleep " "5;\n", 2, SCRIPT_SPDX)
        self.passes("tests/tap/t/a.pl", "sleep 0.1;\n", SCRIPT_SPDX)

    def test_heads(self):
        self.breaks("spdx", "sidecar/base/a.cc", "int a;\n", 1, head="")
        self.breaks("pragma", "sidecar/base/a.h", "int a;\n", 1)

    def test_a_file_that_no_meson_build_names(self):
        for path in ("sidecar/base/a.cc", "tests/tap/t/a.pl", "tests/unit/base/a_test.cc"):
            head = SCRIPT_SPDX if path.endswith(".pl") else SPDX
            status, out = run({path: head, "meson.build": "'other.cc'"}, "--no-format")
            self.assertIn(f"{path}:1: unlisted: ", out)
            self.assertEqual(status, 1)

    def test_own_header_first(self):
        source = SPDX + '#include <string>\n#include "sidecar/base/a.h"\n'
        status, out = run({"sidecar/base/a.cc": source, "sidecar/base/a.h": SPDX + "#pragma once\n",
                           "meson.build": "'a.cc'"}, "--no-format")
        self.assertIn("sidecar/base/a.cc:2: include: ", out)
        self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
