/** Behind `kcli completion`: the few lines that make a shell ask `kcli __complete`. */

const BASH = `# kcli completion for bash: source <(kcli completion bash)
_kcli() {
	local IFS=$'\\n' words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
	COMPREPLY=($(kcli __complete -- "\${words[@]}" 2>/dev/null))
}
complete -o default -F _kcli kcli
`

const ZSH = `#compdef kcli
# kcli completion for zsh: source <(kcli completion zsh)
_kcli() {
	local -a found
	found=("\${(@f)$(kcli __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
	found=("\${(@)found:#}")
	if (( \${#found} )); then compadd -a found; else _files; fi
}
if [ "\${funcstack[1]}" = "_kcli" ]; then _kcli "$@"; else compdef _kcli kcli; fi
`

const FISH = `# kcli completion for fish: kcli completion fish | source
function __kcli_complete
	set -l words (commandline -opc) (commandline -ct)
	kcli __complete -- $words[2..-1] 2>/dev/null
end
complete -c kcli -f -a '(__kcli_complete)'
`

export type Shell = 'bash' | 'zsh' | 'fish'

export function completionScript(shell: Shell): string {
	return { bash: BASH, zsh: ZSH, fish: FISH }[shell]
}
