package clientconfig

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// backupSuffix is added to the name of a file for a copy of its text from before the first change.
const backupSuffix = ".before-bossman"

// errChanged means that a file was changed after it was read.
var errChanged = errors.New("was changed by another program: try again")

// A target is the file of a plan in an opened directory. A user's file may be a symbolic link, such as
// one into a repository of dotfiles: the target is what it leads to. Links of a project stay inside it.
type target struct {
	root *os.Root
	name string
}

// open opens the directory in which the file is, or will be. It returns fs.ErrNotExist if there is none.
func (p *Plan) open() (*target, error) {
	real, err := resolveLinks(p.File.Path)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(real)
	if p.project != "" {
		if dir, err = filepath.EvalSymlinks(p.project); err != nil {
			return nil, withoutPath(err)
		}
		if name, err = filepath.Rel(dir, real); err != nil || !filepath.IsLocal(name) {
			return nil, errors.New("leads out of the project by a symbolic link, and is not used: put the file itself there")
		}
		if first, _, _ := strings.Cut(filepath.ToSlash(name), "/"); strings.EqualFold(first, ".git") {
			return nil, errors.New("leads into the git directory by a symbolic link, and is not used: put the file itself there")
		}
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return nil, withoutPath(err)
	}
	return &target{root, name}, nil
}

// resolveLinks returns a path without symbolic links. The end of it need not exist.
func resolveLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", withoutPath(err)
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("is or contains a symbolic link that leads nowhere: %s", path)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if parent, err = resolveLinks(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}

// read sets Old and Backup.
func (p *Plan) read() error {
	t, err := p.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.root.Close()
	p.Old, err = t.read(t.name, p.limit)
	if p.Old != nil {
		p.Backup = filepath.Join(t.root.Name(), t.name) + backupSuffix
	}
	return err
}

// readBackup returns the text from before the first change, nil if there is none.
func (p *Plan) readBackup() ([]byte, error) {
	t, err := p.open()
	if err != nil {
		return nil, err
	}
	defer t.root.Close()
	info, err := t.root.Lstat(t.name + backupSuffix)
	if err != nil || !info.Mode().IsRegular() {
		p.Backup = ""
		return nil, nil // somebody has removed it, or there was no file
	}
	return t.read(t.name+backupSuffix, p.limit)
}

// read reads a file of this user, and returns nil if there is none.
func (t *target) read(name string, limit int64) ([]byte, error) {
	text, err := readFile(name, limit, t.root.OpenFile, func(info fs.FileInfo) error {
		if ofOthers(info) {
			return errors.New("belongs to another user, and is not changed")
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// Write changes the file. A reader sees the old text or the new one, also after a crash. Mode and owner stay
// as they are.
func (p *Plan) Write() error {
	if err := p.write(); err != nil {
		return &Error{File: p.File.Path, Err: withoutPath(err)}
	}
	return nil
}

func (p *Plan) write() error {
	if !p.Changed() {
		return nil
	}
	if err := p.makeDir(); err != nil {
		return err
	}
	t, err := p.open()
	if err != nil {
		return err
	}
	defer t.root.Close()
	if err := p.unchanged(t); err != nil {
		return err
	}
	switch {
	case p.New == nil:
		err = t.root.Remove(t.name)
	case p.Old == nil:
		err = t.replace(p)
	default:
		if err = t.backup(p.Old); err == nil {
			err = t.replace(p)
		}
	}
	if err != nil {
		return err
	}
	if p.Restored && p.Backup != "" {
		return t.root.Remove(t.name + backupSuffix)
	}
	return nil
}

// makeDir makes the directory of the file.
func (p *Plan) makeDir() error {
	if p.Old != nil {
		return nil
	}
	if p.project == "" {
		return os.MkdirAll(filepath.Dir(p.File.Path), 0o700)
	}
	t, err := p.open()
	if err != nil {
		return err
	}
	defer t.root.Close()
	return t.root.MkdirAll(filepath.Dir(t.name), 0o777) // less the umask, like any directory of a project
}

func (p *Plan) unchanged(t *target) error {
	now, err := t.read(t.name, p.limit)
	if err == nil && ((now == nil) != (p.Old == nil) || !bytes.Equal(now, p.Old)) {
		err = errChanged
	}
	return err
}

// backup keeps a text, unless an older one is kept.
func (t *target) backup(text []byte) error {
	f, err := t.root.OpenFile(t.name+backupSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// replace puts a new file in the place of the old one.
func (t *target) replace(p *Plan) error {
	mode := fs.FileMode(0o600)
	if p.project != "" {
		mode = 0o666 // less the umask
	}
	old, err := t.root.Stat(t.name)
	if err == nil {
		mode = 0o600 // until it is complete
	}
	name := filepath.Join(filepath.Dir(t.name), "."+filepath.Base(t.name)+"-"+rand.Text()[:12])
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer t.root.Remove(name) // does nothing after the rename
	_, err = f.Write(p.New)
	if old != nil {
		err = errors.Join(err, keepOwner(f, old), f.Chmod(old.Mode().Perm()))
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := p.unchanged(t); err != nil {
		return err
	}
	if err := t.root.Rename(name, t.name); err != nil {
		return err
	}
	if dir, err := t.root.Open(filepath.Dir(t.name)); err == nil {
		_ = dir.Sync() // not every system can
		dir.Close()
	}
	return nil
}
