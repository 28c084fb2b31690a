package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/proc"
)

const (
	// endGrace is how long a check that is told to end may clean up.
	endGrace = 5 * time.Second
	// maxPaths bounds the list of files that changed.
	maxPaths = 10
	// remembered bounds how many verdicts are kept.
	remembered = 1000
)

// A Runner runs checks. Its methods may be called from many goroutines.
type Runner struct {
	slots *slots

	mu       sync.Mutex
	running  map[string]*Run // by directory and check name
	verdicts map[string]Verdict
	wg       sync.WaitGroup
}

// Options are the optional settings of a Runner.
type Options struct {
	// Locks is a directory for the files that bound how many checks run at once on
	// the machine. Empty: only this Runner's are bounded.
	Locks string
	// Parallel is how many checks may run at once, 1 if zero.
	Parallel int
}

// NewRunner makes a Runner.
func NewRunner(o *Options) *Runner {
	if o == nil {
		o = &Options{}
	}
	return &Runner{slots: newSlots(o.Locks, max(o.Parallel, 1)), running: map[string]*Run{}, verdicts: map[string]Verdict{}}
}

// Close stops all runs and waits for their processes to end.
func (r *Runner) Close() {
	r.mu.Lock()
	for _, run := range r.running {
		run.stop()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// A Run is a check that is under way, or has ended.
type Run struct {
	// Tree is the tree that is judged.
	Tree string

	began   atomic.Pointer[time.Time] // nil while it waits for other runs
	check   *Check
	cancel  context.CancelFunc
	done    chan struct{}
	verdict Verdict // valid after done
}

// Check begins to check a directory as it is now. It joins a run of the same check in the
// same place that is under way; what changes meanwhile, the run notices at its end. If
// the content was found green before, the run has ended already. repo is nil for a
// directory outside git, whose content is not compared. The run goes on when ctx ends.
func (r *Runner) Check(ctx context.Context, dir string, repo *git.Repo, c *Check) *Run {
	place := dir + "\x00" + c.Name
	if repo != nil {
		dir = repo.Root
		place = repo.Root + "\x00" + c.Name
	}
	r.mu.Lock()
	if run := r.running[place]; run != nil && run.check.key() == c.key() {
		r.mu.Unlock()
		return run
	}
	r.mu.Unlock()
	s, err := snapshot(ctx, repo)
	if err != nil {
		return ended(c, Verdict{Result: NotJudged, Exit: -1, Why: err.Error()})
	}
	key := s.Tree + " " + c.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.running[place]
	if before != nil {
		if before.check.key() == c.key() {
			return before
		}
		before.stop()
	}
	if v, ok := r.verdicts[key]; ok && v.Result == Green && s.Tree != "" {
		return ended(c, v)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run := &Run{Tree: s.Tree, check: c, cancel: cancel, done: make(chan struct{})}
	r.running[place] = run
	r.wg.Go(func() {
		defer cancel()
		if before != nil {
			<-before.done // two runs in one worktree would get in each other's way
		}
		v := r.judge(life, run, dir, repo, s)
		r.mu.Lock()
		if r.verdicts[key].Result == Red && v.Result == Green {
			v.Flaky = true
		}
		if (v.Result == Green || v.Result == Red) && s.Tree != "" {
			if len(r.verdicts) >= remembered {
				clear(r.verdicts)
			}
			r.verdicts[key] = v
		}
		if r.running[place] == run {
			delete(r.running, place)
		}
		r.mu.Unlock()
		run.verdict = v
		close(run.done)
	})
	return run
}

// ended is a run that has its verdict.
func ended(c *Check, v Verdict) *Run {
	run := &Run{Tree: v.Tree, check: c, cancel: func() {}, done: make(chan struct{}), verdict: v}
	close(run.done)
	return run
}

// snapshot is the content of a worktree; outside git there is nothing to compare.
func snapshot(ctx context.Context, repo *git.Repo) (git.Snapshot, error) {
	if repo == nil || repo.Bare {
		return git.Snapshot{}, nil
	}
	return repo.Snapshot(ctx)
}

func (run *Run) stop() { run.cancel() }

// Done is closed when the run has ended.
func (run *Run) Done() <-chan struct{} { return run.done }

// Wait waits for the run to end, for ctx or for d. It reports whether the run has
// ended.
func (run *Run) Wait(ctx context.Context, d time.Duration) (Verdict, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-run.done:
		return run.verdict, true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-run.done:
		return run.verdict, true
	default:
		return Verdict{}, false
	}
}

// Ran returns how long the command has run. queued is set if it has not begun, because it
// waits for another check.
func (run *Run) Ran() (took time.Duration, queued bool) {
	began := run.began.Load()
	if began == nil {
		return 0, true
	}
	return time.Since(*began), false
}

// judge runs the command and looks whether the worktree stayed as it was.
func (r *Runner) judge(ctx context.Context, run *Run, dir string, repo *git.Repo, s git.Snapshot) (v Verdict) {
	v = Verdict{Tree: s.Tree, Base: s.Base, Exit: -1}
	release, err := r.slots.take(ctx)
	if err != nil {
		v.Result, v.Why = Stopped, "it was stopped before it began"
		if ctx.Err() == nil {
			v.Result, v.Why = NotJudged, err.Error()
		}
		return v
	}
	defer release()
	run.began.Store(new(time.Now()))
	run.check.run(ctx, dir, &v)
	v.Took, _ = run.Ran()
	if v.Result != Green && v.Result != Red {
		return v
	}
	after, err := snapshot(ctx, repo)
	switch {
	case ctx.Err() != nil:
		v.Result, v.Why = Stopped, "it was stopped"
	case err != nil:
		v.Result, v.Why = NotJudged, err.Error()
	case after.Tree != s.Tree:
		v.Result, v.Why = Changed, "files changed while it ran"
		v.Paths, _ = repo.Changed(ctx, s.Tree, after.Tree, maxPaths)
	}
	return v
}

// run runs the command in a directory and fills the verdict in.
func (c *Check) run(ctx context.Context, dir string, v *Verdict) {
	words := slices.Concat(c.Wrap, c.Command)
	if len(words) == 0 {
		v.Result, v.Why = NotJudged, "there is no command"
		return
	}
	out := &tail{limit: maxTail}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, c.environment(), out, out
	if cmd.Err != nil && !errors.Is(cmd.Err, exec.ErrDot) {
		v.Result, v.Why = NotJudged, fmt.Sprintf("%.200q was not found", words[0])
		return
	}
	tree, err := proc.Start(cmd)
	if err != nil {
		v.Result, v.Why = NotJudged, fmt.Sprintf("%.200q could not be started: %v", words[0], err)
		return
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-tree.Done():
	case <-timer.C:
		v.Result, v.Why = NotJudged, fmt.Sprintf("it took longer than %v", limit)
	case <-ctx.Done():
		v.Result, v.Why = Stopped, "it was stopped"
	}
	tree.End(endGrace)
	v.Tail = out.String()
	if v.Result != "" {
		return
	}
	_ = tree.Wait()
	state := cmd.ProcessState
	v.Exit = state.ExitCode()
	switch {
	case v.Exit == 0:
		v.Result = Green
	case v.Exit < 0:
		v.Result, v.Why = NotJudged, "it was killed: "+state.String()
	case v.Exit >= 125:
		v.Result, v.Why = NotJudged, fmt.Sprintf("exit status %d%s", v.Exit, meaning(v.Exit))
	case diskFull(dir) || diskFull(os.TempDir()):
		v.Result, v.Why = NotJudged, "the disk is full"
	default:
		v.Result = Red
	}
}

// meaning is what shells mean by an exit status.
func meaning(exit int) string {
	switch {
	case exit == 126:
		return ": a program could not be run"
	case exit == 127:
		return ": a program was not found"
	case exit > 128:
		return fmt.Sprintf(": killed by signal %d", exit-128)
	}
	return ""
}

// slots bound how many checks run at once.
type slots struct {
	own   chan struct{}
	files []string
}

func newSlots(dir string, n int) *slots {
	s := &slots{own: make(chan struct{}, n)}
	for i := range n {
		if dir != "" {
			s.files = append(s.files, filepath.Join(dir, fmt.Sprintf("check.%d.lock", i+1)))
		}
	}
	return s
}

// lockPause is the pause between two tries to get a lock file.
const lockPause = 100 * time.Millisecond

// take waits for a slot, and returns what gives it back.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s.own <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	free := func() { <-s.own }
	if len(s.files) == 0 {
		return free, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.files[0]), 0o700); err != nil {
		free()
		return nil, err
	}
	for {
		for _, path := range s.files {
			unlock, ok, err := proc.TryLock(path)
			if err != nil {
				free()
				return nil, err
			}
			if ok {
				return func() { unlock(); free() }, nil
			}
		}
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			free()
			return nil, ctx.Err()
		}
	}
}
