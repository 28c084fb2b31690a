package proc

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Minded process runs under a minder: a process of our own between us and it, to which
// everything that it starts belongs, also what leaves its group and clears its environment. The
// minder ends all of it when the process exits, when End is called, and when we die.
type Minded struct {
	minder  *exec.Cmd
	mark    string
	control *os.File
	grace   time.Duration
	pid     int
	done    chan struct{} // closed when nothing of it is left
	end     Ending        // valid after done
}

// An Ending is how a minded process ended.
type Ending struct {
	// Exit is the exit status, -1 if a signal ended it, or if that is not known.
	Exit int
	// Signal is the name of the signal that ended it, or empty.
	Signal string
	// Left is the number of processes that could not be ended yet, as far as is known. The minder
	// goes on to kill them.
	Left int
	// Err is set if the minder itself was ended, or could not start the process.
	Err error
}

// Mind starts cmd under a minder. self is the command line of this program that calls
// RunMinder. Mind replaces the path and arguments of cmd, and sets SysProcAttr, ExtraFiles and
// the marker in Env, whose value is run and a random text; grace is how long processes have to end after SIGTERM. The caller must
// not call cmd.Wait.
func Mind(cmd *exec.Cmd, self []string, run string, grace time.Duration) (*Minded, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	m := &Minded{minder: cmd, mark: Marker + "=" + run + "." + rand.Text()[:10], grace: grace, done: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = slices.DeleteFunc(slices.Clone(cmd.Env), func(v string) bool { return strings.HasPrefix(v, Marker+"=") })
	cmd.Env = append(cmd.Env, m.mark)
	cmd.Args = slices.Concat(self, []string{grace.String(), cmd.Path}, cmd.Args)
	cmd.Path = Program(self[0])
	order, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	news, report, err := os.Pipe()
	if err != nil {
		order.Close()
		control.Close()
		return nil, err
	}
	CloseInherited(cmd)
	cmd.ExtraFiles = slices.Grow(cmd.ExtraFiles, 2)[:max(2, len(cmd.ExtraFiles))]
	cmd.ExtraFiles[0], cmd.ExtraFiles[1] = order, report // which are descriptors 3 and 4
	cmd.SysProcAttr = ownSession()
	cmd.WaitDelay = outputDelay
	setMark(m.mark, true)
	err = startKnown(cmd)
	order.Close()
	report.Close()
	if err != nil {
		setMark(m.mark, false)
		control.Close()
		news.Close()
		return nil, replaced(cmd.Path, err)
	}
	m.control = control
	lines := bufio.NewScanner(news)
	stop := m.awake(startTime)
	lines.Scan()
	stop()
	word, rest, _ := strings.Cut(lines.Text(), " ")
	if word == "started" {
		m.pid, err = strconv.Atoi(rest)
	} else {
		err = errors.New(rest)
	}
	if err != nil || m.pid == 0 {
		control.Close()
		news.Close()
		_ = waitKnown(cmd)
		if word == "" { // it was killed
			endAll(func() []int { return ofRun(m.mark) })
			err = errors.New("the minder does not answer")
		}
		setMark(m.mark, false)
		return nil, fmt.Errorf("start %q: %w", cmd.Args[len(self)+1], err)
	}
	go m.wait(news, lines)
	return m, nil
}

const (
	// startTime is how long a minder may take to start its process, and awakePause the pause
	// between two looks at it.
	startTime  = time.Minute
	awakePause = 200 * time.Millisecond
)

// awake continues a minder that somebody has stopped, until stop is called: it may even be stopped
// before it can say that there is a process. After a while it kills it.
func (m *Minded) awake(limit time.Duration) (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		late := time.NewTimer(limit)
		defer late.Stop()
		tick := time.NewTicker(awakePause)
		defer tick.Stop()
		for {
			resume(m.minder.Process)
			select {
			case <-over:
				return
			case <-late.C:
				_ = m.minder.Process.Kill()
			case <-tick.C:
			}
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// wait waits until the minder has ended, and with it everything that it minds.
func (m *Minded) wait(news *os.File, lines *bufio.Scanner) {
	end := Ending{Exit: -1, Err: errors.New("the minder was killed")}
	for lines.Scan() {
		var exit, left int
		var signal string
		if n, _ := fmt.Sscanf(lines.Text(), "ended %d %q %d", &exit, &signal, &left); n == 3 {
			end = Ending{Exit: exit, Signal: signal, Left: left}
		}
	}
	news.Close()
	if end.Left > 0 {
		go func() { _ = waitKnown(m.minder) }() // it goes on until they have ended
	} else {
		_ = waitKnown(m.minder)
	}
	m.control.Close()
	if end.Err != nil {
		end.Left = endAll(func() []int { return append(survivors(m.pid, m.mark), strays(m.minder.Process.Pid)...) })
	}
	setMark(m.mark, false)
	m.end = end
	close(m.done)
}

// Pid is the process id, and that of its group.
func (m *Minded) Pid() int { return m.pid }

// Done is closed when the process and everything that it started have ended.
func (m *Minded) Done() <-chan struct{} { return m.done }

// Wait waits until Done, and returns how the process ended.
func (m *Minded) Wait() Ending {
	<-m.done
	return m.end
}

// End asks the process to end, and everything that it started; what has not ended after the grace
// period is killed.
func (m *Minded) End() Ending {
	_, _ = m.control.Write([]byte(endOrder))
	return m.force(m.grace)
}

// Kill ends the process at once, and everything that it started.
func (m *Minded) Kill() Ending {
	m.control.Close()
	return m.force(0)
}

// minderTime is how long a minder may take after the grace period, until it is killed: it looks
// for processes twice.
var minderTime = 3 * killTime

// force waits until Done. A minder that does not do its work is killed, and this process ends what it
// minded.
func (m *Minded) force(grace time.Duration) Ending {
	defer m.awake(grace + minderTime)()
	return m.Wait()
}

// endOrder is what End writes. The minder kills at once if the pipe ends without it.
const endOrder = "e"

// endAll kills processes until none is found, twice, and returns how many are left. A process
// that is about to run another program shows no environment for a moment.
func endAll(find func() []int) (left int) {
	none := 0
	for deadline := time.Now().Add(killTime); ; time.Sleep(killPause) {
		pids := find()
		for _, pid := range pids {
			killPid(pid)
		}
		if none++; len(pids) > 0 {
			none = 0
		}
		if none == 2 || time.Now().After(deadline) {
			return len(pids)
		}
	}
}

// EndRun kills every process of a run whose program is dead: those whose marker begins with its
// name. It returns how many it found.
func EndRun(run string) int {
	found := map[int]bool{}
	endAll(func() []int {
		pids := ofRun(Marker + "=" + run + ".")
		for _, pid := range pids {
			found[pid] = true
		}
		return pids
	})
	return len(found)
}
