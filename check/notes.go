package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// notes are what has to be remembered about a repository to look at work in it: a
// directory in the user's state directory, outside the repository.
//
//	tips/web-1.k7f2q   what the repository had when web-1 was handed out with this claim
//	begun/web-1.k7f2q  the worktree where that was, and the commit and the branch that it had
//	names/web-1.k7f2q  the branches and the worktrees that there were then
//	trees/web-1.k7f2q  the worktrees that there were then
//	loose/web-1.k7f2q.41…  the files that were not committed in one of them then, and what they were, and what was ignored
//	commits/3f2c…      the task and the worker whose evidence the commit was
//	heads/3f2c…        the task and the worker whose accepted work ended with the commit
//	left/5d41….9b1c…   the task whose accepted work left these files uncommitted in this worktree
//	dropped/web-1.k7f2q  the former work of web-1 that a report under this claim was said to lack
//	forgone/web-1.k7f2q.5d41…  work of web-1 that was named to a report under this claim which said that it needs no change
//	denied/web-1.k7f2q  a commit that was named to a report under this claim which said that there is none
//	written/web-1.k7f2q.5d41….0  files that a check has made in this worktree for this claim
//	rewritten/web-1.k7f2q.5d41….0  files of git that changed there while a check ran
type notes struct{ dir string }

const (
	// maxNote bounds a note: 100,000 refs have about 4 MB. A longer one is not kept, and what it
	// would say is not known: a million files that lie about have about 18 MB.
	maxNote = 32 << 20
	// noteAge is how long a note is kept.
	noteAge = 180 * 24 * time.Hour
)

var errNoNotes = errors.New("there is no place for notes: set HOME or XDG_STATE_HOME")

// open opens one of the directories, and creates it if it is not there.
func (n notes) open(kind string) (*os.Root, error) {
	if n.dir == "" {
		return nil, errNoNotes
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(n.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(kind, 0o700); err != nil {
		return nil, err
	}
	return root.OpenRoot(kind)
}

// write writes a note, unless there is one already.
func (n notes) write(kind, name, text string) error {
	root, err := n.open(kind)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(text) > maxNote {
		return nil
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(name) // the half of it
	}
	return err
}

// read reads the words of a note. ok is false if there is none.
func (n notes) read(kind, name string) (words []string, ok bool) {
	root, err := n.open(kind)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxNote {
		return nil, false
	}
	text, err := root.ReadFile(name)
	return strings.Fields(string(text)), err == nil
}

// written returns when a note was written. ok is false if there is none.
func (n notes) written(kind, name string) (at time.Time, ok bool) {
	root, err := n.open(kind)
	if err != nil {
		return at, false
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return at, false
	}
	return info.ModTime(), true
}

// all returns the words of all notes of a kind, by their names.
func (n notes) all(kind string) map[string][]string {
	words := map[string][]string{}
	root, err := n.open(kind)
	if err != nil {
		return words
	}
	defer root.Close()
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if text, err := root.ReadFile(e.Name()); err == nil && e.Type().IsRegular() {
			words[e.Name()] = strings.Fields(string(text))
		}
	}
	return words
}

// has reports whether there is a note.
func (n notes) has(kind, name string) bool {
	_, ok := n.written(kind, name)
	return ok
}

// prune removes old notes.
func (n notes) prune(now time.Time) {
	for _, kind := range []string{"tips", "begun", "told", "names", "trees", "loose", "commits", "heads", "left", "dropped", "forgone", "denied", "written", "rewritten"} {
		root, err := n.open(kind)
		if err != nil {
			return
		}
		entries, _ := fs.ReadDir(root.FS(), ".")
		for _, e := range entries {
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > noteAge {
				_ = root.Remove(e.Name())
			}
		}
		root.Close()
	}
}

// noteName is the name of the notes about a hand-out of a task.
func noteName(claim board.Handle) string { return claim.Task.String() + "." + claim.Nonce }

// pathName is a name for a directory, of the same length for all.
func pathName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:16])
}
