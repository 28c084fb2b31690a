package crew

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/proc"
)

// begin notes the run, so that a later one can end what is left of it, and ends what is left of
// earlier ones.
func (r *Runner) begin() (unlock func(), err error) {
	if err := r.o.Repo.FormatError(); err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(r.slotsDir()), r.slotsDir()} {
		if err := git.MakeDir(dir); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(r.o.State, "runs")
	if err := os.MkdirAll(r.o.State, 0o700); err != nil {
		return nil, err
	}
	if err := git.MakeDir(dir); err != nil {
		return nil, err
	}
	runs, err := plaindir.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := plaindir.Entries(runs)
	if err != nil {
		runs.Close()
		return nil, err
	}
	for _, e := range entries {
		free, ok, err := proc.TryLockIn(runs, e.Name())
		if err != nil || !ok {
			continue // it runs
		}
		switch n := proc.EndRun(e.Name()); {
		case n == 1:
			r.o.Report(Event{Kind: Trouble, Text: "a process of an earlier run that had died was ended"})
		case n > 1:
			r.o.Report(Event{Kind: Trouble, Text: fmt.Sprintf("%d processes of an earlier run that had died were ended", n)})
		}
		_ = runs.Remove(e.Name())
		free()
	}
	for {
		free, ok, err := proc.TryLockIn(runs, r.run)
		if err != nil {
			runs.Close()
			return nil, fmt.Errorf("%q cannot be locked: %w", filepath.Join(dir, r.run), err)
		}
		if _, err := runs.Lstat(r.run); err != nil || !ok { // another run that begins took it for that of a dead one
			if ok {
				free()
			}
			time.Sleep(lockPause)
			continue
		}
		return func() {
			_ = runs.Remove(r.run)
			free()
			runs.Close()
		}, nil
	}
}

// lockPause is the pause between two attempts at the lock of a run.
const lockPause = 10 * time.Millisecond
