package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// Flags are the settings that every command takes from its command line. Empty ones were
// not given.
type Flags struct {
	Board, Project string
	DB             auth.Secret
}

// Load reads the settings and finds the board. That there is no board is not an error
// here: Settings.Location says so.
func Load(flags Flags, getenv func(string) string) (*Settings, error) {
	s, err := userSettings(getenv)
	if err != nil {
		return nil, err
	}
	// The board of the user's own file is for directories that have none.
	fallback, fallbackOrigin := s.Board, s.Origin["board"]
	s.Board, s.Origin["board"] = "", originDefault

	from, by, err := start(flags, getenv)
	if err != nil {
		return nil, err
	}
	home := getenv("HOME")
	isFile := strings.HasSuffix(from, ".db")
	switch {
	case isFile:
		s.location, err = locateFile(from, by)
	case !IsServer(from):
		s.location, err = locate(from, by, home)
	}
	if _, none := errors.AsType[*NoBoardError](err); none && fallback != "" && !IsServer(fallback) {
		s.location, err = locate(expandHome(fallback, home), "board in "+fallbackOrigin, home)
		s.Board, s.Origin["board"] = fallback, fallbackOrigin
	}
	if none, ok := errors.AsType[*NoBoardError](err); ok {
		s.noBoard = none
	} else if err != nil {
		return nil, err
	}
	if err := s.requireOwn(); err != nil {
		return nil, err
	}
	var broken error
	if root := s.location.Root; s.noBoard == nil && root != "" {
		broken = s.readFile(projectFile(root), true)
	}
	if repo := s.location.repo; repo != nil && !isFile && !IsServer(s.Board) {
		switch target, err := s.readLink(repo.Common); {
		case err != nil:
			return nil, err
		case target != "":
			s.location.Path = boardFileOf(target)
		}
	}
	if err := s.readEnv(getenv); err != nil {
		return nil, err
	}
	for name, v := range map[string]string{"board": flags.Board, "db": flags.DB.Reveal(), "project": flags.Project} {
		if v == "" {
			continue
		}
		if err := s.set(name, v, "--"+name); err != nil {
			return nil, console.Usagef("--%s: %v", name, err)
		}
	}
	if broken != nil {
		if !s.knowsBoard(broken) {
			return nil, broken
		}
		s.Broken = broken
	}
	return s, nil
}

// Files are the configuration files that exist: the user's own, and that of the project.
func (s *Settings) Files() (paths []string) {
	candidates := []string{userFile(s.getenv)}
	if s.location.Root != "" {
		candidates = append(candidates, projectFile(s.location.Root))
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}

// userSettings reads the settings of the user's own file, which need not be there.
func userSettings(getenv func(string) string) (*Settings, error) {
	s := newSettings()
	s.getenv = getenv
	if path := userFile(getenv); path != "" {
		if err := s.readFile(path, false); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// knowsBoard reports whether it is certain which board is meant, and that it is there, though
// the project's file is broken.
func (s *Settings) knowsBoard(broken error) bool {
	if s.DB != "" || IsServer(s.Board) {
		return true
	}
	by := s.Origin["board"]
	if e, ok := errors.AsType[*syntaxError](broken); ok && e.board && by != "--board" && by != "BOSSMAN_BOARD" {
		return false // the file may name a server
	}
	_, err := os.Stat(s.location.Path)
	return err == nil
}

// start is the directory where the search for the board begins, and what named it.
func start(flags Flags, getenv func(string) string) (from, by string, err error) {
	home := getenv("HOME")
	switch {
	case flags.Board != "":
		return expandHome(flags.Board, home), "--board", nil
	case getenv("BOSSMAN_BOARD") != "":
		return expandHome(getenv("BOSSMAN_BOARD"), home), "BOSSMAN_BOARD", nil
	case getenv("CLAUDE_PROJECT_DIR") != "":
		return getenv("CLAUDE_PROJECT_DIR"), "CLAUDE_PROJECT_DIR", nil
	}
	dir, err := os.Getwd()
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the current directory was deleted: change to another one, or name the board with --board")
	}
	return dir, "the working directory", err
}

// expandHome reads ~/ as shells do, for values that no shell has seen.
func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// WorkDir is where the agent works. If a board was named, that is the directory that it would
// have been searched from otherwise, as long as that is in a repository: who names the board
// of another project works in its own all the same. Clients that start their servers anywhere
// work where the board is. It is an error if the project of the directory is not the user's.
func (s *Settings) WorkDir() (string, error) {
	dir := s.workDir()
	at, err := locate(dir, "the directory of the work", s.getenv("HOME"))
	if err != nil {
		return dir, nil // there is no project, or the one that needs it says why it cannot be read
	}
	return dir, s.requireOwnProject(at)
}

func (s *Settings) workDir() string {
	named := s.location.From
	dir, _, err := start(Flags{}, func(key string) string {
		if key == "BOSSMAN_BOARD" {
			return ""
		}
		return s.getenv(key)
	})
	if err != nil {
		return named
	}
	if _, err := git.Find(dir); !errors.Is(err, git.ErrNoRepo) {
		return dir
	}
	if info, err := os.Stat(named); err == nil && info.IsDir() {
		return named
	}
	if s.location.Repository != s.location.Root {
		return s.location.Root
	}
	return dir
}
