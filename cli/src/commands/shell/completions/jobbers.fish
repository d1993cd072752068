# Completions of jobbers for fish. The program itself says what fits.
function __jobbers_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l flag (string match -r -- '^--[^=]*=' $typed)
    for word in (jobbers complete -- $words[2..] $typed 2>/dev/null)
        echo $flag$word
    end
end
complete -c jobbers -f -a '(__jobbers_complete)'
