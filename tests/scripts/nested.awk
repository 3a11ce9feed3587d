# usage: awk -f nested.awk TEXT
#
# TEXT is what c_text.awk prints: `path:line:text` without comments, strings emptied. Prints one line per
# conditional expression that stands in the condition or in a choice of another, in brackets or not.
#
# How: every open bracket is a level. A level knows whether its expression has had a `?`, and whether brackets
# that closed in it had one. What ends an expression forgets both, what assigns forgets its left side.
# Known weakness: a comma that stands outside brackets between `?` and `:` ends the expression.

function forget() { chooses[level] = chose_inside[level] = 0 }

function open_bracket(before)
{
    level++
    forget()
    of_statement[level] = before ~ /^(if|while|for|switch)$/
}

function close_bracket(bracket)
{
    if (level == floor) return
    level--
    if (chooses[level + 1] || chose_inside[level + 1]) chose_inside[level] = 1
    if (of_statement[level + 1] || bracket == "}") chose_inside[level] = 0
}

function choose(    outer)
{
    for (outer = level; outer > floor && !chooses[outer]; ) outer--
    if (chooses[outer] || chose_inside[level]) print place ": a conditional within a conditional"
    chooses[level] = 1
}

function read_tokens(text,    token)
{
    while (match(text, /[A-Za-z0-9_]+|[<>=!]+=|[][(){},;=?]/)) {
        token = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (token == "?") choose()
        else if (token ~ /^[[({]$/) open_bracket(before)
        else if (token ~ /^[])}]$/) close_bracket(token)
        else if (token ~ /^[,;]$/ || token == "return") forget()
        else if (token ~ /^(<<|>>)?=$/) chose_inside[level] = 0
        before = token
    }
}

{
    match($0, /^[^:]*:[0-9]*:/)
    place = substr($0, 1, RLENGTH - 1)
    text = substr($0, RLENGTH + 1)
    if (place ~ /:1$/) { level = floor = in_directive = 0; forget() }
    if (!in_directive && text ~ /^[ \t]*#/) { # it ends with its line, whatever is open there
        in_directive = 1
        level_outside = level
        floor_outside = floor
        floor = ++level
        forget()
    }
    read_tokens(text)
    if (in_directive && text !~ /\\$/) { in_directive = 0; level = level_outside; floor = floor_outside }
}
