#compdef jobbers
# Completions of jobbers for zsh. The program itself says what fits.
_jobbers() {
    local -a found
    found=(${(f)"$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then
        # A value behind an equals sign is offered without its flag.
        compset -P '--*='
        compadd -- "${found[@]}"
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_jobbers" ]; then _jobbers "$@"; else compdef _jobbers jobbers; fi
