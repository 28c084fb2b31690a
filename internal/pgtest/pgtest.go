// Package pgtest starts PostgreSQL for a test or a measurement: a private cluster in
// a temporary directory, which tests may crash.
package pgtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Cluster is a running PostgreSQL server with its data.
type Cluster struct {
	bin      string // the folder of the server's programs
	dir      string
	port     int
	settings []string
	leash    io.WriteCloser // when it closes, the cluster is stopped and removed
	removed  func() error   // waits for that
	frozen   bool           // by Freeze

	mu       sync.Mutex
	roles    bool        // Owner and App exist
	template bool        // the database "template_board" exists
	made     int         // databases made from it so far
	free     []*reusable // databases that no test uses, as their last test left them
}

// shared are the clusters that Shared has started.
var shared struct {
	mu    sync.Mutex
	free  []*Cluster
	inUse map[string]*sharing // by the name of a test that is no subtest
}

// sharing is a cluster in use by a test, and how often the test has asked for it.
type sharing struct {
	cluster *Cluster
	asked   int
}

// Shared returns a cluster that the tests of a binary use one after the other; with
// parallel tests there are as many as run at once. A test and its subtests have it for
// themselves: a transaction that is open in any database of a cluster holds back what
// all of them show in their feeds.
//
// It is removed when the binary ends, however it ends. It does not flush to disk, which
// is safe as long as the machine keeps running. A test that stops or crashes the server
// needs Start.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	shared.mu.Lock()
	defer shared.mu.Unlock()
	s := shared.inUse[test]
	if s == nil {
		s = &sharing{cluster: newShared(t)}
		if shared.inUse == nil {
			shared.inUse = map[string]*sharing{}
		}
		shared.inUse[test] = s
	}
	s.asked++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if s.asked--; s.asked == 0 {
			delete(shared.inUse, test)
			shared.free = append(shared.free, s.cluster)
		}
	})
	return s.cluster
}

func newShared(t testing.TB) *Cluster {
	t.Helper()
	if n := len(shared.free); n > 0 {
		c := shared.free[n-1]
		shared.free = shared.free[:n-1]
		return c
	}
	c, err := New("max_connections = 200", "deadlock_timeout = 100ms", "fsync = off", "full_page_writes = off")
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Start makes a cluster for this test alone, with lines for its configuration file.
// Where PostgreSQL's programs are absent the test is skipped.
func Start(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	c, err := New(settings...)
	if errors.Is(err, ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.leash.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// New is Start for a program. Remove, or the end of the program, deletes it, or with the program.
func New(settings ...string) (*Cluster, error) {
	first, err := initialized()
	if err != nil {
		return nil, err
	}
	c, err := prepare(first.bin)
	if err != nil {
		return nil, err
	}
	if out, err := c.command("cp", "-a", first.data(), c.data()).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pgtest: copy a cluster: %w: %s", err, out)
	}
	if err := c.configure(settings); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// Remove stops the server and deletes its data.
func (c *Cluster) Remove() error { return errors.Join(c.leash.Close(), c.removed()) }

// ErrAbsent says that PostgreSQL cannot be started here.
var ErrAbsent = errors.New("pgtest: no PostgreSQL")

// programs finds the newest server.
func programs() (string, error) {
	if os.Geteuid() == 0 {
		if _, err := user.Lookup("postgres"); err != nil {
			return "", fmt.Errorf("%w: it does not run as root, and there is no user postgres", ErrAbsent)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err == nil {
			path, err = filepath.EvalSymlinks(path) // the others are beside it
		}
		if err == nil {
			return filepath.Dir(path), nil
		}
		return "", fmt.Errorf("%w: its server programs are not installed: no initdb in PATH or /usr/lib/postgresql", ErrAbsent)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// initialized is a cluster as initdb makes it, which is never started. The clusters of a
// process are copies of it: that takes a quarter of the time.
var initialized = sync.OnceValues(func() (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	c, err := prepare(bin)
	if err != nil {
		return nil, err
	}
	return c, c.run("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
})

// prepare makes a place for a cluster.
func prepare(bin string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "bossman-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
	}
	if c.port, err = freePort(); err != nil {
		return nil, err
	}
	return c, c.hold()
}

// configure adds lines to the configuration file; the last one of a name counts.
func (c *Cluster) configure(settings []string) error {
	c.settings = settings
	lines := append([]string{
		"",
		"listen_addresses = '127.0.0.1'",
		fmt.Sprintf("port = %d", c.port),
		fmt.Sprintf("unix_socket_directories = '%s'", c.dir),
		"logging_collector = off",
	}, settings...)
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Standby makes a second server that follows this one, for this test alone.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.NewStandby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.leash.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// NewStandby is Standby for a program. Remove, or the end of the program, deletes it.
func (c *Cluster) NewStandby() (*Cluster, error) {
	s, err := prepare(c.bin)
	if err != nil {
		return nil, err
	}
	if err := s.run("pg_basebackup", "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "-N", "-d", c.DSN("postgres")); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	if err := s.configure(c.settings); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, s.Start()
}

// Reconfigure starts the server again with more lines for its configuration file. The last
// one of a name counts.
func (c *Cluster) Reconfigure(settings ...string) error {
	return errors.Join(c.Stop("fast"), c.configure(slices.Concat(c.settings, settings)), c.Start())
}

// Promote makes a standby a server of its own.
func (c *Cluster) Promote() error {
	return c.run("pg_ctl", "-D", c.data(), "-w", "-t", "60", "promote")
}

// freePort draws a port that nobody listens on. It is below those that the system gives
// to outgoing connections: one of them could have it before the server does.
func freePort() (int, error) {
	for try := 0; ; try++ {
		port := 20_000 + rand.IntN(12_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
		if try == 20 {
			return 0, fmt.Errorf("pgtest: no free port: %w", err)
		}
	}
}

// hold starts a shell that waits for our end, and then removes the cluster: also
// after a panic, a timeout or an interrupt.
func (c *Cluster) hold() error {
	const script = `trap '' INT TERM HUP; cat; "$0" -D "$1/data" stop -m immediate; rm -rf "$1"`
	cmd := c.command("sh", "-c", script, filepath.Join(c.bin, "pg_ctl"), c.dir)
	cmd.Dir = "/"
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.leash, c.removed = leash, cmd.Wait
	return cmd.Start()
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Command is one of PostgreSQL's programs. It runs in the cluster's folder and as its
// user, and may leave files there.
func (c *Cluster) Command(program string, args ...string) *exec.Cmd {
	return c.command(filepath.Join(c.bin, program), args...)
}

// command is for the user that the server runs as.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "postgres", "--", name}, args...)
		name = "runuser"
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	return cmd
}

func (c *Cluster) run(program string, args ...string) error {
	// A file, since the server inherits it and a pipe would wait for the server's end.
	log := filepath.Join(c.dir, program+".log")
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := c.Command(program, args...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log)
		return fmt.Errorf("pgtest: %s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return nil
}

// Start starts the server again after Stop.
func (c *Cluster) Start() error {
	return c.run("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "server.log"), "-w", "-t", "60", "start")
}

// Stop stops the server: "smart", "fast", or "immediate", which is a crash.
func (c *Cluster) Stop(mode string) error {
	return c.run("pg_ctl", "-D", c.data(), "-m", mode, "-w", "-t", "60", "stop")
}

// PID is the server's first process, 0 if it does not run.
func (c *Cluster) PID() int {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Kill ends the server's first process as the kernel does when memory is short. The
// others notice and end too; Kill waits for them.
func (c *Cluster) Kill() error {
	pid := c.PID()
	if pid <= 1 {
		return errors.New("pgtest: kill: the server does not run")
	}
	all := c.processes(pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("pgtest: kill: %w", err)
	}
	if c.frozen { // the others notice nothing
		for _, child := range all[1:] {
			_ = syscall.Kill(child, syscall.SIGKILL)
		}
	}
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(all, Runs); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("pgtest: kill: after a minute some of the processes %v run", all)
		}
	}
	return nil
}

// Freeze stops the server's processes where they are: connections stay, and nobody
// answers. Kill ends it then; nothing else does.
func (c *Cluster) Freeze() error {
	pid := c.PID()
	if pid <= 1 {
		return errors.New("pgtest: freeze: the server does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // first: then there are no new ones
		return fmt.Errorf("pgtest: freeze: %w", err)
	}
	c.frozen = true
	for _, child := range c.processes(pid)[1:] {
		_ = syscall.Kill(child, syscall.SIGSTOP) // one that has just ended
	}
	return nil
}

// processes are the server's first and those that it has started.
func (c *Cluster) processes(pid int) []int {
	all := []int{pid}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(child); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// Runs reports whether there is a process, and it is not one that only waits to be
// counted.
func Runs(pid int) bool {
	if pid <= 1 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// Dir is where everything of the cluster is.
func (c *Cluster) Dir() string { return c.dir }

// Log is what the server has written.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "server.log"))
	return string(text)
}

// DSN names a database of the cluster, for the user who may do everything.
func (c *Cluster) DSN(db string) string { return c.DSNAs("postgres", db) }

// DSNAs is DSN for another user.
func (c *Cluster) DSNAs(user, db string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, c.port, db)
}

// Addr is the server's host and port.
func (c *Cluster) Addr() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// SocketDSN is DSN by the Unix socket.
func (c *Cluster) SocketDSN(db string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", c.dir, c.port, db)
}
