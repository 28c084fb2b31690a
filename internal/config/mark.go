package config

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// A mark is a file in a project with the name of something that a process with the right
// environment finds among the user's own files. It tells a process with another environment
// that there is a check which it does not see. Anybody can put a mark into an archive, so it
// names no place: all that it can do is to have reports refused.
type mark string

const (
	// acceptedCheck is the mark for a check that a person accepted. It has the name of a Trust's file.
	acceptedCheck = "trusted"
	// ownCheck is the mark for a check in the user's own file. It has the hash of that file's path.
	ownCheck = "user-check"
)

// mark is the mark of a project with a name: in the git directory, or in .bossman.
func (l Location) mark(name string) mark {
	if l.Repository != l.Root {
		return mark(filepath.Join(l.Repository, "bossman", name))
	}
	return mark(filepath.Join(l.Root, ".bossman", name))
}

// read returns the name that a mark has, which hashName made; empty if there is no mark of
// this user.
func (m mark) read() string {
	info, err := os.Lstat(string(m))
	if err != nil || owner(info) != "" {
		return ""
	}
	text, err := readPlain(string(m), maxPath)
	name := strings.TrimSpace(string(text))
	if sum, bad := hex.DecodeString(name); err != nil || bad != nil || len(sum) != hashSize {
		return ""
	}
	return name
}

func (m mark) write(name string) error {
	if m.read() == name {
		return nil
	}
	return keepFile(string(m), name+"\n")
}

func (m mark) remove() { _ = dropFile(string(m)) }

// markOwn marks a project whose work is judged by the check of the user's own file. It is
// best effort, and a project that has no board yet gets no mark.
func (s *Settings) markOwn(at Location) {
	m := at.mark(ownCheck)
	if _, err := os.Stat(filepath.Dir(string(m))); err == nil || IsServer(s.Board) {
		_ = m.write(hashName(userFile(s.getenv)))
	}
}

// checkElsewhere reports whether a project is marked for a check in another file of the user
// than this one. If it is this one, the check was taken out of it, and so is the mark.
func checkElsewhere(at Location, file string) bool {
	m := at.mark(ownCheck)
	name := m.read()
	if name == hashName(file) {
		m.remove()
		return false
	}
	return name != ""
}
