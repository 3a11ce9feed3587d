"""Commands of scripts/gpu_check.py: each ends in time, what fails is a sentence, and what is written lies
in one folder. A command that takes too long is interrupted, and what it has measured so far counts."""
import json
import os
import signal
import subprocess
import time

COMMAND_SECONDS = 150  # that one command may take


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def get(value, *path):
    """What stands at the end of a path of keys and indices, or None."""
    for key in path:
        if isinstance(value, list):
            value = value[key] if key < len(value) else None
        elif isinstance(value, dict):
            value = value.get(key)
        else:
            return None
    return value


class Check:
    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.failures = []  # sentences
        self.skipped = []   # what there was no time for
        self.written = set()  # names of files
        self.results = {}     # name: result, of all that were written
        self.min_time = "0" if args.quick else "1s"

    def path(self, name):
        return os.path.join(self.args.out, name)

    def write(self, name, text):
        """Whole or not at all: a cut leaves what was there before."""
        with open(self.path(name) + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self.path(name) + ".part", self.path(name))
        self.written.add(name)

    def write_json(self, name, value):
        self.results[name] = value
        self.write(name + ".json", json.dumps(value))

    def append(self, name, title, text):
        """To a file that began with this run."""
        with open(self.path(name), "a" if name in self.written else "w", encoding="utf-8") as file:
            file.write("==== %s ====\n%s\n" % (title, text.rstrip("\n")))
        self.written.add(name)

    def seconds_left(self):
        return self.end - time.monotonic()

    def no_time_for(self, what):
        if self.seconds_left() > 0:
            return False
        self.skipped.append(what)
        return True

    def run(self, command, seconds=COMMAND_SECONDS, env=None):
        """(status, output, errors); interrupted when its time, or that of all, is over: status -1. What is
        None in `env` is not in the environment."""
        seconds = min(seconds, max(1, self.seconds_left()))
        env = {**os.environ, **(env or {})}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace",
                              env={name: env[name] for name in env if env[name] is not None}) as process:
            try:
                out, errors = process.communicate(timeout=seconds)
                return process.returncode, out, errors
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
            except BaseException:  # this program is interrupted: so is what it runs
                process.kill()
                raise
            try:
                out, _ = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate()
        return -1, out, "interrupted after %d seconds" % seconds

    def fail(self, what, status, errors):
        """A command did. One that was cut off because the time of all is over has not failed."""
        if status == -1 and self.seconds_left() <= 0:
            self.skipped.append("%s, %s" % (what, errors))
            return
        lines = [line for line in errors.strip().splitlines() if line]
        sentence = next((line for line in lines if line.startswith("tapool: ")), None) or (
            lines[-1] if lines else "no word of why")
        self.failed("%s: exit status %d: %s" % (what, status, sentence))

    def failed(self, sentence):
        self.failures.append(sentence)
        print("-- FAILED " + sentence, flush=True)

    def beside(self, name):
        """The path of a program that was built with tapool, or None."""
        folder = os.path.dirname(self.args.binary)
        places = [os.path.join(folder, name), os.path.join(folder, "tests", name)]
        return next((place for place in places if os.path.exists(place)), None)

    # ---- tapool ----

    def replay_once(self, trace, specs, options):
        command = [self.args.binary, "replay", trace, "--source", "cuda", "--json", "--no-fits",
                   "--min-time", self.min_time, *options]
        for spec in specs:
            command += ["-s", spec]
        status, out, errors = self.run(command)
        return status, parsed(out), errors

    def replay(self, name, trace, specs, *options):
        """The result of all strategies in one process; where that fails, of each in a process of its own,
        so that one strategy does not take the others' results along. Written to NAME.json."""
        if self.no_time_for(name):
            return None
        print("-- replaying %s" % name, flush=True)
        status, result, errors = self.replay_once(trace, specs, options)
        if status == -1 and result is None:
            self.fail(name, status, errors)
        elif status == -1:
            self.skipped.append("%s, %s" % (name, errors))
        elif status or result is None:
            result = self.replay_alone(name, trace, specs, options, (status, result, errors))
        if result is not None:
            self.write_json(name, result)
        return result

    def replay_alone(self, name, trace, specs, options, first):
        status, result, errors = first
        if len(specs) == 1:
            self.fail(name, status, errors)
            return result
        for spec in specs:
            status, one, errors = self.replay_once(trace, [spec], options)
            if status or one is None:
                self.fail("%s, %s" % (name, spec), status, errors)
            elif result is None:
                result = one
            else:
                result["runs"] += one["runs"]
        return result

    def generate(self, path, profile, options):
        """The path, or None."""
        status, _, errors = self.run([self.args.binary, "gen", profile, "-f", "-o", path, *options])
        if status:
            self.fail("gen " + profile, status, errors)
        return None if status else path

    def is_device(self, trace):
        status, out, _ = self.run([self.args.binary, "info", trace, "--json"])
        return not status and get(parsed(out), "trace", "kind") == "device"
