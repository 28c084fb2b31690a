package failover

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// oldest is the revision of the oldest program that a server is upgraded from. Its schema has 4
// migrations.
const oldest = "63dba771cb09a745edf2f7fc77b16afec575a512"

// The replicas of a server are replaced by newer ones while agents work: first the schema, then one
// replica after the other. For a while old and new ones serve together. No agent notices, and
// nothing is lost.
func TestUpgrade(t *testing.T) {
	before, after := buildAt(t, oldest), programs.Path(harness.Bossman)
	cluster := pgtest.Start(t, "max_connections = 120")
	cluster.Exec(t, "postgres", "CREATE DATABASE upgraded")
	p := &pair{t: t, primary: cluster, backup: cluster, db: "upgraded", dsn: cluster.DSN("upgraded")}
	bossman := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"HOME=" + cmd.Dir, "USER=ada", "BOSSMAN_DB=" + p.dsn, "BOSSMAN_PROJECT=" + project}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bossman %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	bossman(before, "migrate")
	bossman(before, "project", "create", project, "--policy", "trust", "--lease", lease.String())
	key := func(slug string) auth.Secret {
		t.Helper()
		said := strings.Fields(bossman(before, "key", "create", "--role", "lead", "--project", slug))
		i := slices.IndexFunc(said, func(s string) bool { return strings.HasPrefix(s, "bossman_") })
		if i < 0 {
			t.Fatalf("no key in %q", said)
		}
		return auth.Secret(said[i])
	}

	s := &scene{pair: p, record: &record{told: map[string]int{}}}
	b := newBalancer(t)
	for i := range usual {
		r := startProgram(t, before, fmt.Sprint("old", i), p.dsn, "")
		s.replicas = append(s.replicas, r)
		b.add(r)
		s.agents = append(
			s.agents,
			s.agent(fmt.Sprintf("tools%d", i), &toolDoor{dial: connect(b.url(), key(project))}),
			s.agent(fmt.Sprintf("every%d", i), &toolDoor{dial: connect(b.url(), key(auth.EveryProject))}),
			s.agent(fmt.Sprintf("laptop%d", i), newBoardDoor(b.url(), key(project), fmt.Sprint("a", i))),
		)
	}
	maker := s.agent("maker", &toolDoor{dial: connect(b.url(), key(project))})
	s.probes = append(s.probes, maker)
	// work makes tasks, and waits until some of them were worked on.
	work := func() {
		t.Helper()
		const tasks = 50
		least := s.succeeded() + 2*tasks
		for range tasks {
			if !maker.create(t.Context(), fmt.Sprint("task ", maker.no)) {
				t.Fatal("a task was not created")
			}
		}
		if s.stop == nil {
			s.begin()
		}
		eventually(t, "work", func() bool { return s.succeeded() >= least })
	}
	work()
	bossman(after, "migrate")
	work() // the old ones on the new schema
	for i, r := range slices.Clone(s.replicas) {
		n := startProgram(t, after, fmt.Sprint("new", i), p.dsn, "")
		b.add(n)
		work()
		b.remove(r)
		r.stop()
		work()
	}
	store := p.open()
	s.settle(store)
	s.end()
	itself, told := s.check(store)
	report(t, append(itself, told...))
	for _, x := range s.record.strange[:min(5, len(s.record.strange))] {
		t.Errorf("a strange answer, one of %d: %s", len(s.record.strange), x)
	}
	for word, n := range s.record.told {
		if word != "nothing" && !strings.HasSuffix(word, "lease_lost") {
			t.Errorf("%d calls were told: %s", n, word)
		}
	}
}

// buildAt builds the program as it was at a revision.
func buildAt(t *testing.T, revision string) string {
	t.Helper()
	root, dir := harness.Dir(".."), t.TempDir()
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", revision+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("the history of this clone does not reach back to %s: %s", revision, out)
	}
	shell := exec.Command("sh", "-ec", `git archive "$1" | tar -x -C "$2" && cd "$2" && go build -o bossman ./cmd/bossman`, "build", revision, dir)
	shell.Dir = root
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s could not be built: %v\n%s", revision, err, out)
	}
	return filepath.Join(dir, "bossman")
}

// A balancer stands before the replicas of a server. It sends each request to the next one, and
// finishes those under way when it is told that one leaves.
type balancer struct {
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex
	seats []*seat
	turn  int
}

// A seat is a replica and the requests on their way to it.
type seat struct {
	replica *replica
	under   sync.WaitGroup
}

type seatKey struct{}

func newBalancer(t *testing.T) *balancer {
	b := &balancer{t: t}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: r.In.Context().Value(seatKey{}).(*seat).replica.address})
		},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			t.Errorf("%s did not answer: %v", r.Context().Value(seatKey{}).(*seat).replica.name, err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.turn++
		s := b.seats[b.turn%len(b.seats)]
		s.under.Add(1)
		b.mu.Unlock()
		defer s.under.Done()
		// A replica may answer before the proxy has seen the end of the body, which is closed then.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), seatKey{}, s)))
	}))
	t.Cleanup(b.server.Close)
	return b
}

func (b *balancer) url() string { return b.server.URL + "/mcp" }

func (b *balancer) add(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seats = append(b.seats, &seat{replica: r})
}

// remove returns when nothing is under way at a replica any more.
func (b *balancer) remove(r *replica) {
	b.mu.Lock()
	i := slices.IndexFunc(b.seats, func(s *seat) bool { return s.replica == r })
	s := b.seats[i]
	b.seats = slices.Delete(b.seats, i, i+1)
	b.mu.Unlock()
	s.under.Wait()
}
