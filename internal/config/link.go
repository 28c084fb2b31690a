package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// A link lets a clone use the board of another clone. It is a file in the git directory of
// the first with the path of the git directory of the second, and goes one step: a clone
// whose board is used has no link itself. The second names the first, too: an archive can
// bring a link to any path, but nothing at that path. Both have a random text below the path: the
// first may have been replaced by something else.

const offNext = "bossman link --off removes the link, bossman link PATH makes another"

// linkFile is where the link of a repository is.
func linkFile(common string) string { return filepath.Join(common, "bossman", "link") }

// backFile is where the repository that has the board names one that is linked to it.
func backFile(target, common string) string {
	return filepath.Join(target, "bossman", "linked", hashName(common))
}

// boardFileOf is where the board of a repository is.
func boardFileOf(common string) string { return filepath.Join(common, "bossman", "board.db") }

// readLink returns the git directory that a repository is linked to, empty if it is not.
func (s *Settings) readLink(common string) (string, error) {
	path := linkFile(common)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the link to a board: %w", err)
	}
	bad := func(format string, args ...any) (string, error) {
		return "", console.Errorf(console.Denied, offNext, "the link to a board in %q is not used: %s", path, fmt.Sprintf(format, args...))
	}
	if !info.Mode().IsRegular() || info.Size() > maxPath || runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 || owner(info) != "" {
		return bad("it must be a regular file of yours that only you can write")
	}
	text, err := readPlain(path, maxPath)
	if err != nil {
		return "", fmt.Errorf("read the link to a board: %w", err)
	}
	target, id := linkLines(text)
	if err := checkTarget(common, target); err != nil {
		return bad("%v", err)
	}
	if err := s.requireOwnTarget(target); err != nil {
		return "", err
	}
	back, err := readPlain(backFile(target, common), maxPath)
	if who, want := linkLines(back); err != nil || who != common || want == "" || want != id {
		return bad("nobody has run bossman link here for %q, so it came with the files, or one of the clones was moved, or an older version made it", target)
	}
	return target, nil
}

// linkLines returns the two lines of a link, or of the file that names a linked clone.
func linkLines(text []byte) (path, id string) {
	path, id, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
	return path, id
}

// checkTarget says why a repository cannot be linked to a git directory.
func checkTarget(common, target string) error {
	if !filepath.IsAbs(target) || filepath.Clean(target) != target || strings.ContainsAny(target, "\n\x00") {
		return fmt.Errorf("%q is not an absolute path", target)
	}
	if target == common {
		return errors.New("it leads to itself")
	}
	repo, ok := git.At(target)
	if !ok || repo.Common != target {
		return fmt.Errorf("%q is not the git directory of a clone", target)
	}
	for _, path := range []string{target, filepath.Join(target, "bossman"), filepath.Join(target, "bossman", "linked"), boardFileOf(target)} {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%q is a symbolic link", path)
		}
	}
	if _, err := os.Lstat(linkFile(target)); err == nil {
		return fmt.Errorf("%q is linked to another board itself", target)
	}
	return nil
}

// requireOwnTarget refuses the board of a clone with a git directory if it is not the user's, or if everybody may write it.
func (s *Settings) requireOwnTarget(target string) error {
	at := Location{Root: filepath.Dir(target), Path: boardFileOf(target)}
	if main, ok := git.Main(target); ok {
		at.Root = main.Root
	}
	for _, path := range []string{target, filepath.Dir(at.Path), filepath.Join(filepath.Dir(at.Path), "linked"), at.Path} {
		if err := s.requireOwnFile(at, path); err != nil {
			return err
		}
	}
	return s.requireClosed(at)
}

// A Link says which board a clone uses.
type Link struct {
	// Clone is the git directory of the clone. Own is the file of its own board, and Board
	// the file of the board that it uses; they are equal without a link.
	Clone, Own, Board string

	settings *Settings
}

// CurrentLink returns the link of the clone that the settings' search begins in. It does not look
// whether the link can be used, only whether the clone and its files are the user's.
func CurrentLink(flags Flags, getenv func(string) string) (Link, error) {
	from, by, err := start(flags, getenv)
	if err != nil {
		return Link{}, err
	}
	s, err := userSettings(getenv)
	if err != nil {
		return Link{}, err
	}
	if s.location, err = locate(from, by, getenv("HOME")); err != nil || s.location.repo == nil {
		return Link{}, console.Errorf(console.NotFound, "bossman --board PATH names the project whose board is meant", "%q (%s) is not in a git repository, and only a clone can be linked to another", from, by)
	}
	if err := s.requireOwn(); err != nil {
		return Link{}, err
	}
	repo := s.location.repo
	l := Link{Clone: repo.Common, Own: boardFileOf(repo.Common), settings: s}
	l.Board = l.Own
	if text, err := readPlain(linkFile(repo.Common), maxPath); err == nil {
		target, _ := linkLines(text)
		l.Board = boardFileOf(target)
	}
	return l, nil
}

// Check says why the link cannot be used, if there is one.
func (l *Link) Check() error {
	_, err := l.settings.readLink(l.Clone)
	return err
}

// Set links the clone to the one that a directory is in.
func (l *Link) Set(dir string) error {
	repo, err := git.Find(dir)
	if err != nil {
		return console.Errorf(console.NotFound, "bossman link PATH, with the directory of the other clone", "%q is not in a git repository", dir)
	}
	if err := checkTarget(l.Clone, repo.Common); err != nil {
		return console.Errorf(console.Conflict, "bossman link PATH, with the directory of the clone that has the board", "cannot link to %q: %v", dir, err)
	}
	if err := l.settings.requireOwnTarget(repo.Common); err != nil {
		return err
	}
	l.Board = boardFileOf(repo.Common)
	id := rand.Text()
	back := backFile(repo.Common, l.Clone)
	if err := git.MakeDir(filepath.Dir(filepath.Dir(back))); err != nil {
		return err
	}
	if err := keepFile(back, l.Clone+"\n"+id+"\n"); err != nil {
		return err
	}
	if err := keepFile(linkFile(l.Clone), repo.Common+"\n"+id+"\n"); err != nil {
		return err
	}
	err = l.Check()
	if err != nil {
		_, _ = l.Remove()
	}
	return err
}

// Remove removes the link, and reports whether there was one.
func (l *Link) Remove() (bool, error) {
	text, _ := readPlain(linkFile(l.Clone), maxPath)
	target, _ := linkLines(text)
	err := dropFile(linkFile(l.Clone))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.Board = l.Own
	back := backFile(target, l.Clone)
	text, _ = readPlain(back, maxPath)
	if who, _ := linkLines(text); who == l.Clone && git.CheckDir(filepath.Dir(filepath.Dir(back))) == nil {
		_ = dropFile(back)
	}
	return true, nil
}
