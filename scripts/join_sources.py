#!/usr/bin/env python3
"""usage: join_sources.py [--tests] FOLDER FILE...

Joins C files, so that a compiler reads their headers once: writes FOLDER/joined_N.c, each of which
includes up to 12 of the files, and prints the paths of those that it wrote. No two files are joined
whose own names (static functions and variables, types, enumerators) clash. Macros end with their file.
What defines some for its headers stays alone, and so does what a test includes whole and links in its
place.

With --tests, main of test_X.c is named test_X_main.
"""
import glob
import os
import re
import sys

TOGETHER = 12
IGNORED = re.compile(r"""__attribute__\(\((?:[^()]|\([^()]*\))*\)\)|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
INCLUDED = re.compile(r'^#[ \t]*include "([^"]+)"', re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
STATIC = re.compile(r"^[ \t]*(?:static|_Thread_local|[A-Z][A-Z_]+)\b"
                    r"[^;{=(\[]*?(\w+)\s*(?=[;{=(\[,])", re.M)
TEST = re.compile(r"^TEST(?:_\w+)?\((\w+)", re.M)
STATIC_OF_STRUCT = re.compile(r"^\}\s*(?:const\s+)?\**(\w+)\s*[\[=;,]", re.M)
TYPE = re.compile(r"^(?:(?:static|const)\s+)*(?:struct|union)\s+(\w+)\s*\{|^typedef\b[^;{]*?(\w+)\s*[(;]", re.M)
STEERS = re.compile(r"^[ \t]*#[ \t]*define\b.*^[ \t]*#[ \t]*include\b", re.M | re.S)
ENUM = re.compile(r"^(?:static |const |typedef )*enum[^{;()]*\{([^}]*)\}", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")


class Source:
    """What a file, or a header, brings into a joined one."""
    known = {}

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        text = IGNORED.sub(" ", whole)
        self.path = path
        self.macros = set(MACRO.findall(text))
        self.constants = {word for body in ENUM.findall(text) for word in WORD.findall(re.sub(r"=[^,]*", "", body))}
        self.names = set(STATIC.findall(text)) | set(STATIC_OF_STRUCT.findall(text)) | set(TEST.findall(text))
        self.names |= self.constants
        self.names |= {name for pair in TYPE.findall(text) for name in pair if name}
        self.alone = bool(STEERS.search(text))
        self.words = set(WORD.findall(text))
        self.foreign = {}  # what its headers bring, and which ones
        for name in INCLUDED.findall(whole):
            header = Source.header(name, os.path.dirname(path))
            if header:
                for brought in dict.fromkeys(header.names | header.macros, {header.path}), header.foreign:
                    for word, paths in brought.items():
                        self.foreign[word] = self.foreign.get(word, set()) | paths

    @classmethod
    def header(cls, name, folder):
        path = next((os.path.normpath(p) for p in (name, os.path.join(folder, name)) if os.path.exists(p)), None)
        if path and path not in cls.known:
            cls.known[path] = None  # headers that include each other end here
            cls.known[path] = cls(path)
        return cls.known.get(path)


class Joined:
    def __init__(self):
        self.sources, self.names, self.constants, self.words, self.foreign = [], set(), set(), set(), {}

    def takes(self, source):
        if len(self.sources) == TOGETHER or source.alone or any(s.alone for s in self.sources):
            return False
        mine, its = self.names, source.names | source.macros
        return (not mine & its and not mine & source.foreign.keys() and not its & self.foreign.keys() and
                not self.constants & source.words and not source.constants & self.words and
                all(self.foreign.get(name, paths) == paths for name, paths in source.foreign.items()))

    def add(self, source):
        self.sources.append(source)
        self.names |= source.names | source.macros
        self.constants |= source.constants
        self.words |= source.words
        self.foreign.update(source.foreign)

    def text(self, tests):
        lines = ['#pragma GCC diagnostic ignored "-Wmissing-prototypes"'] if tests else []
        for source in self.sources:
            name = os.path.splitext(os.path.basename(source.path))[0]
            lines += ["#define main %s_main" % name] if tests else []
            lines += ['#include "%s"' % os.path.abspath(source.path)]
            lines += ["#undef " + macro for macro in sorted(source.macros)] + (["#undef main"] if tests else [])
        return "\n".join(lines) + "\n"


def included_whole():
    """The C files that tests include."""
    found = set()
    for path in glob.glob("tests/**/*.[ch]", recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(name for name in INCLUDED.findall(file.read()) if name.endswith(".c"))
    return {os.path.abspath(name) for name in found}


def main():
    tests = sys.argv[1] == "--tests"
    folder, paths = sys.argv[1 + tests], sys.argv[2 + tests:]
    joined, whole = [], included_whole()
    for path in paths:
        source = Source(path)
        source.alone |= path in whole
        home = next((j for j in joined if j.takes(source)), None)
        if not home:
            home = Joined()
            joined.append(home)
        home.add(source)
    os.makedirs(folder, exist_ok=True)
    for i, group in enumerate(joined):
        path, text = os.path.join(folder, "joined_%d.c" % i), group.text(tests)
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        print(path)


if __name__ == "__main__":
    main()
