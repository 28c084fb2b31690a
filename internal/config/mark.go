package config

import (
	"os"
	"path/filepath"
	"strings"
)

// A mark is a file in a project that names a file of the user, outside the project. It tells
// a process that was started with another environment what it does not see.
type mark string

// mark is the mark of a project with a name: in the git directory, or in .bossman.
func (l Location) mark(name string) mark {
	if l.Repository != l.Root {
		return mark(filepath.Join(l.Repository, "bossman", name))
	}
	return mark(filepath.Join(l.Root, ".bossman", name))
}

// read returns the file that a mark names, empty if there is no mark, or the file is gone or
// cannot be seen.
func (m mark) read() string {
	text, err := readPlain(string(m), maxPath)
	path := strings.TrimSpace(string(text))
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

func (m mark) write(path string) error {
	if m.read() == path {
		return nil
	}
	return replaceFile(string(m), path+"\n")
}

func (m mark) remove() { _ = os.Remove(string(m)) }

// ownCheck is the name of the mark for a check in the user's own file.
const ownCheck = "user-check"

// markOwn marks a project whose work is judged by the check of the user's own file. It is
// best effort, and a project that has no board yet gets no mark.
func (s *Settings) markOwn(at Location) {
	m := at.mark(ownCheck)
	if _, err := os.Stat(filepath.Dir(string(m))); err == nil || IsServer(s.Board) {
		_ = m.write(userFile(s.getenv))
	}
}

// checkElsewhere returns the file of this user that a project's mark names, empty if it has no
// check any more.
func checkElsewhere(at Location) string {
	path := at.mark(ownCheck).read()
	if info, err := os.Stat(path); err != nil || owner(info) != "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if rel, out := filepath.Rel(at.Root, real); err != nil || out == nil && filepath.IsLocal(rel) {
		return "" // an archive may bring a mark, and a file for it
	}
	file := newSettings()
	if file.readFile(path, false) != nil || file.check == nil {
		return ""
	}
	return path
}
