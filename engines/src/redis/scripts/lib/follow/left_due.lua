-- An end of no task: the steps that signal the ends in `g:due` also let go of what is in `g:left`, and store edges in pieces.

local LEFT_DUE = string.rep('0', @ending_due.before.last) .. @gone.deleted
