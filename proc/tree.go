package proc

import (
	"cmp"
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Marker is the environment variable that every process of a tree inherits.
const Marker = "BOSSMAN_RUN"

const (
	// outputDelay is how long to wait for output after the child has exited: one of
	// its children may hold the pipe open.
	outputDelay = 500 * time.Millisecond
	// killPause is the pause between two searches for processes that are left, and
	// killTime is how long they are searched for.
	killPause = 10 * time.Millisecond
	killTime  = 5 * time.Second
)

// A Tree is a child process and everything that it started.
type Tree struct {
	cmd  *exec.Cmd
	mark string
	done chan struct{} // closed when the child has exited
	err  error         // of Wait; valid after done
}

// Start starts cmd in a process group of its own. It sets SysProcAttr, WaitDelay,
// ExtraFiles and the marker in Env; the caller must not call cmd.Wait.
func Start(cmd *exec.Cmd) (*Tree, error) {
	t := &Tree{cmd: cmd, mark: Marker + "=" + rand.Text()[:16], done: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = slices.DeleteFunc(slices.Clone(cmd.Env), func(v string) bool { return strings.HasPrefix(v, Marker+"=") })
	cmd.Env = append(cmd.Env, t.mark)
	cmd.SysProcAttr = ownGroup()
	CloseInherited(cmd)
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, outputDelay)
	began := make(chan error)
	go func() {
		// The kernel ends the child when the thread that started it ends, so this
		// thread is kept until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		setMark(t.mark, true)
		err := startKnown(cmd)
		if err != nil {
			setMark(t.mark, false)
		}
		began <- err
		if err == nil {
			t.err = waitKnown(cmd)
			close(t.done)
		}
	}()
	if err := <-began; err != nil {
		return nil, err
	}
	return t, nil
}

// Done is closed when the child has exited. Processes that it started may still run.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Wait waits for the child to exit and returns the error of exec.Cmd.Wait.
func (t *Tree) Wait() error {
	<-t.done
	return t.err
}

// Pid is the child's process id.
func (t *Tree) Pid() int { return t.cmd.Process.Pid }

// End ends the tree: it asks the process group to end, waits up to grace for the child
// to exit, and kills whatever is left. It returns the number of processes that could
// not be killed, which is 0 unless the system refuses.
func (t *Tree) End(grace time.Duration) (left int) {
	select {
	case <-t.done:
	default:
		terminate(t.cmd.Process)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-t.done:
		case <-timer.C:
		}
	}
	kill(t.cmd.Process)
	left = endAll(func() []int { return survivors(t.cmd.Process.Pid, t.mark) })
	setMark(t.mark, false)
	<-t.done
	return left
}
