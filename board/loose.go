package board

import (
	"cmp"
	"fmt"
	"strings"
)

// Loose says which files lay uncommitted where some work is, before the task was taken. An export does not have it.
type Loose struct {
	// LeftOut are files that are no part of the work, and More is how many further ones are not. They are as they
	// were, or git has never had them; if they are part of it all the same, somebody has to commit them.
	LeftOut []string `json:",omitzero"`
	More    int      `json:",omitzero"`
	// Mixed are files of the work that were there before, not committed, or ignored, or changed behind git's back; MoreMixed is how many
	// further ones there are. Of Rest of these files some changes are no part of the work.
	Mixed     []string `json:",omitzero"`
	MoreMixed int      `json:",omitzero"`
	Rest      int      `json:",omitzero"`
	// Written are files that are no part of the work because the check has made them, and nobody has added them to git; MoreWritten is
	// how many further ones there are.
	Written     []string `json:",omitzero"`
	MoreWritten int      `json:",omitzero"`
	// Inside are submodules and other repositories at the place of the work in which something was changed and not committed there:
	// no commit here has that.
	Inside []string `json:",omitzero"`
	// Unknown is set if it is not known what lay there before: then all files that were not committed were left out.
	Unknown bool `json:",omitzero"`
}

// MaxLoose is how many files are named.
const MaxLoose = 20

// Count is how many files were left out, or some changes of them.
func (l Loose) Count() int { return len(l.LeftOut) + l.More + len(l.Written) + l.MoreWritten + l.Rest }

// MixedText says which files of the work were there before something; empty if there are none. list names files, and how many
// more there are.
func (l Loose) MixedText(before string, list func(paths []string, more int) string) string {
	switch n := len(l.Mixed) + l.MoreMixed; n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 file was there before %s, not committed, and is in it: %s", before, list(l.Mixed, 0))
	default:
		return fmt.Sprintf("%d files were there before %s, not committed, and are in it: %s", n, before, list(l.Mixed, l.MoreMixed))
	}
}

// IsZero reports whether there is nothing to be said.
func (l Loose) IsZero() bool { return l.Count() == 0 && len(l.Mixed)+len(l.Inside) == 0 }

// NotCommitted says where files of the work are that were not committed: half a sentence, empty if there were none, or if it
// has landed with them.
func (r *Result) NotCommitted() string {
	files, are := "files", "are"
	if r.Uncommitted == 1 {
		files, are = "file", "is"
	}
	switch inside := r.Loose.inside(); {
	case r.Uncommitted == 0:
		return ""
	case inside != "" && (r.Landed != "" || r.NoChanges):
		return "what is in " + inside + ", which no commit here has"
	case r.Landed != "":
		return ""
	case inside != "" && !r.Tip.IsZero():
		return fmt.Sprintf("%d %s: what is in %s is in no commit here, all else in commit %.12s", r.Uncommitted, files, inside, r.Tip.Commit)
	case !r.Tip.IsZero():
		return fmt.Sprintf("%d %s, which %s in commit %.12s", r.Uncommitted, files, are, r.Tip.Commit)
	}
	return fmt.Sprintf("%d %s, which no branch has", r.Uncommitted, files)
}

// maxInside is how many submodules and repositories a sentence names.
const maxInside = 3

// inside names what is in Inside.
func (l Loose) inside() string {
	var names []string
	for _, path := range l.Inside[:min(len(l.Inside), maxInside)] {
		names = append(names, fmt.Sprintf("%.200q", path))
	}
	if more := len(l.Inside) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// maxPath bounds the name of a file.
const maxPath = 4096

// checkLoose validates what is said of files that lay about.
func checkLoose(l Loose) error {
	if n := min(l.More, l.MoreWritten, l.MoreMixed, l.Rest); n < 0 {
		return invalid("invalid number of files %d: want none or more", n)
	}
	return cmp.Or(checkPaths(l.LeftOut), checkPaths(l.Mixed), checkPaths(l.Written), checkPaths(l.Inside))
}

// checkPaths validates names of files.
func checkPaths(paths []string) error {
	if len(paths) > MaxLoose {
		return invalid("%d files are too many to be named: want at most %d", len(paths), MaxLoose)
	}
	for _, path := range paths {
		if err := checkTexts(text{"the name of a file", path, maxPath}); err != nil {
			return err
		}
	}
	return nil
}
