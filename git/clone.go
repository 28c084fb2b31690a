package git

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cloneFile is the file with the ID of a clone, in its common git directory. A clone of the
// clone does not have it; a copy of its files does.
var cloneFile = filepath.Join("bossman", "clone")

// cloneIDLen is the length of an ID, which has the letters of rand.Text.
const cloneIDLen = 26

// CloneID identifies the clone, whatever its machine and its directory are called: a random
// text in its common git directory. It is empty if there is none, and in a directory that may
// belong to something else. It is made if Bossman keeps files there already.
func (r *Repo) CloneID() string { return r.cloneID(false) }

// MakeCloneID is CloneID, and makes one if there is none. It is empty if it cannot be written.
func (r *Repo) MakeCloneID() string { return r.cloneID(true) }

func (r *Repo) cloneID(always bool) string {
	if r.Foreign != "" || CheckDir(filepath.Join(r.Common, filepath.Dir(cloneFile))) != nil {
		return ""
	}
	root, err := os.OpenRoot(r.Common) // it is not left through a symbolic link
	if err != nil {
		return ""
	}
	defer root.Close()
	if id, err := readCloneID(root); !errors.Is(err, fs.ErrNotExist) {
		return id
	}
	if _, err := root.Lstat(filepath.Dir(cloneFile)); err != nil && !always {
		return ""
	}
	if err := writeCloneID(root); err != nil {
		return ""
	}
	id, _ := readCloneID(root) // another process may have been first
	return id
}

// readCloneID reads the ID. It is empty if the file has something else.
func readCloneID(root *os.Root) (string, error) {
	info, err := root.Lstat(cloneFile)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	f, err := openPlainWith(root.OpenFile, cloneFile, maxSmall)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, cloneIDLen+2))
	id := strings.TrimSpace(string(text))
	if len(id) != cloneIDLen || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", err
	}
	return id, err
}

// writeCloneID writes a new ID, unless there is one. Nobody sees half of it.
func writeCloneID(root *os.Root) error {
	if err := root.MkdirAll(filepath.Dir(cloneFile), 0o700); err != nil {
		return err
	}
	id := rand.Text()
	temp := cloneFile + "." + id
	if err := root.WriteFile(temp, []byte(id+"\n"), 0o644); err != nil {
		return err
	}
	defer root.Remove(temp)
	err := root.Link(temp, cloneFile)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = root.Rename(temp, cloneFile) // a file system without links
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}
