package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
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
	self  []string

	mu       sync.Mutex
	running  map[string][]*Run // by directory and check name, the oldest first
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
	// Self is the command line of this program that calls proc.RunMinder: a check runs under a
	// minder then, and nothing of it outlives it. Without one, and on Windows, a process that
	// has left its group and cleared its environment does.
	Self []string
}

// NewRunner makes a Runner.
func NewRunner(o *Options) *Runner {
	if o == nil {
		o = &Options{}
	}
	return &Runner{slots: newSlots(o.Locks, max(o.Parallel, 1)), self: o.Self, running: map[string][]*Run{}, verdicts: map[string]Verdict{}}
}

// Close stops all runs and waits for their processes to end.
func (r *Runner) Close() {
	r.mu.Lock()
	for _, runs := range r.running {
		for _, run := range runs {
			run.cancel()
		}
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// Stop stops the runs in a directory, the root of a worktree, and waits for their processes to
// end.
func (r *Runner) Stop(dir string) {
	var stopped []*Run
	r.mu.Lock()
	for place, runs := range r.running {
		if root, _, _ := strings.Cut(place, "\x00"); root == dir {
			stopped = append(stopped, runs...)
		}
	}
	r.mu.Unlock()
	for _, run := range stopped {
		run.Stop()
	}
}

// A Run is a check that is under way, or has ended.
type Run struct {
	// ID tells it from other runs, also of other processes.
	ID      string
	began   atomic.Pointer[time.Time] // nil before the command was started
	behind  atomic.Pointer[string]    // what it waits for until then
	check   *Check
	claim   string
	cancel  context.CancelFunc
	done    chan struct{}
	verdict Verdict // valid after done
}

// Check begins to check a directory as it is now, for a claim. It joins a run of the same check
// in the same place that is under way for the same claim; what changes meanwhile, the run notices
// at its end. A run for another claim, which may have ended, is waited for. If the content was
// found green before, byte for byte, the command is not run again, unless the check says otherwise.
// repo is nil for a directory outside git, whose content is not compared. The run goes on when ctx ends.
func (r *Runner) Check(ctx context.Context, dir string, repo *git.Repo, c *Check, claim string) *Run {
	place := dir + "\x00" + c.Name
	if repo != nil {
		dir = repo.Root
		place = repo.Root + "\x00" + c.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := slices.Clone(r.running[place])
	for _, other := range before {
		switch {
		case other.check.key() != c.key():
			other.cancel()
		case other.claim == claim:
			return other
		}
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run := &Run{ID: rand.Text(), check: c, claim: claim, cancel: cancel, done: make(chan struct{})}
	run.waits("git reads the files of the worktree")
	if len(before) > 0 {
		run.waits("it waits for another check of this worktree")
	}
	r.running[place] = append(r.running[place], run)
	r.wg.Go(func() {
		defer cancel()
		for _, other := range before { // two runs in one worktree would get in each other's way
			select {
			case <-other.done:
			case <-life.Done():
			}
		}
		run.waits("git reads the files of the worktree")
		v := r.judge(life, run, dir, repo)
		r.mu.Lock()
		r.running[place] = slices.DeleteFunc(r.running[place], func(other *Run) bool { return other == run })
		if len(r.running[place]) == 0 {
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
	run := &Run{check: c, cancel: func() {}, done: make(chan struct{}), verdict: v}
	close(run.done)
	return run
}

// limit is how long the command, and each step around it, may take.
func (c *Check) limit() time.Duration {
	if c.Timeout <= 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// Stop stops the run and waits for its processes to end.
func (run *Run) Stop() {
	run.cancel()
	<-run.done
}

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

// waits notes what the run waits for.
func (run *Run) waits(what string) { run.behind.Store(&what) }

// Ran returns how long the command has run. Until it begins, behind is what it waits for, half
// a sentence.
func (run *Run) Ran() (took time.Duration, behind string) {
	began := run.began.Load()
	if began == nil {
		return 0, *run.behind.Load()
	}
	return time.Since(*began), ""
}

// judge runs the command and looks whether the worktree stayed as it was.
func (r *Runner) judge(ctx context.Context, run *Run, dir string, repo *git.Repo) (v Verdict) {
	c := run.check
	s, err := c.read(ctx, repo)
	v = Verdict{Tree: s.Tree, Base: s.Base, Exit: -1, claim: run.claim, at: time.Now()}
	if err != nil {
		v.Result, v.Why = failed(ctx, err)
		return v
	}
	key := s.judged() + " " + c.key()
	if c.Here {
		key += " " + dir
	}
	r.mu.Lock()
	known := r.verdicts[key]
	r.mu.Unlock()
	if known.Result == Green && s.Tree != "" && !c.Again {
		if known.claim != run.claim {
			task, _, _ := strings.Cut(known.claim, "/")
			known.Before = fmt.Sprintf("judged before, in %s, at %s; not run again", task, known.at.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
		known.Base = s.Base
		return known
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.limit(), errBusy)
	release, err := r.slots.take(wait, dir, c.limit(), run.waits)
	cancel()
	if errors.Is(err, errBusy) {
		_, behind := run.Ran()
		v.Result, v.Late, v.Why = Stopped, true, fmt.Sprintf("it has not begun within %v: %s", c.limit(), behind)
		return v
	}
	if err != nil {
		v.Result, v.Why = failed(ctx, err)
		return v
	}
	defer release()
	defer func() {
		if v.Result != Green && v.Result != Red || s.Tree == "" {
			return
		}
		v.Flaky = known.Result == Red && v.Result == Green
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.verdicts) >= remembered {
			clear(r.verdicts)
		}
		r.verdicts[key] = v
	}()
	run.began.Store(new(time.Now()))
	c.run(ctx, dir, r.self, &v)
	v.Took, _ = run.Ran()
	if v.Result != Green && v.Result != Red {
		return v
	}
	after, err := c.read(ctx, repo)
	if err == nil && (c.Adds || v.Result == Red) && after.key() != s.key() { // no new file makes red green
		after, err = after.withoutNew(ctx, repo, s)
	}
	switch {
	case err != nil:
		v.Result, v.Why = failed(ctx, err)
	case after.key() != s.key():
		v.Result, v.Why = Changed, "files changed while it ran"
		v.Paths = s.changed(ctx, repo, after)
	}
	return v
}

// errBusy means that other checks took all the time that a check may wait.
var errBusy = errors.New("other checks are running")

// failed is the result of a check that err kept from judging.
func failed(ctx context.Context, err error) (Result, string) {
	if ctx.Err() != nil {
		return Stopped, "it was stopped"
	}
	if errors.Is(err, git.ErrNoCommitInside) {
		return Stopped, err.Error() + "; commit in it, remove its .git, or ignore it"
	}
	if _, ok := errors.AsType[*git.UnreadableError](err); ok {
		return Stopped, err.Error() + "; make that readable, remove it, or ignore it"
	}
	return NotJudged, err.Error()
}

// run runs the command in a directory and fills the verdict in.
func (c *Check) run(ctx context.Context, dir string, self []string, v *Verdict) {
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
	done, end, err := start(cmd, self)
	if errors.Is(err, proc.ErrReplaced) { // which is no fault of the work
		v.Result, v.Why = Stopped, err.Error()
		return
	}
	if err != nil {
		v.Result, v.Why = NotJudged, fmt.Sprintf("%.200q could not be started: %v", words[0], err)
		return
	}
	limit := c.limit()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		v.Result, v.Why = NotJudged, fmt.Sprintf("it took longer than %v", limit)
	case <-ctx.Done():
		v.Result, v.Why = Stopped, "it was stopped"
	}
	ending := end()
	v.Tail = out.String()
	if v.Result != "" {
		return
	}
	v.Exit = ending.Exit
	switch {
	case ending.Err != nil:
		v.Result, v.Why = NotJudged, ending.Err.Error()
	case ending.Left > 0:
		v.Result, v.Why = NotJudged, "processes that it started could not be ended"
	case v.Exit == 0:
		v.Result = Green
	case v.Exit < 0:
		v.Result, v.Why = NotJudged, "it was killed: signal: "+ending.Signal
	case v.Exit >= 125:
		v.Result, v.Why = NotJudged, fmt.Sprintf("exit status %d%s", v.Exit, meaning(v.Exit))
	case diskFull(dir) || diskFull(os.TempDir()):
		v.Result, v.Why = NotJudged, "the disk is full"
	default:
		v.Result = Red
	}
}

// start starts a command, under a minder if there is one. done is closed when it has exited, and end
// ends everything that it started.
func start(cmd *exec.Cmd, self []string) (done <-chan struct{}, end func() proc.Ending, err error) {
	if len(self) > 0 && runtime.GOOS != "windows" {
		m, err := proc.Mind(cmd, self, "check", endGrace)
		if err != nil {
			return nil, nil, err
		}
		return m.Done(), m.End, nil
	}
	tree, err := proc.Start(cmd)
	if err != nil {
		return nil, nil, err
	}
	return tree.Done(), func() proc.Ending {
		left := tree.End(endGrace)
		_ = tree.Wait()
		return proc.Ending{Exit: cmd.ProcessState.ExitCode(), Signal: strings.TrimPrefix(cmd.ProcessState.String(), "signal: "), Left: left}
	}, nil
}

// meaning is what shells mean by an exit status.
func meaning(exit int) string {
	switch {
	case exit == 126:
		return ": a program could not be run"
	case exit == 127:
		return ": a program was not found"
	case exit > 128 && exit <= 128+31, exit >= 128+34 && exit <= 128+64: // and the real-time signals
		return fmt.Sprintf(": killed by signal %d", exit-128)
	}
	return ""
}
