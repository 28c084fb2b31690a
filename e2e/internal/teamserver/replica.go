package teamserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

const (
	startFor = 60 * time.Second // what a replica may take to begin; machines are busy
	endFor   = 20 * time.Second // what it may take to end
)

// A Replica is one process of the server. It may be killed and started again.
type Replica struct {
	team  *Team
	no    int
	flags []string

	cmd    *exec.Cmd
	target *target
	admin  string
	over   chan struct{} // closed when the process has ended and its log is read
	err    error         // how it ended
	log    *tail         // of all its lives
}

// Start starts the replica, and returns when the balancer sends it requests.
func (r *Replica) Start(t testing.TB) {
	t.Helper()
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
}

// Restart is Start for whoever is not the test's own goroutine.
func (r *Replica) Restart() error {
	argv := append([]string{r.team.bossman, "serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--db", r.team.dsn}, r.flags...)
	r.cmd = harness.Command(context.Background(), r.team.home, argv...)
	r.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return err
	}
	r.over = make(chan struct{})
	address, admin := make(chan string, 1), make(chan string, 1)
	cmd, over, log := r.cmd, r.over, r.log
	go func() {
		defer close(over)
		log.read(stderr, map[string]chan<- string{"serving": address, "serving metrics": admin})
		r.err = cmd.Wait()
	}()
	late := time.After(startFor)
	for _, said := range []struct {
		at   <-chan string
		keep func(string)
	}{
		{admin, func(a string) { r.admin = a }},
		{address, func(a string) { r.target = r.team.add(a) }},
	} {
		select {
		case a := <-said.at:
			said.keep(a)
		case <-over:
			return fmt.Errorf("replica %d ended:\n%s", r.no, log)
		case <-late:
			_ = cmd.Process.Kill()
			return fmt.Errorf("replica %d does not serve:\n%s", r.no, log)
		}
	}
	return nil
}

// MCP is the address of this replica's endpoint, not through the balancer.
func (r *Replica) MCP() string { return "http://" + r.target.address + "/mcp" }

// Address is where the replica listens.
func (r *Replica) Address() string { return r.target.address }

// Served is how many requests the balancer has sent to the replica since it was
// started.
func (r *Replica) Served() int64 { return r.target.served.Load() }

// Metric adds up the samples that begin and go on in a way.
func (r *Replica) Metric(begin, within string) (sum float64, err error) {
	res, err := http.Get("http://" + r.admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	s := bufio.NewScanner(res.Body)
	for s.Scan() {
		if !strings.HasPrefix(s.Text(), begin) || !strings.Contains(s.Text(), within) {
			continue
		}
		_, value, _ := strings.Cut(s.Text(), "} ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			sum += n
		}
	}
	return sum, s.Err()
}

// Ready reports what the balancer thinks of the replica.
func (r *Replica) Ready() bool { return r.target.ready.Load() }

// Log is the end of the replica's log.
func (r *Replica) Log() string { return r.log.String() }

// Kill is kill -9. The balancer is not told.
func (r *Replica) Kill() {
	_ = r.cmd.Process.Kill()
	<-r.over
	r.team.remove(r.target)
}

// Term tells the replica to end, as a service manager does. It does not wait.
func (r *Replica) Term() error { return r.cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits for the process, and gives how it ended.
func (r *Replica) Wait() error {
	<-r.over
	r.team.remove(r.target)
	return r.err
}

// Over is closed when the process has ended.
func (r *Replica) Over() <-chan struct{} { return r.over }

// end ends the replica with the test; it has to leave with 0. What its log has to
// complain about fails the test.
func (r *Replica) end(t testing.TB) {
	select {
	case <-r.over:
	default:
		_ = r.Term()
		select {
		case <-r.over:
			if r.err != nil {
				t.Errorf("replica %d ended with %v, want exit 0 after SIGTERM", r.no, r.err)
			}
		case <-time.After(endFor):
			_ = r.cmd.Process.Kill()
			t.Errorf("replica %d does not end", r.no)
		}
	}
	if t.Failed() {
		t.Logf("the log of replica %d ends\n%s", r.no, r.log)
	}
	for _, word := range []string{"panic", "DATA RACE"} {
		if strings.Contains(r.log.bad(), word) {
			t.Errorf("the log of replica %d:\n%s", r.no, r.log.bad())
		}
	}
}

// A tail is the end of a replica's log.
type tail struct {
	mu    sync.Mutex
	lines []string
	worst []string // what is not a line of the log: a crash, a race
}

// read reads the log to its end. It tells of addresses when they come by.
func (l *tail) read(from io.Reader, addresses map[string]chan<- string) {
	s := bufio.NewScanner(from)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var line struct{ Msg, Address string }
		isLog := json.Unmarshal(s.Bytes(), &line) == nil
		if c, ok := addresses[line.Msg]; ok && isLog {
			c <- line.Address
		}
		l.mu.Lock()
		l.lines = append(l.lines, s.Text())
		if len(l.lines) > 60 {
			l.lines = l.lines[30:]
		}
		if (!isLog || strings.Contains(line.Msg, "panic")) && len(l.worst) < 100 {
			l.worst = append(l.worst, s.Text())
		}
		l.mu.Unlock()
	}
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return harness.Tail(strings.Join(l.lines, "\n"), 30)
}

func (l *tail) bad() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.worst, "\n")
}
