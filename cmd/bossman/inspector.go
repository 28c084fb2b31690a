package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/config"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/tools"
)

// checkTail is how many bytes of a check's output an agent is shown.
const checkTail = 2000

// An inspector looks at the work in a directory of this machine.
type inspector struct {
	*check.Inspector
}

var _ tools.Inspector = inspector{}

// newInspector returns an inspector of a directory. The caller closes its Runner.
func newInspector(dir string, s *config.Settings, getenv func(string) string) inspector {
	runner := newCheckRunner(getenv)
	if repo, err := git.Find(dir); err == nil {
		return inspectorOf(dir, repo.Common, repo.Root, s, runner)
	}
	return inspectorOf(dir, "", "", s, runner)
}

// inspectorOf returns an inspector of a directory, which is in the worktree root.
func inspectorOf(dir, common, root string, s *config.Settings, runner *check.Runner) inspector {
	at := s.CheckAt
	if common == "" {
		at = s.CheckOutside
	}
	return inspector{&check.Inspector{
		Dir: dir, Common: common, Root: root, Own: s.Own, Notes: s.NotesDir(), Withhold: s.Review.NoDiff, Runner: runner, Slots: crew.Seen,
		InForce: func(home string) (*check.Check, string, error) { return checkInForce(at, home) },
		Accepts: func(home, command string) bool {
			s, err := at(home)
			return err == nil && s.Trust.Accepts(command)
		},
	}}
}

// newCheckRunner returns a runner of checks that takes its turn with those of other processes.
func newCheckRunner(getenv func(string) string) *check.Runner {
	locks := config.StateDir(getenv)
	if locks != "" {
		locks = filepath.Join(locks, "check")
	}
	o := &check.Options{Locks: locks}
	if self, err := os.Executable(); err == nil {
		o.Self = []string{self, "minder"}
	}
	return check.NewRunner(o)
}

// checkInForce returns the check that decides whether work in a directory is done, nil if
// there is none. why says why a configured one is not in force.
func checkInForce(at func(string) (config.CheckState, error), dir string) (c *check.Check, why string, err error) {
	state, err := at(dir)
	if err != nil {
		return nil, "", err
	}
	if state.InForce == nil {
		if state.Proposed != nil {
			return nil, "a person can read and accept it with: bossman trust", nil
		}
		return nil, "", nil
	}
	f := state.InForce
	c = &check.Check{Name: "tests", Command: f.Command, Wrap: f.Wrap, Timeout: f.Timeout, Env: f.Env, Filters: state.Trust.Accepts}
	if f.Line {
		c.Command = check.Shell(f.Command[0])
	}
	return c, "", nil
}

// Place implements tools.Inspector.
func (i inspector) Place(ctx context.Context, w board.Work, branch string) (board.Where, error) {
	at, err := i.Inspector.Place(ctx, w, branch)
	return at, placeError(err)
}

// Verify implements tools.Inspector.
func (i inspector) Verify(ctx context.Context, w board.Work, evidence []board.Evidence) (observed []board.Evidence, faults []string, err error) {
	observed, faults, err = i.Inspector.Verify(ctx, w, evidence)
	return observed, faults, placeError(err)
}

// Elsewhere implements tools.Inspector.
func (i inspector) Elsewhere(ctx context.Context, w board.Work, taken func(at board.Where, idle board.Idle) bool) (places []board.Where, idle board.Idle, err error) {
	places, idle, err = i.Inspector.Elsewhere(ctx, w, taken)
	return places, idle, placeError(err)
}

// Command implements tools.Inspector.
func (i inspector) Command() (command, why string) {
	c, untrusted, err := i.InForce(i.Home())
	if err == nil && i.Common != "" {
		err = git.Installed()
	}
	switch {
	case err != nil:
		err = placeError(err)
		if e, ok := errors.AsType[*board.PlaceError](err); ok {
			return "", fmt.Sprintf("%s Reports are refused until somebody does this: %s.", e.Why, e.Next)
		}
		return "", fmt.Sprintf("The check cannot run: %v.", err)
	case c != nil:
		command = c.String()
	case untrusted != "":
		why = "The project's check does not run, because no person has accepted it."
	}
	if root := i.NewRepo(); root != "" {
		why += fmt.Sprintf(" The repository in %.200q was not there when this server started, and is not used: commits are not looked at until the MCP client reconnects.", root)
	}
	return command, strings.TrimPrefix(why, " ")
}

// placeError is an error of package check for package tools, which does not know it.
func placeError(err error) error {
	if errors.Is(err, git.ErrNoGit) {
		return &board.PlaceError{Why: fmt.Sprintf("Work cannot be looked at: %v.", err), Next: check.NextInstall}
	}
	if e, ok := errors.AsType[*git.Error](err); ok {
		return &board.PlaceError{Why: fmt.Sprintf("The work cannot be looked at: %s.", strings.TrimRight(e.Error(), ". ")), Next: "repair what git says and report again; if you cannot, ask a person to look at the repository"}
	}
	if e, ok := errors.AsType[*console.Error](err); ok { // which check is in force cannot be said
		return &board.PlaceError{Why: "The check cannot run: " + e.Error() + ".", Next: cmp.Or(e.Next, "ask a person to look at it")}
	}
	return err
}

// checkNotice is how often a client hears that a check still runs.
const checkNotice = 5 * time.Second

// Check implements tools.Inspector.
func (i inspector) Check(ctx context.Context, w board.Work, d time.Duration, waiting func(took time.Duration, behind string) bool) (tools.CheckResult, error) {
	if c, _, err := i.InForce(i.Home()); err == nil && c != nil {
		waiting(0, "")
	}
	run, c, why, err := i.Run(ctx, w)
	switch {
	case err != nil:
		return tools.CheckResult{}, placeError(err)
	case c == nil && why != "":
		return tools.CheckResult{State: tools.CheckUntrusted, Reason: why}, nil
	case c == nil:
		return tools.CheckResult{State: tools.CheckNone}, nil
	}
	res := tools.CheckResult{State: tools.CheckRunning, Command: c.String(), Run: run.ID}
	v, ok := check.Verdict{}, false
	notice := time.Second // that it waits for another one is said soon
	for deadline := time.Now().Add(d); !ok && ctx.Err() == nil; notice = checkNotice {
		left := time.Until(deadline)
		if left <= 0 {
			break
		}
		if v, ok = run.Wait(ctx, min(left, notice)); !ok && !waiting(run.Ran()) {
			run.Stop()
			v, ok = run.Wait(ctx, 0)
		}
	}
	if !ok {
		res.Took, res.Behind = run.Ran()
		return res, nil
	}
	res.Took, res.Tail, res.Reason, res.Tree = v.Took, v.Last(checkTail), v.Why, v.Tree
	if v.Result == check.Changed || v.Result == check.NotJudged {
		i.NoteWritten(ctx, w, v)
	}
	switch v.Result {
	case check.Green:
		if res.Evidence, res.Loose, err = i.Confirm(ctx, w, c, v); err != nil {
			return tools.CheckResult{}, placeError(err)
		}
		res.State = tools.CheckGreen
	case check.Waived:
		res.State = tools.CheckWaived
	case check.Red:
		res.State, res.Reason = tools.CheckRed, fmt.Sprintf("exit status %d", v.Exit)
	case check.Changed:
		res.State, res.Loose = tools.CheckChanged, v.Paths
	case check.Stopped:
		res.State, res.Late = tools.CheckStopped, v.Late
	default:
		res.State = tools.CheckNotJudged
	}
	return res, nil
}
