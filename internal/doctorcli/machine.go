package doctorcli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
)

// lookAtAgents looks at the agents on the PATH.
func (c *cli) lookAtAgents(ctx context.Context) {
	o := agent.FindOptions{Home: c.places.Home, Getenv: c.Getenv, Programs: c.programs()}
	found := agent.Find(ctx, o)
	for _, f := range found {
		check := "agent " + f.Name
		text := f.Title
		if f.Version != "" {
			text += " " + f.Version
		} else {
			text += fmt.Sprintf(" (version unknown: %v)", f.Err)
		}
		switch f.Login {
		case agent.LoggedOut:
			c.problem(check, text+" is not logged in, so it cannot work: it has no account and no key", f.LoginCommand)
		case agent.LoggedIn:
			c.ok(check, text+", logged in with "+f.By)
		default:
			c.ok(check, text)
		}
	}
	if len(found) == 0 {
		c.note("agents", "no agent that bossman work knows is on the PATH: claude, codex, gemini, opencode or copilot", "install one of them, or use bossman work -- COMMAND")
	}
}

// programs are those that are run to look at them: none of the project.
func (c *cli) programs() *git.Programs { return git.ProgramsOutside(c.location.Root, c.places.Project) }

// lookAtGit looks at git and at the worktrees of the repository.
func (c *cli) lookAtGit(context.Context) {
	version, landing, err := git.Version()
	repo, none := git.Find(c.location.Root)
	inRepo := c.location.Root != "" && none == nil
	switch _, old := errors.AsType[*git.OldError](err); {
	case errors.Is(err, git.ErrNoGit) && !inRepo:
		c.note("git", "git is not on the PATH; bossman work and bossman land need it", "install git 2.38 or newer")
	case errors.Is(err, git.ErrNoGit):
		c.problem("git", err.Error()+", so work in this repository cannot be looked at", "install git 2.38 or newer")
	case old:
		c.problem("git", err.Error()+", because an older one also reads configuration that it is told to ignore", "install git 2.38 or newer")
	case err != nil:
		c.fail("git", err, "install git 2.38 or newer")
	case landing != nil:
		c.note("git", landing.Error()+"; all else works", "install git 2.38 or newer")
	default:
		c.ok("git", version)
	}
	if !inRepo {
		return
	}
	orphans := repo.Orphans()
	for _, o := range orphans {
		if o.Gone {
			c.problem("worktrees", fmt.Sprintf("%s is gone, and git still has it as a worktree: its branch cannot be checked out elsewhere", c.tilde(o.Root)),
				"if it was moved: git worktree repair NEWDIR; otherwise: git -C "+console.ShellWords(repo.Root)+" worktree prune")
			continue
		}
		c.problem("worktrees", fmt.Sprintf("%s says that it is a worktree of a repository that does not have it: no slot can use that directory", c.tilde(o.Root)),
			"if the repository was moved: git -C "+console.ShellWords(repo.Root)+" worktree repair "+console.ShellWords(o.Root)+"; otherwise look at its files, and delete it")
	}
	if len(orphans) == 0 {
		c.ok("worktrees", console.Count(max(0, len(repo.Worktrees())), "worktree"))
	}
}

const (
	// fullBelow is the free space with which a disk counts as full, and lowBelow that with which it will be soon.
	fullBelow, lowBelow = 32 << 20, 512 << 20
	mega                = 1 << 20
)

// lookAtDisk looks at the space for the board, for worktrees and for what is remembered.
func (c *cli) lookAtDisk(context.Context) {
	dirs := []string{config.StateDir(c.Getenv)}
	if c.location.Path != "" {
		dirs = []string{filepath.Dir(c.location.Path), c.location.Root + ".worktrees", config.StateDir(c.Getenv)}
	}
	seen := map[space]bool{}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = existing(dir)
		s, ok := free(dir)
		if !ok || seen[s] {
			continue
		}
		seen[s] = true
		switch {
		case s.bytes < fullBelow:
			c.problem("disk", fmt.Sprintf("the disk of %s is full (%s left), so nothing can be recorded there", c.tilde(dir), bytesText(s.bytes)), "free space on that disk: df -h "+console.ShellWords(dir))
		case s.noFiles:
			c.problem("disk", fmt.Sprintf("the disk of %s has no room for another file, so nothing can be recorded there", c.tilde(dir)), "delete files on that disk: df -i "+console.ShellWords(dir))
		case s.bytes < lowBelow:
			c.note("disk", fmt.Sprintf("the disk of %s has %s left", c.tilde(dir), bytesText(s.bytes)), "free space on that disk: df -h "+console.ShellWords(dir))
		default:
			c.ok("disk", fmt.Sprintf("%s left for %s", bytesText(s.bytes), c.tilde(dir)))
		}
	}
}

// existing is the closest directory at or above dir that exists.
func existing(dir string) string {
	for {
		_, err := os.Stat(dir)
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return dir
		}
		dir = up
	}
}

// A space is what is left on a disk. Two directories with the same are taken to be on one disk.
type space struct {
	bytes   uint64
	noFiles bool
	disk    uint64 // its size
}

// bytesText is a number of bytes for people.
func bytesText(n uint64) string {
	switch {
	case n < mega:
		return fmt.Sprintf("%d KB", n>>10)
	case n < 10<<30:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}
