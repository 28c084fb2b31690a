package git

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merges reports whether a setting is a command that is run to merge a file, and signer whether it
// is one that is run to sign a commit.
func merges(key string) bool {
	return strings.HasPrefix(key, "merge.") && strings.HasSuffix(key, ".driver")
}

func signer(key string) bool {
	return strings.HasPrefix(key, "gpg.") && (strings.HasSuffix(key, ".program") || key == "gpg.ssh.defaultkeycommand")
}

// ownCommands lists the repository's own commands to merge files and, if commits are signed, to
// sign them, as Filters lists them.
func (f configured) ownCommands() (list []string) {
	return append(f.unaccepted(nil, merges), f.signers(nil)...)
}

// signers lists the repository's own commands to sign that are not accepted; none if commits are
// not signed.
func (f configured) signers(accept func(command string) bool) []string {
	if !f.signs {
		return nil
	}
	return f.unaccepted(accept, signer)
}

// unaccepted lists the commands of the repository of some kind that are not accepted.
func (f configured) unaccepted(accept func(command string) bool, is func(key string) bool) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(f.commands)) {
		if !is(key) {
			continue
		}
		for _, value := range f.commands[key] {
			if text := filterText(key, value); value != "" && (accept == nil || !accept(text)) {
				list = append(list, text)
			}
		}
	}
	return slices.Compact(list)
}

// refusedDriver is what runs in place of a merge driver that is not accepted. Without a command git
// would take the file of the target for the merged one. Newer versions of git end with an error
// because of its status, older ones have a conflict.
const (
	refusedMark   = "bossman: a merge driver that nobody has accepted"
	refusedDriver = "echo '" + refusedMark + "' >&2; exit 129"
)

// drivers returns the settings with which git runs those merge drivers of the repository that are
// accepted, and lists the others. In place of such a driver the user's own of the same name applies.
func (f configured) drivers(accept func(command string) bool) (set settings, refused []string) {
	for _, key := range slices.Sorted(maps.Keys(f.commands)) {
		is := func(k string) bool { return k == key && merges(k) }
		list := f.unaccepted(accept, is)
		refused = append(refused, list...)
		switch {
		case len(list) == 0:
			set = append(set, f.given(func(key, _ string) bool { return is(key) })...)
		case len(f.otherCommands[key]) == 0:
			set = append(set, setting{key, refusedDriver})
		}
	}
	return set, refused
}

// A SignError says that a commit could not be signed, although git's configuration wants commits to be.
type SignError struct{ err error }

func (e *SignError) Error() string {
	reason := e.err.Error()
	if e, ok := errors.AsType[*Error](e.err); ok && e.Output != "" {
		reason = fmt.Sprintf("%.400q", strings.TrimSpace(e.Output))
	}
	return "the commit could not be signed, and commit.gpgSign is set: " + reason
}

func (e *SignError) Unwrap() error { return e.err }
