//go:build unix

package proc

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// RunMinder is the program of a minder. args are what Mind adds to its command line: the grace
// period, the path of a program, and its arguments, the name first. Groups adds others.
func RunMinder(args []string) error {
	if len(args) == 2 && args[0] == groupsWord {
		return runGroups(args[1])
	}
	if len(args) < 3 {
		return fmt.Errorf("a minder is started by Bossman itself")
	}
	grace, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	orders, report := os.NewFile(3, "orders"), os.NewFile(4, "report")
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	m := &minder{grace: grace, exited: make(chan struct{}), childless: make(chan struct{}), ordered: make(chan bool, 1)}
	if err := m.start(args[1], args[2:]); err != nil {
		fmt.Fprintln(report, "failed", err)
		return err
	}
	fmt.Fprintln(report, "started", m.pid)
	go m.read(orders)
	exit, name, left := m.mind()
	fmt.Fprintf(report, "ended %d %q %d\n", exit, name, left)
	report.Close()
	for left > 0 { // nothing that it minds may go on without it
		left = m.endAll()
	}
	return nil
}

// A minder is the process between Bossman and a program that it minds.
type minder struct {
	grace   time.Duration
	pid     int
	exited  chan struct{} // closed when the program has exited, with status
	status  syscall.WaitStatus
	ordered chan bool // to end; true: with a grace period
	// childless is closed when the minder has no children any more. It gets none afterwards.
	childless chan struct{}
}

// start starts the program. The program gets the standard files, and the minder keeps none of
// them: they end with those who use them.
func (m *minder) start(path string, args []string) error {
	if err := adoptAll(); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		m.order(true)
	}()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel kills the program when the thread that started it ends
		sys := ownGroup()
		sys.Setpgid, sys.Setsid = false, true // no process of it can join the minder's own group
		attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: sys}
		var err error
		m.pid, err = syscall.ForkExec(path, args, attr)
		started <- err
		if err == nil {
			m.reap()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := dup(int(null.Fd()), fd); err != nil {
			return err
		}
	}
	return nil
}

// reap waits for the program, and for every process that the minder has adopted. The program is
// told from the adopted ones, which may end first.
func (m *minder) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // there are no children any more
			close(m.childless)
			return
		case pid == m.pid:
			m.status = status
			close(m.exited)
		}
	}
}

// read waits for an order to end.
func (m *minder) read(orders io.Reader) {
	b := make([]byte, 1)
	n, _ := orders.Read(b)
	m.order(n == 1)
	_, _ = io.Copy(io.Discard, orders)
	m.order(false) // who gave the order is dead
}

func (m *minder) order(gently bool) {
	if gently {
		select {
		case m.ordered <- true:
		default:
		}
		return
	}
	_ = m.endAll() // at once, whatever else is under way
}

// endAll kills everything that is left, until the minder has no children and nothing is found. It
// returns how many processes are left after some time. A process that forks and exits all the time
// is hardly ever found: that there are no children says that it has ended.
func (m *minder) endAll() (left int) {
	deadline := time.Now().Add(killTime)
	for {
		_ = syscall.Kill(-m.pid, syscall.SIGKILL) // no process of a group escapes that by a fork
		for range fastLooks {
			killChildren()
		}
		left = endAll(m.left)
		select {
		case <-m.childless:
			return left
		default:
		}
		if time.Now().After(deadline) {
			return max(left, 1)
		}
	}
}

// fastLooks is how often a minder looks at its own children before it looks for all processes, which
// takes longer.
const fastLooks = 200

// left finds what is to be ended.
func (m *minder) left() []int {
	return append(survivors(m.pid, Marker+"="+os.Getenv(Marker)), descendants()...)
}

// mind waits for the end of the program, or an order, and ends what is left.
func (m *minder) mind() (exit int, name string, left int) {
	select {
	case <-m.exited:
	case <-m.ordered:
	}
	_ = syscall.Kill(-m.pid, syscall.SIGTERM)
	for _, pid := range descendants() {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	for deadline := time.Now().Add(m.grace); time.Now().Before(deadline) && len(m.left()) > 0; {
		time.Sleep(5 * killPause)
	}
	left = m.endAll()
	select {
	case <-m.exited:
	case <-time.After(killTime):
		return -1, "", left
	}
	if m.status.Signaled() {
		return -1, m.status.Signal().String(), left
	}
	return m.status.ExitStatus(), "", left
}
