# Prints every line of C files as `path:line:text` without comments, and with strings and characters
# emptied, unless keep_strings is set.
# Known weakness: knows no trigraphs and no line that ends in a backslash inside a // comment.

function take(text,    out, i, c, two, quote)
{
    out = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        two = substr(text, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; out = out " "; i++ }
        } else if (quote != "") {
            if (c == "\\") { if (keep_strings) out = out two; i++ }
            else if (c == quote) { out = out c; quote = "" }
            else if (keep_strings) out = out c
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else { if (c == "\"" || c == "'") quote = c; out = out c }
    }
    return out
}

FNR == 1 { in_comment = 0 }
{ print FILENAME ":" FNR ":" take($0) }
