"""Reads Go's benchmark format as https://go.dev/design/14313-benchmark-format and benchstat's reader
describe it, but takes nothing that is merely passed over.

    benchfmt_check.py FILE      exits 0 and prints how many results there are

A line is empty, a remark with a '#', configuration, a property of a unit, or a result.
"""
import re
import sys

NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


class Bad(Exception):
    pass


def config_line(line):
    """'key: value': the key begins with a lower-case letter and has no blank, no upper case, no ':'."""
    key, colon, value = line.partition(":")
    if not colon or not key[0].islower() or any(c.isspace() or c.isupper() for c in key):
        return None
    if value and value[0] not in " \t":
        return None
    return key, value.strip(" \t")


def unit_line(fields, units):
    if len(fields) < 3:
        raise Bad("a unit without properties")
    for pair in fields[2:]:
        key, equals, value = pair.partition("=")
        good = {"better": ("higher", "lower"), "assume": ("nothing", "exact")}
        if not equals or value not in good.get(key, ()):
            raise Bad("'%s' is no property of a unit" % pair)
        if units.setdefault((fields[1], key), value) != value:
            raise Bad("%s of %s is said twice" % (key, fields[1]))


def name_parts(name):
    """{'': 'Replay', 'trace': ..., 'threads': ...}; the end '-N' is the number of threads."""
    match = re.fullmatch(r"Benchmark(.*)-([1-9][0-9]*)", name)
    base, *parts = (match.group(1) if match else name[len("Benchmark"):]).split("/")
    if not base or base[0].islower():
        raise Bad("no capital follows 'Benchmark' in '%s'" % name)
    found = {"": base, "threads": int(match.group(2)) if match else 1}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not re.fullmatch(r"[a-z]+", key) or not value or key in found:
            raise Bad("'/%s' in a name is no key=value" % part)
        found[key] = re.sub(r"(%[0-9A-F]{2})+",
                            lambda m: bytes.fromhex(m.group().replace("%", "")).decode("utf-8"), value)
        if not value.isascii() or not value.isprintable():
            raise Bad("'%s' in a name" % value)
    return found


def result_line(fields):
    name, times, *rest = fields
    if not re.fullmatch(r"[1-9][0-9]*", times):
        raise Bad("'%s' is not a number of iterations" % times)
    if not rest or len(rest) % 2:
        raise Bad("values and units do not pair")
    values = {}
    for value, unit in zip(rest[::2], rest[1::2]):
        if not NUMBER.fullmatch(value):
            raise Bad("'%s' is not a number" % value)
        if NUMBER.fullmatch(unit) or unit in values:
            raise Bad("unit '%s'" % unit)
        values[unit] = float(value)
    return name_parts(name), int(times), values


def parse(path):
    """[(config, name parts, iterations, {unit: value})], {(unit, key): value}"""
    results, units, config = [], {}, {}
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if not text.endswith("\n"):
        raise Bad("the last line has no end")
    for number, line in enumerate(text[:-1].split("\n"), 1):
        try:
            if len(line.encode()) > 60000:
                raise Bad("longer than a reader's buffer")
            if any(c != "\t" and not c.isprintable() for c in line):
                raise Bad("a character that steers")
            if not line or line[0] == "#":
                continue
            fields = line.split()
            if line.startswith("Benchmark"):
                results.append((dict(config),) + result_line(fields))
            elif fields[0] == "Unit":
                unit_line(fields, units)
            elif config_line(line):
                key, value = config_line(line)
                config[key] = value
                if not value:
                    raise Bad("a key without a value")
            else:
                raise Bad("nothing that the format knows")
        except (Bad, ValueError) as why:
            raise Bad("%s:%d: %s: %.80s" % (path, number, why, line)) from None
    if not results:
        raise Bad("%s: no result" % path)
    return results, units


if __name__ == "__main__":
    try:
        print(len(parse(sys.argv[1])[0]))
    except Bad as bad:
        sys.exit(str(bad))
