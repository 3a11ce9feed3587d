#!/usr/bin/env python3
"""The manifest of scripts/cluster, as a cluster would read it.

    kubernetes_check.py facts MANIFEST             checks what must agree, prints "shards N"
    kubernetes_check.py command MANIFEST JOB       the command of a job, an argument a line
    kubernetes_check.py schema MANIFEST FOLDER     checks names and types of all fields

FOLDER is a node_modules with the npm packages kubernetes-models and typescript: a document is a literal
of the type that its kind has there, of which the compiler refuses unknown names and wrong types; then
the schema of kubernetes-models is asked about ranges and formats. Nothing is fetched.
"""

import json
import os
import subprocess
import sys
import tempfile

import yaml

MODULES = {"v1": "kubernetes-models/v1", "batch/v1": "kubernetes-models/batch/v1"}
COMPILE = "--noEmit --strict --skipLibCheck --module es2020 --target es2020 --moduleResolution node"


class OneKey(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping, of which PyYAML takes the last."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, f"a key twice in {keys}", node.start_mark)
        return super().construct_mapping(node, deep)


def documents(path):
    with open(path, encoding="utf-8") as f:
        return [d for d in yaml.load_all(f, OneKey) if d]


def job(path, name):
    return next(d for d in documents(path) if d["kind"] == "Job" and d["metadata"]["name"] == name)


def container(document):
    (only,) = document["spec"]["template"]["spec"]["containers"]
    return only


def facts(path):
    shards, merge = job(path, "sweep"), job(path, "sweep-merge")
    claim = next(d for d in documents(path) if d["kind"] == "PersistentVolumeClaim")["metadata"]["name"]
    spec = shards["spec"]
    variables = {e["name"]: e["value"] for e in container(shards)["env"]}
    assert spec["completionMode"] == "Indexed" and spec["backoffLimitPerIndex"] > 0
    assert int(variables["SHARDS"]) == spec["completions"], "SHARDS is not completions"
    assert merge["spec"]["suspend"] is True, "the merge would begin with the shards"
    for document in shards, merge:
        pod = document["spec"]["template"]["spec"]
        (volume,) = pod["volumes"]
        (mount,) = container(document)["volumeMounts"]
        assert volume["persistentVolumeClaim"]["claimName"] == claim
        assert mount["name"] == volume["name"] and mount["mountPath"] == container(document)["workingDir"]
        assert pod["restartPolicy"] == "Never", "a podFailurePolicy needs it"
        assert {"cpu", "memory"} <= container(document)["resources"]["requests"].keys()
    assert container(shards)["image"] == container(merge)["image"]
    print("shards", spec["completions"])


def typed(found):
    kinds = sorted({(d["apiVersion"], d["kind"]) for d in found})
    lines = [f'import type {{I{kind}}} from "{MODULES[version]}";' for version, kind in kinds]
    lines += [f"export const d{i}: I{d['kind']} = {json.dumps(d, indent=1)};" for i, d in enumerate(found)]
    return "\n".join(lines) + "\n"


def schema(path, modules):
    found = documents(path)
    with tempfile.TemporaryDirectory() as work:
        os.symlink(os.path.abspath(modules), os.path.join(work, "node_modules"))
        with open(os.path.join(work, "manifest.ts"), "w", encoding="utf-8") as f:
            f.write(typed(found))
        compiler = os.path.join("node_modules", "typescript", "bin", "tsc")
        subprocess.run(["node", compiler, *COMPILE.split(), "manifest.ts"], cwd=work, check=True)
        for d in found:
            program = f"import {{{d['kind']}}} from '{MODULES[d['apiVersion']]}'; new {d['kind']}({json.dumps(d)}).validate()"
            subprocess.run(["node", "--input-type=module", "-e", program], cwd=work, check=True)
    print("documents", len(found))


def main(word, path, *rest):
    if word == "facts":
        facts(path)
    elif word == "command":
        print("\n".join(container(job(path, rest[0]))["command"]))
    else:
        schema(path, rest[0])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (AssertionError, yaml.YAMLError, subprocess.CalledProcessError) as error:
        sys.exit(f"{sys.argv[2]}: {error}")
