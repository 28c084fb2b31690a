package failover

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
	"github.com/bossman-dev/bossman/e2e/faults/history"
	"github.com/bossman-dev/bossman/store/postgres"
)

const (
	project = "web"
	lease   = 1500 * time.Millisecond
	// usual is how many replicas a server has.
	usual = 3
)

// A scene is a server of three replicas on a pair of databases, with agents at work.
type scene struct {
	*pair
	replicas []*replica
	record   *record
	agents   []*agent
	probes   []*agent // one a replica, which only create
	stop     context.CancelFunc
	ended    sync.WaitGroup
}

// newScene makes a board with some tasks, and replicas. At each there are two agents, and two
// laptops by package remote; one of the agents has a key for all projects.
func newScene(t *testing.T, p *pair, replicas, tasks int) *scene {
	t.Helper()
	s := &scene{pair: p, record: &record{told: map[string]int{}}}
	store, err := postgres.Open(t.Context(), p.dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fill(t, board.New(store, nil), tasks)
	keys := auth.New(store, nil)
	key := func(slug string) auth.Secret { return newKey(t, keys, slug) }
	for i := range replicas {
		r := startReplica(t, strconv.Itoa(i), p.dsn)
		s.replicas = append(s.replicas, r)
		s.agents = append(
			s.agents,
			s.agent(fmt.Sprintf("tools%d", i), &toolDoor{dial: connect(r.url(), key(project))}),
			s.agent(fmt.Sprintf("every%d", i), &toolDoor{dial: connect(r.url(), key(auth.EveryProject))}),
			s.agent(fmt.Sprintf("laptop%d", i), newBoardDoor(r.url(), key(project), fmt.Sprint("a", i))),
			s.agent(fmt.Sprintf("notebook%d", i), newBoardDoor(r.url(), key(project), fmt.Sprint("b", i))),
		)
		s.probes = append(s.probes, s.agent(fmt.Sprintf("probe%d", i), &toolDoor{dial: connect(r.url(), key(project))}))
	}
	return s
}

func (s *scene) agent(name string, d door) *agent {
	return &agent{name: name, record: s.record, door: d}
}

func newKey(t *testing.T, keys *auth.Authenticator, slug string) auth.Secret {
	t.Helper()
	_, text, err := keys.CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: slug, Role: auth.Lead})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func fill(t *testing.T, b *board.Board, n int) {
	t.Helper()
	if err := b.SetProject(t.Context(), board.Project{Slug: project, Policy: board.PolicyTrust, Lease: lease}); err != nil {
		t.Fatal(err)
	}
	plan := board.Plan{Project: project}
	for i := range n {
		plan.Tasks = append(plan.Tasks, board.PlanTask{
			Key: strconv.Itoa(i), NewTask: board.NewTask{Title: fmt.Sprint("task ", i), MaxFailures: 100, Priority: board.Normal},
		})
	}
	if _, err := b.CreatePlan(t.Context(), board.Actor{Principal: "local"}, plan); err != nil {
		t.Fatal(err)
	}
}

// begin lets the agents work.
func (s *scene) begin() {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	s.stop = stop
	s.t.Cleanup(s.end)
	for _, a := range s.agents {
		s.ended.Go(func() { a.work(ctx) })
	}
	for _, r := range s.replicas {
		s.ended.Go(func() { r.watchReady(ctx.Done()) })
	}
	s.busy(50)
}

// busy waits until so many more calls have succeeded.
func (s *scene) busy(n int) {
	s.t.Helper()
	least := s.succeeded() + n
	eventually(s.t, "work", func() bool { return s.succeeded() >= least })
}

func (s *scene) succeeded() (n int) {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	for _, op := range s.record.ops {
		if op.Out == history.OK {
			n++
		}
	}
	return n
}

func (s *scene) end() {
	s.stop()
	s.ended.Wait()
	for _, p := range s.probes {
		p.door.close()
	}
}

// probe writes through every replica until each has taken a write that began after a
// channel was closed, and gives when that was answered.
func (s *scene) probe(after <-chan struct{}) []time.Time {
	first := make([]time.Time, len(s.probes))
	var wg sync.WaitGroup
	for i, p := range s.probes {
		wg.Go(func() {
			deadline := time.Now().Add(patience)
			for no := 0; time.Now().Before(deadline); no++ {
				ok := p.create(s.t.Context(), fmt.Sprintf("%s-%d-%d", p.name, no, time.Now().UnixNano()))
				at := time.Now()
				select {
				case <-after:
					if ok {
						first[i] = at
						return
					}
				default:
				}
				p.rest(s.t.Context(), pace)
			}
		})
	}
	wg.Wait()
	return first
}

// settle lets the agents finish everything: what is not blocked ends.
func (s *scene) settle(store *postgres.Store) {
	s.t.Helper()
	eventually(s.t, "finished", func() bool {
		var c board.Counts
		err := store.Read(s.t.Context(), func(r board.Reader) (err error) {
			c, err = r.Counts([]string{project})
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
		return c.Status[board.Done]+c.Status[board.Failed] == c.Total()
	})
}

// check finds what is wrong with the board itself, and with what was told about it.
func (s *scene) check(store *postgres.Store) (itself, told []error) {
	s.t.Helper()
	itself = boardtest.Check(s.t.Context(), store)
	for _, rule := range rules {
		if err := s.breaks(rule.query); err != nil {
			itself = append(itself, fmt.Errorf("%s: %w", rule.name, err))
		}
	}
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	s.t.Logf("%d calls; told, beside successes: %v", len(s.record.ops), s.record.told)
	return itself, history.Check(s.record.ops, s.feed(store), lease)
}

// rules are queries over the events of a board that find nothing.
var rules = []struct{ name, query string }{
	{"an attempt is granted once", `SELECT task_id % 1099511627776 || ' attempt ' || (detail->>'Attempt') FROM events WHERE kind = 'claimed'
		GROUP BY task_id, detail->>'Attempt' HAVING count(*) > 1`},
	{"a task's events have no gap", `SELECT task_id % 1099511627776 || ' has ' || count(*) || ' up to ' || max(seq) FROM events
		GROUP BY task_id HAVING count(*) <> max(seq)`},
	{"a task is done once", `SELECT task_id % 1099511627776 || '' FROM events WHERE kind = 'done' GROUP BY task_id HAVING count(*) > 1`},
	{"an epoch does not come back", `SELECT e.task_id % 1099511627776 || ' seq ' || e.seq FROM events e JOIN events f
		ON f.task_id = e.task_id AND f.seq = e.seq - 1 AND f.epoch > e.epoch`},
	{"a claim is the newest of its task", `SELECT c.task_id % 1099511627776 || '' FROM claims c JOIN tasks t ON t.id = c.task_id
		WHERE (c.attempt, c.nonce) <> (t.attempt, t.nonce)`},
}

func (s *scene) breaks(query string) error {
	s.t.Helper()
	conn := s.connect(s.backup)
	defer conn.Close(context.Background())
	var found *string
	if err := conn.QueryRow(s.t.Context(), `SELECT string_agg(x, ', ') FROM (`+query+`) q(x)`).Scan(&found); err != nil {
		s.t.Fatal(err)
	}
	if found != nil {
		return fmt.Errorf("%.300s", *found)
	}
	return nil
}

// feed reads every event, in pages.
func (s *scene) feed(store *postgres.Store) (all []board.Event) {
	s.t.Helper()
	var after board.Cursor
	for {
		var page []board.Event
		err := store.Read(s.t.Context(), func(r board.Reader) (err error) {
			page, err = r.Feed(nil, after, 1000)
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Cursor
	}
}

// epoch reads what the database knows about itself.
func (s *scene) epoch() (epoch, timeline int) {
	s.t.Helper()
	conn := s.connect(s.backup)
	defer conn.Close(context.Background())
	if err := conn.QueryRow(s.t.Context(), `SELECT feed_epoch, timeline FROM meta`).Scan(&epoch, &timeline); err != nil {
		s.t.Fatal(err)
	}
	return epoch, timeline
}

// report fails the test with the first of several errors.
func report(t *testing.T, errs []error) {
	t.Helper()
	for i, err := range errs {
		if i == 10 {
			t.Errorf("… and %d more", len(errs)-i)
			break
		}
		t.Error(err)
	}
}
