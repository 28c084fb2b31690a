package crew

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// The hooks of the guard, which end with chain, or with what calls a hook of the clone.

// refuseUpdate is the beginning of a hook that refuses to move or delete a branch. When git packs refs, it writes the same value to the
// packed refs, and then deletes the file of the ref, without the lock of the packed refs: that moves nothing. A deletion of the ref has that lock if it
// is packed, and may have no commit on either side.
func refuseUpdate(target board.Target) string {
	return `#!/bin/sh
lines=$(cat)
moves() {
	[ "$1" != "$2" ] || [ -z "$(echo "$2" | tr -d 0)" ] || return 1
	[ "$2" != "$(git rev-parse -q --verify "$3")" ] || return 1
	packed=$(git rev-parse --git-common-dir)/packed-refs
	[ -n "$(echo "$2" | tr -d 0)" ] || [ -e "$packed.lock" ] || ! grep -Fqx -e "$1 $3" "$packed" 2>/dev/null
}
if [ "$1" = prepared ]; then
	while read -r old new ref; do
		if [ "$ref" = ` + visible.ShellWord("refs/heads/"+target.Branch) + ` ] && moves "$old" "$new" "$ref"; then
			echo ` + visible.ShellWord(refusal(target)) + ` >&2
			exit 1
		fi
	done <<LINES
$lines
LINES
fi
`
}

// refusePush is the beginning of a hook that refuses to push to a branch of the repository with a git directory, or of one of its
// remote repositories. Addresses are compared by where they lead. Those of the remote repository are read in root.
func refusePush(target board.Target, common, root string) string {
	targets := "place " + visible.ShellWord(common)
	if target.Kind != board.TargetLocal {
		remote := visible.ShellWord(target.Remote)
		config := "git --git-dir=" + visible.ShellWord(common) + " remote get-url "
		targets = `(
		alone
		cd ` + visible.ShellWord(root) + ` || exit
		{
			` + config + `--push --all ` + remote + `
			` + config + `--all ` + remote + `
		} 2>/dev/null | while IFS= read -r address; do place "$address"; done
	)`
	}
	return `#!/bin/sh
lines=$(cat)
unset CDPATH
` + placeFunction + `
targets() {
	` + targets + `
}
leads() {
	targets | while IFS= read -r target; do
		place "$1" | while IFS= read -r there; do
			if [ "$there" = "$target" ] || [ "$there" -ef "$target" ]; then echo yes; fi
		done
	done
}
named=
while IFS= read -r line; do
	ref=${line% *} # the first word, what is pushed, may have spaces
	[ "${ref##* }" != ` + visible.ShellWord("refs/heads/"+target.Branch) + ` ] || named=yes
done <<LINES
$lines
LINES
if [ -n "$named" ] && [ -n "$(leads "$2")" ]; then
	echo ` + visible.ShellWord(refusal(target)) + ` >&2
	exit 1
fi
`
}

// placeFunction has the function place of the shell, which prints where an address leads. That of a path, also as a file: URL, is its git directory,
// which git looks for in this order, or that of the repository whose worktree it is. That of a server is its host, also as the configuration of
// ssh has it for a name of the user's, and its path; who logs in, how and at which port does not matter.
const placeFunction = `alone() {
	unset $(git rev-parse --local-env-vars)
}
decoded() {
	printf '%s\n' "$1" | LC_ALL=C awk '{
		while (match($0, /%[0-9A-Fa-f][0-9A-Fa-f]/)) {
			code = tolower(substr($0, RSTART + 1, 2))
			high = index("0123456789abcdef", substr(code, 1, 1)) - 1
			printf "%s%c", substr($0, 1, RSTART - 1), high * 16 + index("0123456789abcdef", substr(code, 2)) - 1
			$0 = substr($0, RSTART + 3)
		}
		print
	}'
}
place() {
	address=$1 path= ssh=
	case $address in http::* | https::* | ssh::* | file::*) address=${address#*::} ;; esac
	case $address in *://*%*) address=$(decoded "$address") ;; esac
	case $address in
	file:///* | file://[A-Za-z]:*) path=${address#file://} ;;
	file://*/*) path=/${address#file://*/} ;;
	ssh://* | *+ssh://* | ssh+*://*) ssh=yes ;;
	*://*) ;;
	[A-Za-z]:[/\\]*) [ ! -d "$address" ] || path=$address ;;
	*:*) case ${address%%:*} in */*) path=$address ;; *) ssh=yes ;; esac ;;
	'~/'*) path=$HOME/${address#*/} ;;
	'~'*/*)
		case ${address%%/*} in '~'*[!A-Za-z0-9._-]*) ;; *) eval "path=${address%%/*}" && path=$path/${address#*/} ;; esac
		;;
	*) path=$address ;;
	esac
	if [ -n "$path" ]; then
		for dir in "$path/.git" "$path" "$path.git/.git" "$path.git"; do
			(alone && common=$(git --git-dir="$dir" rev-parse --git-common-dir) && cd -P -- "$common" && pwd -P) 2>/dev/null && return
		done
	fi
	address=$(printf '%s\n' "$address" | tr '[:upper:]' '[:lower:]' | sed -e 's,^\[\([^]@:/]*@\)*\([^]@:/]*\)\(:[0-9]*\)*\]:/*,\2/,' \
		-e 's,^[a-z0-9+.-]*://[^/]*@,,' -e 's,^[a-z0-9+.-]*://,,' -e 's,^\[*\([^]:/[]*\)\]\(:[0-9]*\)*/,\1/,' -e 's,^[^/:]*@,,' -e 's,//*,/,g' \
		-e 's,^\(\[[^]/]*]\):[0-9]*/,\1/,' -e 's,^\([^/:[]*\):[0-9][0-9]*/,\1/,' -e 's,^\(\[[^]/]*]\):,\1/,' -e 's,^\([^/:[]*\):,\1/,' \
		-e 's,//*,/,g' -e ':a' -e 's,/\./,/,' -e 'ta' -e 's,/\.$,/,' -e ':b' -e 's,/[^/][^/]*/\.\./,/,' -e 'tb' \
		-e 's,^\([^/]*\)/~[^/]*/,\1/,' -e 's,^\([^/]*[^/.]\)\.*/,\1/,' -e 's,/$,,' -e 's,\.git$,,' -e 's,/$,,')
	printf '%s\n' "$address"
	if [ -n "$ssh" ]; then
		host=${address%%/*}
		name=$(ssh -G -- "$host" </dev/null 2>/dev/null | sed -n 's/^hostname //p')
		[ -z "$name" ] || printf '%s\n' "$name/${address#*/}"
	fi
}`

// refusal tells an agent what to do instead.
func refusal(target board.Target) string {
	return fmt.Sprintf("bossman: work reaches %s by landing only: commit on your own branch, and report the task done", target)
}

// chain is the end of a hook: the user's hook, if there is one.
func chain(next string) string {
	if next == "" {
		return "exit 0\n"
	}
	return passTo(visible.ShellWord(next))
}

// passTo has another hook, a word of the shell, called with the same input.
func passTo(hook string) string {
	return "[ -z \"$lines\" ] && exec " + hook + " \"$@\" </dev/null\nprintf '%s\\n' \"$lines\" | " + hook + " \"$@\"\n"
}

// clientHooks are the hooks that a repository may have of its own, besides pre-push. Not among them are push-to-checkout and proc-receive,
// by whose presence git itself acts otherwise.
var clientHooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "post-rewrite", "pre-auto-gc", "sendemail-validate", "reference-transaction", "post-index-change",
	"pre-receive", "update", "post-receive", "post-update",
}

// cloneHooks are the hooks for other repositories: the guard's for a push, and others that call the repository's own. These are found without
// the settings of the guard.
func cloneHooks(push string) map[string]string {
	own := func(name string) string {
		find := "hook=$(unset " + parametersVariable + "; git rev-parse --git-path hooks)/" + name + "\n"
		if name == "post-checkout" { // in a worktree that was just made, where a relative directory of hooks may not be
			find += "case $hook in /*) ;; *) [ -x \"$hook\" ] || hook=$(git worktree list --porcelain | sed -n '1s/^worktree //p')/$hook ;; esac\n"
		}
		return find + "[ -x \"$hook\" ] || exit 0\n"
	}
	hooks := map[string]string{"pre-push": push + own("pre-push") + passTo(`"$hook"`)}
	for _, name := range clientHooks {
		hooks[name] = "#!/bin/sh\n" + own(name) + "exec \"$hook\" \"$@\"\n"
	}
	return hooks
}
