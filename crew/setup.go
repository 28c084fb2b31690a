package crew

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// setUp prepares the slot's worktree, which has the base of the job, with the project's setup, unless
// that has succeeded there, none of the files that it depends on has changed, and every submodule is
// checked out that was after it. left is the commit that the last job left in the worktree: its agent
// may have installed what belongs to that.
//
// What the setup leaves in files that git ignores stays, for later jobs, too. Everything else is put
// back as it was: else it would be taken for the agent's work, and be missing in the next job.
func (j *job) setUp(ctx context.Context, tree *git.Repo, left string) error {
	if j.r.o.Setup == nil {
		return nil
	}
	command, when, _, err := j.r.o.Setup()
	if err != nil || len(command) == 0 {
		return err
	}
	now, err := tree.Print(ctx, j.kept.Base, command, when)
	if err != nil {
		return err
	}
	state, err := tree.Prepared(ctx, now)
	if err != nil {
		return err
	}
	if then, err := tree.Print(ctx, left, command, when); err == nil && then == now && j.kept.Setup == state {
		return nil
	}
	j.kept.Setup = ""
	if err := j.keep(); err != nil {
		return err
	}
	failed := j.runSetup(ctx, command)
	red, ok := errors.AsType[*redSetup](failed)
	if failed != nil && (!ok || !j.changesSetup(ctx, tree, now, command, when)) {
		return failed
	}
	if snap, err := tree.Snapshot(ctx, j.r.o.Accept); err == nil {
		before, err := tree.Tree(ctx, j.kept.Base)
		paths, err2 := tree.Changed(ctx, before, snap.Tree, maxSetupPaths)
		if err == nil && err2 == nil && len(paths) > 0 {
			j.tell(Trouble, fmt.Sprintf("the setup changed files that git does not ignore, and they were put back: %q", paths))
		}
	}
	if err := tree.Checkout(ctx, j.kept.Branch, j.kept.Base, false, j.r.o.Accept); err != nil {
		return fmt.Errorf("the worktree cannot be made clean after the setup: %w", err)
	}
	if failed != nil {
		j.tell(Trouble, "the agent starts though the work so far has changed what the setup depends on: "+failed.Error())
		j.unprepared = fmt.Sprintf(" The project's setup failed in this worktree, exit status %d, and the work so far has changed what it depends on: find out whether that is why. Its last output: %q.",
			red.exit, visible.Line(red.output[max(0, len(red.output)-maxRedOutput):]))
		return nil
	}
	j.kept.Setup, err = tree.Prepared(ctx, now)
	return err
}

// changesSetup reports whether the work that the job goes on with has changed what the setup depends
// on, so that only an attempt at its task can repair a setup that fails there.
func (j *job) changesSetup(ctx context.Context, tree *git.Repo, now string, command, when []string) bool {
	head, err := j.r.head(ctx)
	if err != nil || j.kept.Fresh {
		return false
	}
	there, err := tree.Print(ctx, head, command, when)
	return err == nil && (there != now || len(when) == 0) // without a list it depends on everything
}

// A redSetup is a setup that ran to its end and did not succeed.
type redSetup struct {
	exit   int
	output string
}

func (e *redSetup) Error() string {
	return fmt.Sprintf("the project's setup failed, exit status %d%s", e.exit, e.output)
}

// maxRedOutput bounds how much of a setup's last output an agent reads at its start, in bytes.
const maxRedOutput = 600

// maxSetupPaths bounds how many files are named that a setup changed, or that were not copied.
const maxSetupPaths = 10

// include copies the files to the slot's worktree that git ignores and that agents need, from the
// main worktree, or from the one that the runner is in, if the repository is bare.
func (j *job) include(ctx context.Context, tree *git.Repo) {
	from := j.r.o.Repo
	if main, ok := git.Main(from.Common); ok && !main.Bare {
		from = main
	}
	left, err := tree.Include(ctx, from)
	if err != nil && ctx.Err() == nil {
		j.tell(Trouble, fmt.Sprintf("the files that %s names were not copied: %v", git.IncludeFile, err))
	}
	if n := len(left); n > maxSetupPaths {
		left = append(left[:maxSetupPaths], fmt.Sprintf("and %d more", n-maxSetupPaths))
	}
	if len(left) > 0 {
		j.tell(Trouble, fmt.Sprintf("%s: left out %s", git.IncludeFile, strings.Join(left, "; ")))
	}
}

// runSetup runs a setup until it has ended. The error is one of the environment.
func (j *job) runSetup(ctx context.Context, words []string) error {
	words = slices.Clone(words)
	if strings.Contains(words[0], "/") && !filepath.IsAbs(words[0]) { // one of the repository's own
		words[0] = filepath.Join(j.dir, filepath.FromSlash(words[0]))
	}
	program, err := agent.Command(words)
	if err != nil {
		return fmt.Errorf("the project's setup cannot run: %w", err)
	}
	j.tell(Said, "the project's setup prepares the worktree")
	session, err := program.Start(agent.Job{Dir: j.dir, Env: j.environ(), Mind: j.r.mind})
	if err != nil {
		return fmt.Errorf("the project's setup cannot run: %w", err)
	}
	last, why := j.attend(ctx, session)
	switch end := last.Ending; {
	case end.Err != nil || end.Left > 0:
		j.kept.Unsafe = "a process of the setup may still write into it"
		return errors.Join(fmt.Errorf("processes of the project's setup could not be ended: %s%s", j.kept.Unsafe, output(last)), end.Err, why)
	case why != nil:
		return fmt.Errorf("the project's setup was ended: %w%s", why, output(last))
	case end.Signal != "":
		return fmt.Errorf("the project's setup was ended by a signal (%s)%s", end.Signal, output(last))
	case end.Exit != 0:
		return &redSetup{end.Exit, output(last)}
	}
	return nil
}

// attend keeps the claim of the job while a setup runs, and ends that when the runner ends, the claim
// does, or it takes too long. why says why it was ended.
func (j *job) attend(ctx context.Context, session agent.Session) (last agent.Event, why error) {
	tick := time.NewTicker(min(look, max(j.h.Claim.Lease/4, 100*time.Millisecond)))
	defer tick.Stop()
	began, stopped := time.Now(), ctx.Done()
	end := func(err error) {
		if why == nil {
			why = err
			go session.End()
		}
	}
	for {
		select {
		case e, ok := <-session.Events():
			if !ok {
				return last, why
			}
			if last = e; e.Kind == agent.Activity && e.Text != "" {
				j.tell(Said, "setup: "+e.Text)
			}
			continue
		case <-stopped:
			stopped = nil
			end(errEnded)
			continue
		case <-tick.C:
		}
		if limit := j.r.o.Limits.Setup; limit > 0 && time.Since(began) > limit {
			end(fmt.Errorf("it took longer than %v", limit))
		}
		held, err := j.r.o.Board.Renew(ctx, j.seat.Actor.Owner, true)
		if err == nil && !slices.ContainsFunc(held, func(c board.Claim) bool { return c.Handle == j.h.Claim.Handle }) {
			end(errLost)
		}
	}
}
