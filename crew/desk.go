package crew

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

// desk makes a directory with the files of a job, that only this user can read. It is among the
// temporary files, where agents in a sandbox find it. They can write there, also those of other
// jobs, so nothing is read back from it.
func (j *job) desk(bound Bound) (*os.Root, error) {
	dir, err := os.MkdirTemp("", deskPrefix)
	if err != nil {
		return nil, err
	}
	desk, err := plaindir.Open(dir) // another agent may have replaced it while it was made
	if err != nil {
		return nil, err
	}
	j.kept.Desk = dir
	if err := cmp.Or(j.keep(), fillDesk(desk, bound)); err != nil {
		clearDesk(desk)
		return nil, err
	}
	return desk, nil
}

// clearDesk removes the directory of a job, and nothing where a symbolic link in its place leads.
func clearDesk(desk *os.Root) {
	if entries, err := plaindir.Entries(desk); err == nil {
		for _, e := range entries {
			_ = desk.RemoveAll(e.Name())
		}
	}
	desk.Close()
	_ = os.Remove(desk.Name())
}

// fillDesk writes the files of a job. It writes no file that is there already: it may be a symbolic
// link to a file elsewhere that the agent of another job could not write itself.
func fillDesk(desk *os.Root, bound Bound) error {
	return cmp.Or(writeNew(desk, "prompt.txt", bound.Text, 0o600), writeNew(desk, "task.json", string(bound.Task), 0o600))
}

// signPath is the file in the git directory of a slot's worktree that has the socket and the claim
// of its job, a line each.
func signPath(tree *git.Repo) string { return filepath.Join(tree.Dir, "bossman", "job") }

// maxSign bounds that file: it has a path and a claim.
const maxSign = 4 << 10

// SocketVariable and ClaimVariable name the socket of a job, and its claim, to its agent.
const (
	SocketVariable = "BOSSMAN_SOCKET"
	ClaimVariable  = "BOSSMAN_CLAIM"
)

// Joins returns the socket and the claim of the job whose worktree this is; the socket is empty if
// it is none's. Not every MCP client passes the environment on that has these.
func Joins(tree *git.Repo) (socket, claim string) {
	if tree.Foreign != "" || tree.Dir == tree.Common {
		return "", ""
	}
	text, err := readKept(signPath(tree))
	if err != nil || len(text) > maxSign {
		return "", ""
	}
	socket, claim, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	if _, err := board.ParseHandle(claim); err != nil || !isSocket(socket) {
		return "", ""
	}
	return socket, claim
}

// isSocket reports whether a path is that of a job's socket that is there and that nobody but
// this user could have made.
func isSocket(path string) bool {
	dir := filepath.Dir(path)
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUser(info) || !strings.HasPrefix(filepath.Base(dir), deskPrefix) {
		return false
	}
	info, err = os.Lstat(path)
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// deskPrefix begins the names of the directories of jobs.
const deskPrefix = "bossman-job-"

// ownless is an environment without Bossman's own variables, which may be the team's key, and those
// that name a repository.
func ownless(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "BOSSMAN_") || strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") || strings.HasPrefix(v, "GIT_INDEX_FILE=")
	})
}

// environ is the environment of the job's agent, which has its files on a desk. Without a desk it is
// that of the setup.
func (j *job) environ(desk ...string) []string {
	env := append(
		ownless(j.r.o.Environ), "BOSSMAN_ROOT="+j.r.o.Repo.Root, "BOSSMAN_WORKTREE="+j.dir, "BOSSMAN_TASK="+j.h.Task.ID.String(), "PWD="+j.dir,
	)
	for _, dir := range desk {
		env = append(
			env, ClaimVariable+"="+j.h.Claim.Handle.String(), SocketVariable+"="+socketOf(dir),
			"BOSSMAN_PROMPT="+filepath.Join(dir, "prompt.txt"), "BOSSMAN_TASK_FILE="+filepath.Join(dir, "task.json"),
		)
	}
	if port := freePort(); port != 0 {
		env = append(env, "BOSSMAN_PORT="+strconv.Itoa(port))
	}
	return env
}

// socketOf is the socket of the job on a desk.
func socketOf(desk string) string { return filepath.Join(desk, "socket") }

// freePort is a port that nobody listens on now, for a server that the agent may start; 0 if
// there is none.
func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serve serves the bound tools on the socket of a desk until stop is called.
func (j *job) serve(ctx context.Context, desk *os.Root, bound Bound) (stop func(), err error) {
	path := socketOf(desk.Name())
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, fmt.Errorf("the path of temporary files is too long, set TMPDIR to a shorter one: the socket %q has %d bytes, more than %d", path, len(path), most)
	}
	l, err := listen(desk) // in a directory of this user alone: a change of its mode could follow a link
	if err != nil {
		return nil, err
	}
	if !isSocket(path) {
		l.Close()
		return nil, fmt.Errorf("%q was replaced while its socket was made: another agent can write there", filepath.Dir(path))
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		accept(ctx, l, func(conn net.Conn) { bound.Serve(ctx, &noticed{conn, j}) })
	})
	return func() {
		cancel()
		l.Close()
		wg.Wait()
	}, nil
}

// listen makes the socket of a desk. Where the system lets it, that is in the opened directory, wherever
// its path leads by now; closing it deletes nothing, because it would be deleted by its path.
func listen(desk *os.Root) (net.Listener, error) {
	path := socketOf(desk.Name())
	if dir, err := desk.Open("."); err == nil {
		defer dir.Close()
		if opened := fmt.Sprintf("/proc/self/fd/%d", dir.Fd()); isDir(opened) {
			path = socketOf(opened)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

const (
	// maxConnections is how many connections a job may have at once: one for each client that its
	// agent starts. Each can make us keep a message that has not ended.
	maxConnections = 16
	// acceptPause is the pause after a connection that could not be accepted.
	acceptPause = 50 * time.Millisecond
)

// accept serves connections until ctx ends, and closes those that are too many. It goes on after an
// error, such as too many open files: the agents of other slots may have caused it.
func accept(ctx context.Context, l net.Listener, serve func(net.Conn)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, maxConnections)
	for ctx.Err() == nil {
		conn, err := l.Accept()
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			serve(conn)
		})
	}
}

// noticed is a connection whose traffic is a sign of work.
type noticed struct {
	net.Conn
	j *job
}

func (n *noticed) Read(p []byte) (int, error) {
	c, err := n.Conn.Read(p)
	if c > 0 {
		n.j.mu.Lock()
		n.j.called = time.Now()
		n.j.mu.Unlock()
	}
	return c, err
}
