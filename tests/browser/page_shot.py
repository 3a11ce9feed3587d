"""Whether a page is drawn without being scrolled, as who takes a picture of it or prints it expects:

    page_shot.py PAGE.html...      prints what is missing; exits 1 if anything is

In the picture that `chromium --screenshot` takes of the whole page every chart has ink where it lies. In a small window
every chart is drawn when the browser is idle, and what is below a figure moves by less than a quarter of its height.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser, find  # noqa: E402

WIDTH, HEIGHT, WAIT_S = 1200, 7000, 30
LEFT = """[...document.querySelectorAll("figure[data-view]:not([data-drawn])")].map(figure => figure.dataset.view)"""
BOXES = """[...document.querySelectorAll("figure[data-view]")].flatMap(figure =>
    [...figure.querySelectorAll(".chart, .board, .areas, .scatter, .columns, .forest")].map(e => [figure.dataset.view,
        ...(r => [r.x, r.y, r.width, r.height].map(Math.round))(e.getBoundingClientRect())]))"""
HEIGHTS = """[...document.querySelectorAll("figure[data-view]")].map(e => [e.dataset.view, e.offsetHeight, "drawn" in e.dataset])"""


# How many colours there are in each box of a picture; null: it lies outside.
COLORS = """(async () => {
    const data = Uint8Array.from(atob("%s"), c => c.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([data], { type: "image/png" }));
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d", { willReadFrequently: true });
    canvas.drawImage(picture, 0, 0);
    return %s.map(([x, y, width, height]) => y + height > picture.height || !width || !height ? null
        : new Set(new Uint32Array(canvas.getImageData(x, y, width, height).data.buffer)).size);
})()"""


def look(browser, path, folder):
    address, picture, found = "file://" + os.path.realpath(path), os.path.join(folder, "page.png"), []
    subprocess.run([find(), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=%d,%d" % (WIDTH, HEIGHT),
                    "--user-data-dir=" + folder, "--screenshot=" + picture, address],
                   check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = browser.open(address, WIDTH, HEIGHT)
    page.settle()
    boxes = page.value(BOXES)
    if not boxes and page.value(HEIGHTS):
        found.append("no charts")
    with open(picture, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    colors = browser.open("about:blank").value(COLORS % (data, json.dumps([box[1:] for box in boxes])))
    found += ["the screenshot has no " + box[0] for box, seen in zip(boxes, colors) if seen is not None and seen < 3]
    page = browser.open(address, WIDTH, 400)
    before, until = page.value(HEIGHTS), time.monotonic() + WAIT_S
    while page.value(LEFT) and time.monotonic() < until:
        page.settle()
    found += ["never drawn while idle: " + view for view in page.value(LEFT)] + page.errors
    found += ["%s moves what is below it: %d, then %d pixels" % (view, old, new)
              for (view, old, drawn), (_, new, _) in zip(before, page.value(HEIGHTS)) if not drawn and abs(new - old) > 0.25 * new]
    return found


def main():
    folder, bad = tempfile.mkdtemp(prefix="tapool-shot-"), False
    try:
        with Browser() as browser:
            for path in sys.argv[1:]:
                for line in look(browser, path, folder):
                    print("%s: %s" % (path, line))
                    bad = True
                browser.close_pages()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
