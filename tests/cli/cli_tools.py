"""What the tests of the command line cannot say in shell.

    mask                  stdin to stdout: times and facts of the machine become N, nothing else changes
    width COLUMNS         stdin: fails where a line is longer (in characters) or ends in blanks
    pty COLUMNS CMD...    runs CMD with stdout on a terminal of that width, copies what it writes
    fits COLUMNS CMD...   the same, and fails where a line is longer than the terminal
    rss MIB CMD...        runs CMD; fails when it held more than MIB
    json FILE EXPR        prints EXPR of the document d (r is its first run)
    serve FILE            does these three (mask, width, json) for others: the port and a key are in FILE, and it
                          ends when FILE is gone. Whoever asks sends, each with a byte 0 behind it, the key, a
                          folder, paths of the standard files, what to do, and nothing; the answer is the exit
                          status

Known weakness of mask: where numbers are masked in columns that grow with them, runs of blanks become
one, so the alignment of such tables is for the tests of the terminal to see.
"""
import os
import re
import sys

NUMBER = r"[\d.,]+"
BYTES = NUMBER + r" (?:[KMGTPE]i)?B"
LATENCY = r"(?:<=|~)?[\d,]+"


def strip_ansi(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ---- mask ----

def without_chance_warnings(lines):
    """drift depends on the machine, slow-build on the build; both are tested elsewhere."""
    out, dropping = [], False
    for line in lines:
        if re.match(r" *! (drift|slow-build)\b", line):
            dropping = True
        elif not (dropping and line.startswith(" " * 16)):
            if not (dropping and line == "" and out and out[-1] == ""):
                out.append(line)
            dropping = False
    return out


def right(match, text="N"):
    return text.rjust(len(match.group(0)))


def mask_latency_row(line, keep_calls):
    """'      alloc   3,063  <=10  -  ...  bars': cells end at fixed columns."""
    row = re.match(r"( {4,6}\w+ +)([\d,]+)((?: +(?:-|%s)){5})(.*)$" % LATENCY, line)
    if not row:
        return None
    head, calls, cells, bars = row.groups()
    if not re.fullmatch(r"[ ▁▂▃▄▅▆▇█]*", bars):
        return None
    if not keep_calls:  # and so where there are too few
        calls, cells = "N".rjust(len(calls)), re.sub(r"-(?= |$)", "N", cells)
    # a figure that is too wide for its column moves those beside it: each is put where it belongs
    return head + calls + "%7s%7s%7s%7s%11s" % tuple("-" if c == "-" else "N" for c in cells.split())


def mask_size_row(line, keep_calls):
    row = re.match(r"( {6}<= %s +)([\d,]+)((?: +(?:-|%s)){3})$" % (BYTES, LATENCY), line)
    if not row:
        return None
    head, calls, cells = row.groups()
    if not keep_calls:
        calls = "N".rjust(len(calls))
    return head + calls + re.sub(LATENCY, right, cells)


def mask_table_row(line, times):
    """Cells of a table: name, peak, overhead, ...; `times` are the places of what the machine says."""
    cells = re.split(r" {2,}", line.strip())
    if cells[0] == "system":
        return "  system  " + "  ".join("-" if c == "-" else "N" for c in cells[1:])
    for i in times:
        needed = cells[0] in ("requested", "best packing", "lower bound")  # the same on every machine
        if i < len(cells) and cells[i] not in ("-", "(a)") and not needed:
            cells[i] = "N"  # "(b)" and "(c)", replayed once and too noisy, depend on the load
    return "  " + "  ".join(cells)


def column_heads(first, second):
    """The heads of the columns of a table, both lines of each in one, without that of the names."""
    heads, start = [], 0
    for cell in re.finditer(r"\S+(?: \S+)*", second):
        heads.append((first[start:cell.end()].strip() + " " + cell.group()).strip())
        start = cell.end()
    return heads


def masked_columns(heads):
    """The places of times; beside a real allocator also those of memory that it or the kernel counts."""
    counted = heads[0] in ("peak resident", "address space")
    return tuple(i + 1 for i, head in enumerate(heads)
                 if re.search("ns/op|p99|1 thread|waited|blocked", head)
                 or counted and (i == 0 or head == "overhead"))


def mask_tables(lines):
    """Rows between the two head lines of a table and the first line that is none."""
    out, inside, system, picked, times = [], 0, False, False, ()
    for line, below in zip(lines, lines[1:] + [""]):
        cells = re.split(r" {2,}", line.strip())
        if re.match(r" +(peak|address) ", line) and re.match(r" .* overhead( |$)", below):
            inside, system, times = 2, False, masked_columns(column_heads(line, below))
        if inside == 2:
            out.append("  " + "  ".join(cells))
            inside = 1 if "overhead" in line else 2
        elif inside == 1 and line.startswith("  ") and len(cells) >= 5:
            system |= cells[0] == "system"
            out.append(mask_table_row(line, times))
        else:
            inside = 0
            if system and line.startswith("Pick"):
                out.append("PICK (by figures of libc)")
                picked = True
            elif not (picked and line.startswith("      ")):
                out.append(line)
                picked = False
    return out


def mask_system(lines):
    """In the blocks of libc every figure of memory is its own."""
    out, block = [], None
    for line in lines:
        if line.startswith("Pages  "):  # figures of the kernel, which a sanitizer's process has not
            block = "pages"
        if block == "pages":
            block = "pages" if line.strip() else None
            continue
        if re.match(r"system on host", line):
            block = "detail"
        elif line.startswith("system, all figures"):
            block = "full"
        elif re.match(r"(Speed|\S+, all figures|Summary|Pick)", line):
            if line.startswith("Summary: system"):
                line = re.sub(BYTES + r" (?=resident|reserved)", "N ", line)
            block = None
        elif block == "detail" and re.match(r" {20}peak reserved:", line):
            continue
        elif re.match(r" +[\d.,]+ \w+ +peak resident[ :]", line):
            line = re.sub(r"^ +[\d.,]+ \w+ +", "       N  ", line)
        elif re.match(r"    mapped   ", line):
            line = re.sub(r"^(    mapped +).*", r"\1N", line)
        elif re.match(r"      (at trace peak|peak|end)   ", line):
            line = re.sub(r"^(      [a-z ]+  ).*", r"\1N", line)
        elif block == "detail" and re.match(r" {5}[+=]", line):
            line = re.sub(r"^( {5}[+=]) +%s +" % BYTES, r"\1 N  ", line)
            line = re.sub(r"  +[\d.]+(x|%)", r"  N\1", line.replace(", also the peak", ""))
        elif block == "full" and re.match(r"    (peak|end|overhead|internal|unused|external)", line):
            if not line.startswith("    peak_requested"):
                line = re.sub(r"^(    \w+ +).*", r"\1N", line)
        out.append(line)
    return out


def mask_lines(lines, keep_calls):
    out, skipping, legend, chance = [], False, False, False
    for line in lines:
        if chance and line.startswith("      "):
            continue
        if line.strip() and re.fullmatch(r"[ ▁▂▃▄▅▆▇█]*", line):  # bars beside which a row had no room
            continue
        chance = re.match(r"  (?:\([bc]\)|<=\d+:|~:) ", line) is not None
        if chance:
            continue
        if skipping and line.startswith(" " * 30):
            continue
        if legend and line != "":
            out[-1] = "    LEGEND  -: too few calls." if keep_calls and "too few" in line else out[-1]
            continue
        skipping = legend = False
        masked = mask_latency_row(line, keep_calls) or mask_size_row(line, keep_calls)
        if masked:
            line = masked
        elif re.match(r"    clock  ", line):
            line, skipping = re.sub(r"^(    clock +).*", r"\1N", line), True
        elif re.match(r" +[\d,]+ +event [\d,]+: \w+ of ", line):
            line, skipping = "    SLOW", True
        elif re.match(r" {4,6}(<=|~|-:)", line):
            few = keep_calls and "too few calls." in line
            line, legend = "    LEGEND" + ("  -: too few calls." if few else ""), True
        out.append(line)
    return [line for line in out if line != "    LEGEND"]  # a finer clock needs none


def mask_text(text):
    text = strip_ansi(text)
    keep_calls = " replays in " not in text
    text = re.sub(r"(?m)^(Summary: .*)\n(?=\S)(?!tapool)", r"\1 ", text)
    lines = without_chance_warnings(text.split("\n"))
    text = "\n".join(mask_lines(mask_system(mask_tables(lines)), keep_calls))
    text = re.sub(r"%s ns/op(?:, 95%% CI \[%s, %s\])?\s+(?=[\d,]+ replay)" % (NUMBER, NUMBER, NUMBER),
                  lambda m: "N ns/op" + (", 95% CI [N, N]" if "[" in m.group(0) else "") + "  ", text)
    text = re.sub(r"%s ns/op( replay overhead| cold)? *" % NUMBER, r"N ns/op\1 ", text)
    # replayed once, by the load: a time, or within the replay overhead
    once = r"(?:N ns/op +1 replay, longer than .*|within the replay overhead, which is subtracted.*)\n"
    text = re.sub(r"(?m)^(Speed|Strategy time) +" + once + r"(?: {14,}\S.*\n)*", r"\1  ONCE\n", text)
    # resident, by the load: a pass that took long is not repeated
    text = re.sub(r"; 1\s+slow\s+pass\s+instead\s+of\s+3: [^.]*(?=\.)", "", text)
    text = re.sub(r"(?m)^(    resident +)1 pass(?= by )", r"\1median of 3 passes", text)
    text = re.sub(r"(?m)^(Summary: \S+), N ns/op", r"\1", text)
    text = re.sub(r"\d[\d,]* replays in [\d.]+ [mun]?s", "N replays in N s", text)
    text = re.sub(r"glibc \d+\.\d+ *", "glibc N  ", text)
    # a real device, or what stands for one
    text = re.sub(r"\d[\d.,]* [mun]?s\s+in\s+driver\s+calls", "N in driver calls", text)
    text = re.sub(r"(?m)^(      driver +calls [\d,]+, ns )[\d,]*\d", r"\1N", text)
    text = re.sub(r"(?m)^(    driver +)/\S+fake_libcuda\.so,\s+", r"\1PATH, ", text)
    # with and without the CUDA Toolkit
    text = re.sub(r"not here: (?:/nonexistent was not found|built without the CUDA Toolkit)", "not here: WHY", text)
    text = re.sub(r"To replay on a GPU: [^.]*(?:\.0 or newer[^.]*)?\.", "To replay on a GPU: HOW", text)
    text = re.sub(r"(?<=tapool )\d+\.\d+\.\d+", "VERSION", text)
    text = re.sub(r"(?<=tapool VERSION )\(.*\)", "(BUILD)", text)
    # tapool help report
    text = re.sub(r"(reading costs|steps \() ?%s ns" % NUMBER, r"\1 N ns", text)
    text = re.sub(r"<=\d+, ~\d+ ", "<=N, ~N ", text)
    text = re.sub(r"of a \d+ ns clock", "of a N ns clock", text)
    return text


# ---- the others ----

def width(columns, text):
    bad = 0
    for n, line in enumerate(strip_ansi(text).split("\n"), 1):
        if len(line) > columns or line != line.rstrip():
            print("line %d has %d characters%s: %s"
                  % (n, len(line), " and blanks at its end" if line != line.rstrip() else "", line))
            bad += 1
    return 1 if bad else 0


def exit_code(status):
    return 128 - status if status < 0 else status


END = b"\0the command has ended\0"


def on_terminal(columns, command, check):
    import fcntl, pty, struct, subprocess, termios, threading
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave)
    codes = []

    def ends():
        codes.append(exit_code(child.wait()))
        os.write(slave, END)

    # A terminal whose last writer is gone may forget what was not read yet: the slave stays open,
    # and what follows the command's own output says that it is complete.
    waits = threading.Thread(target=ends)
    waits.start()
    got = b""
    while not got.endswith(END):
        got += os.read(master, 65536)
    waits.join()
    os.close(slave)
    os.close(master)
    got = got[:-len(END)].replace(b"\r\n", b"\n")
    code = codes[0]
    if check:
        return code or width(columns, got.decode())
    sys.stdout.buffer.write(got)
    sys.stdout.flush()
    return code


def rss(limit, command):
    import resource, subprocess
    code = exit_code(subprocess.call(command))
    held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    if held > limit:
        print("held %.0f MiB, more than %d" % (held, limit))
        return 99
    return code


def query(path, expression):
    import json
    with open(path, encoding="utf-8") as file:
        d = json.load(file)
    print(eval(expression, {"d": d, "r": d.get("runs", [None])[0], "json": json}))
    return 0


def answer(folder, reads, writes, complains, *command):
    """What `command` does in that folder, with these files."""
    import traceback
    os.chdir(folder)
    with open(writes, "a", encoding="utf-8") as sys.stdout, open(complains, "a", encoding="utf-8") as sys.stderr:
        try:
            if command[0] == "json":
                return main(*command)
            with open(reads, encoding="utf-8") as sys.stdin:
                return main(*command)
        except Exception:
            traceback.print_exc()
            return 1


def asked(connection):
    got = b""
    while not got.endswith(b"\0\0"):
        block = connection.recv(65536)
        if not block:
            return []
        got += block
    return got[:-2].decode().split("\0")


def serve(path):
    import secrets, socket
    key = secrets.token_hex(16)
    door = socket.create_server(("127.0.0.1", 0))
    door.settimeout(1)
    os.umask(0o077)
    with open(path + ".new", "w") as file:
        file.write("%d %s\n" % (door.getsockname()[1], key))
    os.rename(path + ".new", path)
    while os.path.exists(path):
        try:
            connection, _ = door.accept()
        except socket.timeout:
            continue
        with connection:
            words = asked(connection)
            if words and secrets.compare_digest(words[0], key):
                connection.sendall(b"%d\n" % answer(*words[1:]))
    return 0


def main(name, *args):
    if name == "mask":
        sys.stdout.write(mask_text(sys.stdin.read()))
        return 0
    return {"width": lambda: width(int(args[0]), sys.stdin.read()),
            "pty": lambda: on_terminal(int(args[0]), args[1:], False),
            "fits": lambda: on_terminal(int(args[0]), args[1:], True),
            "rss": lambda: rss(int(args[0]), args[1:]),
            "serve": lambda: serve(args[0]),
            "json": lambda: query(*args)}[name]()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
