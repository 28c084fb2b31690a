package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// requireOwn refuses a board that is not the user's, and files of others around it: they
// would decide what the user's agents do, and could speak as people. The person may name
// its directory as safe.
func (s *Settings) requireOwn() error {
	l := s.location
	if l.Root == "" || s.noBoard != nil {
		return nil
	}
	paths := []string{l.Root, filepath.Join(l.Root, ".bossman"), filepath.Dir(l.Path)}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock", ".queue", ".alive", ".owners"} {
		paths = append(paths, l.Path+suffix)
	}
	for _, path := range paths {
		if err := s.requireOwnFile(l, path); err != nil {
			return err
		}
	}
	if err := s.requireClosed(l); err != nil {
		return err
	}
	return s.requireOwnProject(l)
}

// requireClosed refuses a board that everybody may write.
func (s *Settings) requireClosed(l Location) error {
	if path := openToAll(l); path != "" && !s.isSafe(l.Root) {
		return console.Errorf(console.Denied, "if nobody else has changed it, run: chmod o-w "+console.ShellWords(path)+"; "+s.allow(l.Root),
			"everybody on this machine may write %q, and a board that others may have written is not used", path)
	}
	return nil
}

// requireOwnProject refuses the project of a directory if its configuration or its repository
// is not the user's: git runs there with the user's rights.
func (s *Settings) requireOwnProject(l Location) error {
	named := []string{l.Root}
	if l.repo != nil {
		named = append(named, l.repo.Dir, l.repo.Common)
	}
	for _, dir := range named {
		if console.OneLine(dir) != dir {
			return console.Errorf(console.Denied, "rename the directory", "the project in %q is not used: line breaks and hidden characters in the name of a directory could pass for our own words", dir)
		}
	}
	if err := s.requireOwnTrees(l.Root); err != nil {
		return err
	}
	paths := []string{filepath.Join(l.Root, ".bossman"), projectFile(l.Root)}
	if l.repo != nil {
		paths = append(paths, l.Root, l.repo.Dir, l.repo.Common, filepath.Join(l.Root, ".git"))
	}
	for _, path := range paths {
		if err := s.requireOwnFile(l, path); err != nil {
			return err
		}
	}
	if l.repo == nil {
		return nil
	}
	for _, path := range gitFiles(l.repo) {
		for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
			if info, err := stat(path); err == nil && owner(info) != "" && !s.isSafe(l.Root) {
				return console.Errorf(console.Denied, s.allow(l.Root), "%q belongs to %s, and a repository of others is not used", path, owner(info))
			}
		}
	}
	if l.repo.Foreign != "" && !s.isNamed(l.Root) {
		return console.Errorf(console.Denied, s.reclaim(l)+s.allow(l.Root), "the repository of %q is not used: %s", l.Root, l.repo.Foreign)
	}
	return nil
}

// reclaim says what to do about a repository that may belong to something else than its worktree, and
// ends where allow begins.
func (s *Settings) reclaim(l Location) string {
	if info, err := os.Lstat(l.repo.Claimant); err == nil && owner(info) != "" {
		return fmt.Sprintf("%q belongs to %s: leave your own .git as it is; ", l.repo.Claimant, owner(info))
	}
	return "if it is a worktree that was moved, or whose .git was replaced, delete a directory .git in it and run in its clone: git worktree repair " + console.ShellWords(l.Root) + "; otherwise "
}

// Own is an error if a worktree, whose top is root, is not used, because it is another user's or
// others could replace it. repo is nil if it is not made yet.
func (s *Settings) Own(root string, repo *git.Repo) error {
	l := Location{Root: root, repo: repo}
	if err := s.requireOwnFile(l, root); err != nil {
		return err
	}
	return s.requireOwnProject(l)
}

// requireOwnTrees refuses a worktree in a directory of worktrees, such as REPO.worktrees, that is
// another user's or that everybody may write: they could put anything in its place.
func (s *Settings) requireOwnTrees(root string) error {
	for dir := range parents(filepath.Dir(root)) {
		if !strings.HasSuffix(dir, ".worktrees") {
			continue
		}
		for between := range parents(filepath.Dir(root)) {
			if info, err := os.Lstat(between); err == nil && owner(info) != "" && !s.isSafe(root) {
				return console.Errorf(console.Denied, "move it elsewhere with git worktree move; "+s.allow(root), "%q belongs to %s, and a worktree in a directory of others is not used", between, owner(info))
			} else if err == nil && worldWritable(between) && hasPermissions(between) && !s.isSafe(root) {
				return console.Errorf(console.Denied, "if nobody else has changed it, run: chmod o-w "+console.ShellWords(between)+"; "+s.allow(root),
					"everybody on this machine may write %q, and a worktree there that others could replace is not used", between)
			}
			if between == dir {
				return nil
			}
		}
	}
	return nil
}

// requireOwnFile refuses a file or directory of a project if it is not the user's.
func (s *Settings) requireOwnFile(l Location, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // it is not there, or the one that needs it says why it cannot be read
	}
	if info.Mode()&fs.ModeSymlink != 0 && filepath.Base(path) != ".git" && path != projectFile(l.Root) {
		return console.Errorf(console.Denied, "remove the link; if you made it yourself, name the file that it leads to: --board PATH/board.db",
			"%q is a symbolic link, and a board is not followed through one", path)
	}
	if whose := owner(info); whose != "" && !s.isSafe(l.Root) {
		return console.Errorf(console.Denied, s.allow(l.Root), "%q belongs to %s, and a board or a configuration of others is not used", path, whose)
	}
	return nil
}

// gitFiles are the files and directories of a repository that decide what git reads and where
// work is, with the claim that is kept there.
func gitFiles(r *git.Repo) (paths []string) {
	for _, name := range []string{"HEAD", "config", "objects", "refs", "packed-refs"} {
		paths = append(paths, filepath.Join(r.Common, name))
	}
	for _, name := range []string{"HEAD", "index", "config.worktree", "bossman", filepath.Join("bossman", "claim.json")} {
		paths = append(paths, filepath.Join(r.Dir, name))
	}
	return paths
}

// openToAll returns the board's directory or file if everybody may write it, else "".
func openToAll(l Location) string {
	if worldWritable(l.Root) && !hasPermissions(l.Root) {
		return ""
	}
	for _, path := range []string{filepath.Dir(l.Path), l.Path, l.Path + "-wal", l.Path + "-shm", l.Path + "-journal"} {
		if _, err := os.Lstat(path); err == nil && worldWritable(path) {
			return path
		}
	}
	return ""
}

// allow says how to name a directory as safe.
func (s *Settings) allow(dir string) string {
	if isPattern(dir) {
		return "if you trust it, rename it: its name would mean all directories beside it"
	}
	next := "if you trust it, run: git config --global --add safe.directory " + console.ShellWords(dir)
	if file := userFile(s.getenv); file != "" {
		next += fmt.Sprintf(", or add to %q: [safe] directory = [%q]", file, dir)
	}
	return next
}

// isSafe reports whether the person named a directory as safe, for us or for git. As for
// git, * means all, and a name that ends in /* all below it.
func (s *Settings) isSafe(dir string) bool {
	match := func(safe string) bool {
		safe = expandHome(safe, s.getenv("HOME"))
		if below, ok := strings.CutSuffix(safe, "/*"); ok {
			return strings.HasPrefix(dir, below+"/")
		}
		return safe == "*" || filepath.Clean(safe) == dir
	}
	return s.anySafe(match)
}

// isNamed is isSafe for a directory's own name only: a pattern says whose files may be used, and
// not that a repository belongs to a directory.
func (s *Settings) isNamed(dir string) bool {
	return !isPattern(dir) && s.anySafe(func(safe string) bool { return filepath.Clean(expandHome(safe, s.getenv("HOME"))) == dir })
}

// isPattern reports whether a directory's name would mean others, too, as a safe directory.
func isPattern(dir string) bool { return strings.HasSuffix(dir, "/*") }

func (s *Settings) anySafe(match func(safe string) bool) bool {
	return slices.ContainsFunc(s.safe, match) || slices.ContainsFunc(s.gitSafe(), match)
}

// setSafe takes the section [safe] of the user's own file.
func (s *Settings) setSafe(v any) error {
	section, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("wrong type: want a section with a list of directories, got %.100q", fmt.Sprint(v))
	}
	for name, value := range section {
		if name != "directory" {
			return fmt.Errorf("%s: there is no such key", name)
		}
		if err := setWords(&s.safe, value); err != nil {
			return fmt.Errorf("directory: %w", err)
		}
	}
	return nil
}
