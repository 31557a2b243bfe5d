"""Checks that the README shows a program as it is tested: readme_program.py README HEADING PROGRAM.

The first C++ block below the heading must be the file, but for blank lines (the README saves some).
readme_program.py --self-test: changes of either are reported.
"""

import difflib
import os
import re
import sys
import tempfile


def differences(readme, heading, program):
    with open(readme, encoding="utf-8") as file:
        _, found, section = file.read().partition(f"\n## {heading}\n")
    block = re.search(r"^```cpp\n(.*?)^```$", section.split("\n## ")[0], re.S | re.M)
    if not found or not block:
        return [f"{readme}: no C++ block below the heading '{heading}'"]
    with open(program, encoding="utf-8") as file:
        tested = file.read()
    shown, tested = ([line for line in text.split("\n") if line] for text in (block.group(1), tested))
    return list(difflib.unified_diff(shown, tested, readme, program, lineterm=""))


def self_test():
    program = "#include <cstdio>\n\nint main() {\n  return 0;\n}\n"
    readme = "# x\n\n## Ten lines\n\nThis:\n\n```cpp\n" + program.replace("\n\n", "\n") + "```\n\n## Next\n\n```cpp\n```\n"
    cases = [
        (readme, program, False),
        (readme, program.replace("0", "1"), True),
        (readme.replace("return 0", "return  0"), program, True),
        (readme.replace("#include <cstdio>\n", ""), program, True),
        (readme.replace("## Ten lines", "## Eleven lines"), program, True),
        (readme.replace("This:\n\n```cpp\n", "This:\n\n```\n"), program, True),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number, (shown, tested, differ) in enumerate(cases):
            paths = [os.path.join(folder, name) for name in ("README.md", "program.cpp")]
            for path, text in zip(paths, (shown, tested)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            if bool(differences(paths[0], "Ten lines", paths[1])) != differ:
                sys.exit(f"case {number}: " + ("no difference reported" if differ else "a difference reported"))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    found = differences(*sys.argv[1:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
