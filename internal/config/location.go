package config

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// A Location is where a board is, or would be: nothing needs to exist yet.
type Location struct {
	// Path is the database file.
	Path string
	// Root is the project's directory, whose .bossman/config.toml is read.
	Root string
	// Repository is the directory that all worktrees of the project share: its git
	// directory, or Root outside git.
	Repository string
	// Name is the default name of the project.
	Name string
	// From is the directory where the search began, and By what named it.
	From, By string

	repo *git.Repo // nil outside git
}

// A NoBoardError is returned if there is no project around the directory where the search
// began.
type NoBoardError struct{ From, By string }

func (e *NoBoardError) Error() string {
	return fmt.Sprintf("no board here: neither %q (%s) nor a directory above it is a git repository or has a .bossman directory, "+
		"and no board is created in or above the home directory. Name the project's directory: --board /path/to/project", e.From, e.By)
}

// ExitCode is for package console.
func (e *NoBoardError) ExitCode() console.ExitCode { return console.NotFound }

// NextStep is for package console.
func (e *NoBoardError) NextStep() string {
	return "bossman --board /path/to/project …, or in a client's configuration: bossman mcp --board /path/to/project"
}

// locate finds the board for a directory. In a git repository it is in the git directory
// that all worktrees share; elsewhere in .bossman, which is searched for upwards.
func locate(from, by, home string) (Location, error) { return locateAs(from, by, home, true) }

// locateAs is locate, without a look for a repository if inGit is not set.
func locateAs(from, by, home string, inGit bool) (Location, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return Location{}, err
	}
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real
	} else if errors.Is(err, fs.ErrNotExist) {
		return Location{}, fmt.Errorf("the directory %q (%s) does not exist", from, by)
	}
	if info, err := os.Stat(from); err == nil && !info.IsDir() {
		return Location{}, fmt.Errorf("%q (%s) is not a directory", from, by)
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
	}
	if repo, err := git.Find(from); err == nil && inGit {
		return Location{
			Path: boardFileOf(repo.Common), Root: repo.Root, Repository: repo.Common, Name: repo.Name(), From: from, By: by, repo: repo,
		}, nil
	}
	for dir := range parents(from) {
		if containsHome(dir, home) {
			break
		}
		if _, err := os.Lstat(filepath.Join(dir, ".bossman")); err == nil {
			return locateIn(dir, from, by), nil
		}
	}
	if containsHome(from, home) {
		return Location{}, &NoBoardError{From: from, By: by}
	}
	return locateIn(from, from, by), nil
}

// locateFile is the location of a board whose file was named.
func locateFile(path, by string) (Location, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Location{}, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the person who named it may name a link
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	dir := filepath.Dir(path)
	if filepath.Base(dir) == ".bossman" || filepath.Base(dir) == "bossman" {
		dir = filepath.Dir(dir)
	}
	l := Location{Path: path, Root: dir, Repository: dir, Name: filepath.Base(dir), From: path, By: by}
	if repo, ok := git.At(dir); ok {
		l.Root, l.Repository, l.Name, l.repo = filepath.Dir(repo.Common), repo.Common, repo.Name(), repo
	}
	return l, nil
}

// locateIn is the location in a directory that is not in git.
func locateIn(dir, from, by string) Location {
	return Location{Path: filepath.Join(dir, ".bossman", "board.db"), Root: dir, Repository: dir, Name: filepath.Base(dir), From: from, By: by}
}

// parents yields a directory and all directories above it.
func parents(dir string) iter.Seq[string] {
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

// containsHome reports whether home is dir or below it, or dir is the root directory.
func containsHome(dir, home string) bool {
	if filepath.Dir(dir) == dir {
		return true
	}
	if home == "" {
		return false
	}
	rel, err := filepath.Rel(dir, home)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
