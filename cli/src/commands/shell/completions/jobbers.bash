# Completions of jobbers for bash. The program itself says what fits.
_jobbers() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
# Ids may hold colons, at which bash would cut words.
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
complete -o default -F _jobbers jobbers
