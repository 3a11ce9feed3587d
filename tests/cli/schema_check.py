"""The shipped schemas against real documents; needs the Python module jsonschema.

    valid SCHEMA DOCUMENT...     fails where a document does not follow the schema, and says where
    shape SCHEMA...              fails where a schema itself leaves something open, see below
    shared SCHEMA OTHER...       fails where a definition of the same name differs
    mutants SCHEMA DOCUMENT      fails where a damaged document is accepted: every member in turn is left
                                 out, renamed, joined by one that is not known, and given a wrong type
    covered SCHEMA DOCUMENT...   fails where a member of the schema is in none of the documents;
                                 --without=NAME,... before them: definitions, members or
                                 definition.member that are not looked for

What is shipped is open for readers, who meet documents of later versions with more members: all but the
baseline, in which a slip of the pen must not be passed over. Here every schema is closed, so that tapool
writes nothing that is not described.

Shape: every object has members or is a map of names, all are open or all are closed, all objects of an
array follow one schema, every member has a description and is required unless that begins with 'only',
every definition is used and every reference resolves.
"""
import copy
import json
import sys

import jsonschema

MAPS = {"options", "repairs", "latency", "metrics"}  # any of their members may be left out


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_open(schema):
    return schema.get("additionalProperties") is not False


def validator(schema):
    return jsonschema.Draft202012Validator(schema)


def closed(schema):
    """A copy that takes no member beside those that it describes."""
    schema = copy.deepcopy(schema)
    for _, node in nodes(schema):
        if isinstance(node.get("properties"), dict) and "type" in node:
            node.setdefault("additionalProperties", False)
    return schema


def fail(lines):
    for line in lines[:20]:
        print(line)
    return 1 if lines else 0


def place(path):
    return "/".join(str(p) for p in path) or "the document"


def valid(schema, *documents):
    bad, check = [], validator(closed(load(schema)))
    for path in documents:
        for error in check.iter_errors(load(path)):
            bad.append("%s: %s: %s" % (path, place(error.absolute_path), error.message[:300]))
    return fail(bad)


# ---- the schema itself ----

def nodes(node, path=()):
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, path + (key,))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from nodes(value, path + (i,))


def object_faults(path, node, open_one):
    properties = node.get("properties")
    if properties is None:
        if not isinstance(node.get("additionalProperties"), dict) or "propertyNames" not in node:
            yield "%s: neither members nor a map" % place(path)
        return
    if is_open(node) != open_one:
        yield "%s: is %s" % (place(path), "open" if is_open(node) else "closed")
    required = node.get("required", [])
    for name in required:
        if name not in properties:
            yield "%s: requires '%s', which it does not describe" % (place(path), name)
    for name, member in properties.items():
        about = member.get("description", "")
        if not about:
            yield "%s: '%s' has no description" % (place(path), name)
        if (name in required) == about.startswith("only"):
            yield "%s: '%s' is %srequired: %s" % (place(path), name, "" if name in required else "not ", about)


def resolved(schema, items):
    """The items, each reference replaced by what it names."""
    return [schema["$defs"][item["$ref"].rsplit("/", 1)[1]] if "$ref" in item else item
            for item in items]


def shape_faults(path):
    schema = load(path)
    jsonschema.Draft202012Validator.check_schema(schema)
    bad, used = [], set()
    for at, node in nodes(schema):
        if "object" in node.get("type", ""):  # or null
            bad += object_faults(at, node, is_open(schema))
        if isinstance(node.get("$ref"), str):
            used.add(node["$ref"])
        if "prefixItems" in node and "object" in json.dumps(resolved(schema, node["prefixItems"])):
            bad.append("%s: objects of an array have schemas of their own" % place(at))
    defined = {"#/$defs/" + name for name in schema["$defs"]}
    bad += ["%s is not defined" % r for r in sorted(used - defined)]
    bad += ["%s is not used" % r for r in sorted(defined - used)]
    return ["%s: %s" % (path, fault) for fault in bad]


def shape(*paths):
    return fail([fault for path in paths for fault in shape_faults(path)])


def shared(one, *others):
    a, bad = load(one)["$defs"], []
    for other in others:
        b = load(other)["$defs"]
        both = sorted(a.keys() & b.keys() - {"device"})  # a device has other figures in each
        bad += ["%s: '%s' differs" % (other, name) for name in both if a[name] != b[name]]
        bad += [] if "tool" in both else ["%s: nothing is shared" % other]
    return fail(bad)


# ---- documents ----

def shorten(node):
    """Two of every array are enough to damage; a tuple of numbers has a fixed length."""
    if isinstance(node, list) and node and not any(isinstance(v, (list, dict)) for v in node):
        return node
    if isinstance(node, list):
        return [shorten(v) for v in node[:2]]
    return {k: shorten(v) for k, v in node.items()} if isinstance(node, dict) else node


def paths(node, path=()):
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in children:
        yield from paths(value, path + (key,))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def damaged(document, path, damage):
    other = copy.deepcopy(document)
    damage(at(other, path[:-1]), path[-1])
    return other


def rename(parent, key):
    parent["Renamed!"] = parent.pop(key)


def retype(parent, key):
    parent[key] = "x" if isinstance(parent[key], (dict, list)) else {"x": 1}


def first_paths(document):
    """One path to each member: all objects of an array follow one schema, as `shape` holds."""
    seen = set()
    for path in paths(document):
        kind = tuple("[]" if isinstance(key, int) else key for key in path)
        if kind not in seen:
            seen.add(kind)
            yield path


def mutants_of(document, optional):
    for path in first_paths(document):
        if isinstance(at(document, path), dict):
            other = copy.deepcopy(document)
            at(other, path)["Unknown!"] = 1
            yield "unknown member in " + place(path), other
        if not path:
            continue
        yield "wrong type of " + place(path), damaged(document, path, retype)
        if isinstance(path[-1], int):
            continue
        yield "renamed " + place(path), damaged(document, path, rename)
        if path not in optional and not MAPS & {p for p in path[:-1][-1:]}:
            yield "without " + place(path), damaged(document, path, lambda o, k: o.pop(k))


def optional_paths(schema, document):
    """Members that may be left out: those whose description begins with 'only'."""
    names = {name for _, node in nodes(schema) for name, member in node.get("properties", {}).items()
             if isinstance(member, dict) and member.get("description", "").startswith("only")}
    runs = [("runs", n) for n in (0, 1)]
    parents = {(), ("trace",), ("files", 0), ("settings", 0), *runs}
    parents |= {r + p for r in runs for p in (("source",), ("trace",), ("memory",), ("devices", 0), ("devices", 1))}
    return {p for p in paths(document) if p and p[-1] in names and p[:-1] in parents}


def mutants(schema_path, path):
    schema, document = load(schema_path), shorten(load(path))
    check, reader, bad, count = validator(closed(schema)), validator(schema), [], 0
    assert check.is_valid(document), "the document is not valid to begin with"
    for what, other in mutants_of(document, optional_paths(schema, document)):
        count += 1
        if check.is_valid(other):
            bad.append("accepted: " + what)
        new = what.startswith("unknown member") and what.rpartition("/")[2] not in MAPS
        if new and is_open(schema) and not reader.is_valid(other):
            bad.append("refused by a reader: " + what)
    print("%d mutants" % count)
    return fail(bad or ([] if count > 100 else ["too few mutants"]))


def covered(schema_path, *documents):
    schema, seen, without = load(schema_path), set(), set()
    if documents[0].startswith("--without="):
        without = set(documents[0].partition("=")[2].split(","))
        documents = documents[1:]

    def walk(node, value):
        if "$ref" in node:
            walk(schema["$defs"][node["$ref"].rsplit("/", 1)[1]], value)
        if isinstance(value, dict):
            for name, member in node.get("properties", {}).items():
                if name in value:
                    seen.add(id(member))
                    walk(member, value[name])
            if isinstance(node.get("additionalProperties"), dict):
                for name in value.keys() - node.get("properties", {}).keys():
                    walk(node["additionalProperties"], value[name])
        if isinstance(value, list) and "items" in node:
            for item in value[:16]:
                walk(node["items"], item)

    for path in documents:
        walk(schema, load(path))
    return fail(["in no document: %s: %s" % (place(p), name) for p, node in nodes(schema)
                 if isinstance(node.get("properties"), dict)
                 for name, member in node["properties"].items() if id(member) not in seen
                 and not without & {name, *p[1:2], ".".join((*p[1:2], name))}])


if __name__ == "__main__":
    sys.exit({f.__name__: f for f in (valid, shape, shared, mutants, covered)}[sys.argv[1]](*sys.argv[2:]))
