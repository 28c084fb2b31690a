package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
)

// A place is where a board is, or would be: nothing needs to exist yet.
type place struct {
	// Path is the database file.
	Path string
	// Root is the project's directory: its .bossman/config.toml is read.
	Root string
	// Name is what the project is called if nobody says.
	Name string
	// From is the directory where the search began, and By what chose it.
	From, By string
}

// A noPlaceError says that there is no project around the directory where the
// search began.
type noPlaceError struct{ From, By string }

func (e *noPlaceError) Error() string {
	return fmt.Sprintf("no board here: looking from %s (%s) upwards there is neither a git repository nor a .bossman directory, "+
		"and a board is not put into or above the home directory. Name the project's directory: --board /path/to/project", e.From, e.By)
}

// ExitCode implements the console's interface for errors.
func (e *noPlaceError) ExitCode() console.ExitCode { return console.NotFound }

// NextStep implements the console's interface for errors.
func (e *noPlaceError) NextStep() string {
	return "bossman --board /path/to/project …, or in a client's configuration: bossman mcp --board /path/to/project"
}

// findPlace finds the board for a directory. In a git repository it is in the
// directory that all worktrees share; outside in .bossman, which is looked for
// upwards. It creates nothing.
func findPlace(from, by, home string) (place, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return place{}, err
	}
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real
	} else if errors.Is(err, fs.ErrNotExist) {
		return place{}, fmt.Errorf("the directory %s (%s) does not exist", from, by)
	}
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return place{}, fmt.Errorf("%s (%s) is not a directory", from, by)
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
	}
	for dir := range upwards(from) {
		common, ok := gitCommonDir(dir)
		if !ok {
			continue
		}
		return place{
			Path: filepath.Join(common, "bossman", "board.db"),
			Root: dir, Name: repositoryName(common), From: from, By: by,
		}, nil
	}
	for dir := range upwards(from) {
		if above(dir, home) {
			break
		}
		if info, err := os.Stat(filepath.Join(dir, ".bossman")); err == nil && info.IsDir() {
			return bare(dir, from, by), nil
		}
	}
	if above(from, home) {
		return place{}, &noPlaceError{From: from, By: by}
	}
	return bare(from, from, by), nil
}

// bare is the place in a directory that is not in git.
func bare(dir, from, by string) place {
	return place{Path: filepath.Join(dir, ".bossman", "board.db"), Root: dir, Name: filepath.Base(dir), From: from, By: by}
}

// upwards gives a directory and all that it is in.
func upwards(dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(dir) {
			up := filepath.Dir(dir)
			if up == dir {
				return
			}
			dir = up
		}
	}
}

// above reports whether home is dir or lies in it.
func above(dir, home string) bool {
	if filepath.Dir(dir) == dir {
		return true
	}
	if home == "" {
		return false
	}
	rel, err := filepath.Rel(dir, home)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// gitCommonDir gives the directory that all worktrees of a repository share, if dir
// is a worktree's top or a repository without one.
func gitCommonDir(dir string) (string, bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		return common(dot)
	case err == nil:
		text, err := os.ReadFile(dot)
		if err != nil {
			return "", false
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
		if !ok {
			return "", false
		}
		target = strings.TrimSpace(target)
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		return common(target)
	}
	return common(dir)
}

// common follows a git directory to the one it shares with others. It is none
// without a HEAD, objects and refs.
func common(gitDir string) (string, bool) {
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err != nil {
		return "", false
	}
	if text, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		shared := strings.TrimSpace(string(text))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(gitDir, shared)
		}
		gitDir = shared
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(gitDir, part)); err != nil || !info.IsDir() {
			return "", false
		}
	}
	return filepath.Clean(gitDir), true
}

// repositoryName is what people call the repository of a common directory:
// web for web/.git, web/.bare and web.git.
func repositoryName(common string) string {
	base := filepath.Base(common)
	if strings.HasPrefix(base, ".") {
		return filepath.Base(filepath.Dir(common))
	}
	return strings.TrimSuffix(base, ".git")
}

// slug makes a project's short name out of a directory's.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		letter := c >= 'a' && c <= 'z'
		digit := c >= '0' && c <= '9'
		if letter || digit && b.Len() > 0 {
			b.WriteRune(c)
		}
		if b.Len() == 16 {
			break
		}
	}
	if b.Len() == 0 {
		return "board"
	}
	return b.String()
}
