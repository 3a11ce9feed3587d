"""What the checkers of tables on pages share: how a page is read, and how its cells are compared.

    cell of a table --> expected(table, row, column) of its checker --> the texts that are right, or whether it is right

None says that there is no getter for a cell, which is a finding as soon as there is a digit in it: what is new on a
page has to come to its checker first. There are several right texts where the JSON has rounded a real. "-" is expected
like any other text. `see` of a checker says what is wrong with a table as a whole, such as rows that are missing.
"""
import re

# Of each article its Picks, its tables as texts in the order of the page, and the sentences of its sections: `lead`
# has the first paragraph, `words` the others too, `printed` what stands there as on the screen. The large figures at its
# head are a table of the section `figures`, whose lead is the Pick.
READ = """[...document.querySelectorAll("article")].map(article => {
    const texts = (of, what) => [...of.querySelectorAll(what)].filter(e => !e.closest("figure")).map(e => e.textContent);
    const sections = [...article.querySelectorAll("section")];
    const lead = s => (s.querySelector(":scope > p") || s).textContent;
    return {
        head: texts(article, ":scope > p").join("\\n"),
        picks: texts(article, ".pick"),
        lead: Object.fromEntries(sections.map(s => [s.className, lead(s)])),
        words: Object.fromEntries(sections.map(s => [s.className, texts(s, "p")])),
        printed: texts(article, "details pre"),
        tables: [...article.querySelectorAll(":scope > .figures")].map(f => ({
            section: "figures", lead: texts(article, ".pick").join("\\n"), about: "", heads: ["", "figure"],
            rows: [...f.children].map(row => [...row.children].map(e => e.textContent))})).concat([...article.querySelectorAll("table")].map(t => [t, t.closest("section") || t.parentElement]).map(([t, s]) => ({
            section: s.className, lead: lead(s),
            about: t.closest("details") ? t.closest("details").querySelector("summary").textContent : "",
            heads: [...t.tHead.rows[0].cells].map(c => c.textContent.trim()),
            rows: [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))})))};
})"""


def is_name(said, name):
    """Whether a text is a name, of which a very long one is cut."""
    return bool(re.fullmatch(".*".join(map(re.escape, said.split("..."))), name))


def whole(value):
    """A whole number; those beyond 2^53 are texts in JSON."""
    return None if value is None else int(value)


class Large:
    """The large figures of an article: `right` has a label and its texts for each; one without texts is left out."""

    def __init__(self, right):
        self.right = [(label, texts) for label, texts in right if "-" not in texts]

    def see(self, table):
        labels = [label for label, _ in self.right]
        return [] if [row[0] for row in table["rows"]] == labels and table["heads"] == ["", "figure"] else \
            ["the figures are %s, and not %s" % ([row[0] for row in table["rows"]], labels)]

    def expected(self, table, row, column):
        label, texts = self.right[row]
        return texts if column else {label}


class NoGetters:
    """Of a table that no checker knows."""

    def see(self, table):
        return ["no getters for the table in '%s': %s" % (table["section"], table["heads"])]


def wrong_with(table, of, r, c):
    """What is wrong with a cell, in words, and whether it was compared."""
    row, cell = table["rows"][r], table["rows"][r][c]
    try:
        right = of.expected(table, r, c)
    except (KeyError, TypeError, ZeroDivisionError, IndexError, AttributeError, StopIteration, ValueError) as e:
        right = {"an error: %r" % e}
    if right is None and not re.search(r"\d", cell):
        return "", False
    good = right if isinstance(right, bool) else right is not None and cell in right
    says = "something else" if isinstance(right, bool) else "nothing that has a getter" if right is None else \
        " or ".join(sorted(right)) or "no such row"
    return "" if good else "%s, %s, %s: '%s' stands there, and the JSON says %s" % (
        table["section"], row[0][:60], table["heads"][c] or "name", cell[:100], says), True


def check_table(table, of):
    """Findings, and how many figures were compared."""
    found, compared = list(of.see(table)), 0
    if found:
        return found, 0
    for r, row in enumerate(table["rows"]):
        for c in range(len(row)):
            wrong, judged = wrong_with(table, of, r, c)
            found += [wrong] if wrong else []
            compared += judged and c > 0
    return found, compared


def another(cell):
    """A text with another last digit."""
    return re.sub(r"\d(?=\D*$)", lambda d: str((int(d.group()) + 5) % 10), cell)


def unseen(table, of):
    """The cells with a figure that could be another one, or none, and nobody would notice."""
    found = []
    for r, row in enumerate(table["rows"]):
        for c, cell in enumerate(row):
            for changed in {another(cell), "-"} if re.search(r"\d", cell) else ():
                row[c] = changed
                if not of.see(table) and not any(wrong_with(table, of, r, k)[0] for k in range(len(row))):
                    found.append("%s, %s: '%s' could be '%s'" % (table["section"], table["heads"][c] or "name", cell, changed))
            row[c] = cell
    return found


def same(page, result, at="", less=()):
    """Where the data of a page say something else than the JSON result of the same run; None: nowhere. The page
    has more (`page`), its curves elsewhere, and `less` not at all."""
    if isinstance(page, dict) and isinstance(result, dict):
        names = ((set(page) - {"page"}) | set(result)) - {"curve", *less}
        return next(filter(None, (same(page.get(n), result.get(n), "%s.%s" % (at, n), less) for n in sorted(names))), None)
    if isinstance(page, list) and isinstance(result, list) and len(page) == len(result):
        return next(filter(None, (same(a, b, "%s[%d]" % (at, i), less) for i, (a, b) in enumerate(zip(page, result)))), None)
    return None if page == result else "%s is %.60r on the page and %.60r in the JSON" % (at[1:], page, result)
