package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/bossman-dev/bossman/remote"
	"github.com/bossman-dev/bossman/store/postgres"
	"github.com/bossman-dev/bossman/tools"
)

// idleProject is where nothing is to be done.
const idleProject = "idle"

const (
	newTasks   = 20 // that come while everybody waits
	apart      = 250 * time.Millisecond
	settleTime = 3 * time.Second // of garbage and of first calls
	startTime  = 2 * time.Minute
	handTime   = 30 * time.Second
	waitSecs   = "45"
)

// A crew is workers who wait. Each has a key of its own.
type crew struct {
	name string
	// waits is for one worker, until ctx ends. It tells when it begins to wait, and of
	// a task that it got.
	waits func(ctx context.Context, addr string, key auth.Secret, i int, tell signals) error
	// claims is set where they wait for a task and not for news alone.
	claims bool
}

// signals are what a worker tells.
type signals struct{ began, got func() }

var crews = []crew{
	{"get_next_task, waiting", waitByTool, true},
	{"bossman/next, waiting", waitByOperation, true},
	{"bossman mcp, idle", idleLaptop, false},
	{"bossman mcp, its client watches", watchingLaptop, false},
}

// idlePart measures what workers cost who have nothing to do, and how many of them
// look when there is a new task.
func idlePart(ctx context.Context, o *options, c *pgtest.Cluster, p *printer) error {
	if err := execute(ctx, c.DSN("postgres"), "CREATE DATABASE "+idleProject); err != nil {
		return err
	}
	dsn := c.DSN(idleProject)
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	s, err := postgres.Open(ctx, dsn, &postgres.Options{MaxConns: 8})
	if err != nil {
		return err
	}
	defer s.Close()
	b := board.New(s, nil)
	if err := b.SetProject(ctx, board.Project{Slug: idleProject, Policy: board.PolicyTrust}); err != nil {
		return err
	}
	inner, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(inner) }() // sends hints of new tasks
	defer func() {
		stop()
		<-ended
	}()
	keys, err := newKeys(ctx, s, idleProject, slices.Max(o.idle))
	if err != nil {
		return err
	}
	p.printf("\n### Workers who wait, one replica, watched for %v\n\n", o.watch)
	p.printf("| what | workers | replica: KiB a worker | replica: ms CPU a worker and minute | PostgreSQL: the same | connections | transactions/s | HTTP requests/s |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	var news []string
	for _, n := range o.idle {
		for _, w := range crews {
			idle, err := w.measure(ctx, o, dsn, b, keys[:n])
			if err != nil { // a replica takes only so many
				say("%s, %d: %v", w.name, n, err)
				p.printf("| %s | %d | refused: on stderr is why | | | | | |\n", w.name, n)
				continue
			}
			p.printf("| %s | %d | %.1f | %.2f | %.2f | %.0f | %.1f | %.1f |\n", w.name, n, idle.kib, idle.replicaCPU, idle.postgresCPU, idle.conns, idle.queries, idle.requests)
			news = append(news, idle.news(w, n))
		}
	}
	p.printf("\n| %d new tasks, one after the other | workers | transactions for each | HTTP requests for each | ms until it is handed out: p50 | most |\n|---|--:|--:|--:|--:|--:|\n%s", newTasks, strings.Join(news, ""))
	return p.err
}

// An idling is what a crew cost.
type idling struct {
	kib                     float64 // for each
	replicaCPU, postgresCPU float64 // ms for each in a minute
	conns                   float64
	queries, requests       float64 // in a second
	perTask, requestsTask   float64
	handed                  []time.Duration
}

func (r *idling) news(w crew, n int) string {
	times := "– | –"
	if len(r.handed) > 0 {
		times = fmt.Sprintf("%.0f | %.0f", quantile(r.handed, 0.5)/1e3, quantile(r.handed, 1)/1e3)
	}
	return fmt.Sprintf("| %s | %d | %.1f | %.1f | %s |\n", w.name, n, r.perTask, r.requestsTask, times)
}

func (w crew) measure(ctx context.Context, o *options, dsn string, b *board.Board, keys []auth.Secret) (*idling, error) {
	conn, main, err := onlooker(ctx, dsn)
	if err != nil {
		return nil, err
	}
	g := &ground{conn: conn, main: main}
	defer conn.Close(ctx)
	f, err := startFleet(o, dsn, 1)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	r := f.replicas[0]
	empty, err := r.rss()
	if err != nil {
		return nil, err
	}
	say("%s: %d workers begin to wait", w.name, len(keys))
	got := make(chan struct{}, 2*newTasks)
	inner, stop := context.WithCancel(ctx)
	var wg, began sync.WaitGroup
	defer wg.Wait()
	defer stop()
	began.Add(len(keys))
	var mu sync.Mutex
	var failed error
	count := 0
	for i, key := range keys {
		if i%50 == 0 {
			time.Sleep(50 * time.Millisecond) // a thousand in a second
		}
		wg.Go(func() {
			tell := signals{sync.OnceFunc(began.Done), func() { got <- struct{}{} }}
			err := w.waits(inner, r.addr, key, i, tell)
			tell.began() // or never
			mu.Lock()
			defer mu.Unlock()
			if err != nil && inner.Err() == nil {
				count++
				failed = err
			}
		})
	}
	if err := within(startTime, began.Wait); err != nil {
		return nil, err
	}
	time.Sleep(settleTime)
	out := &idling{}
	n := float64(len(keys))
	used, err := g.used(f)
	if err != nil {
		return nil, err
	}
	before, at, err := w.counts(r)
	if err != nil {
		return nil, err
	}
	time.Sleep(o.watch)
	after, later, err := w.counts(r)
	if err != nil {
		return nil, err
	}
	usedAfter, err := g.used(f)
	if err != nil {
		return nil, err
	}
	secs := later.Sub(at).Seconds()
	out.queries, out.requests = (after[0]-before[0])/secs, (after[1]-before[1])/secs
	out.replicaCPU = 1e3 * (usedAfter[useReplicas] - used[useReplicas]).Seconds() / n * 60 / secs
	out.postgresCPU = 1e3 * (usedAfter[usePostgres] - used[usePostgres]).Seconds() / n * 60 / secs
	full, err := r.rss()
	if err != nil {
		return nil, err
	}
	out.kib = (full - empty) / n
	if out.conns, err = g.number(ctx, "SELECT count(*)::float8 FROM pg_stat_activity WHERE application_name LIKE 'bossman%'"); err != nil {
		return nil, err
	}
	mu.Lock()
	if count > 0 {
		err = fmt.Errorf("%d of the workers failed, one with: %w", count, failed)
	}
	mu.Unlock()
	if err != nil {
		return nil, err
	}
	return out, w.newTasks(ctx, r, b, got, out)
}

// newTasks makes tasks, one after the other, and sees what each of them causes beyond
// what goes on anyway.
func (w crew) newTasks(ctx context.Context, r *replica, b *board.Board, got chan struct{}, out *idling) error {
	before, at, err := w.counts(r)
	if err != nil {
		return err
	}
	for i := range newTasks {
		begin := time.Now()
		if _, _, err := b.Create(ctx, board.Actor{Principal: "bench"}, board.NewTask{Project: idleProject, Title: "task " + strconv.Itoa(i), Priority: board.Normal}, ""); err != nil {
			return err
		}
		if w.claims {
			select {
			case <-got:
				out.handed = append(out.handed, time.Since(begin))
			case <-time.After(handTime):
				return errors.New("nobody was given a task that is there")
			}
		}
		time.Sleep(time.Until(begin.Add(apart)))
	}
	time.Sleep(time.Second) // what it causes
	after, later, err := w.counts(r)
	if err != nil {
		return err
	}
	secs := later.Sub(at).Seconds()
	out.perTask = max(0, (after[0]-before[0]-out.queries*secs)/newTasks)
	out.requestsTask = max(0, (after[1]-before[1]-out.requests*secs)/newTasks)
	slices.Sort(out.handed)
	return nil
}

// counts are the replica's transactions and the HTTP requests so far.
func (w crew) counts(r *replica) ([]float64, time.Time, error) {
	const queries = `bossman_db_query_duration_seconds_count{`
	sums, err := r.metrics(queries+`operation="claim"`, queries+`operation="read"`, queries+`operation="write"`, `bossman_http_requests_total`)
	if err != nil {
		return nil, time.Time{}, err
	}
	return []float64{sums[0] + sums[1] + sums[2], sums[3]}, time.Now(), nil
}

// waitByTool waits in a tool call, again and again.
func waitByTool(ctx context.Context, addr string, key auth.Secret, i int, tell signals) error {
	return waitBy(ctx, addr, key, "tools/call", "get_next_task", `{"name":"get_next_task","arguments":{"wait_seconds":`+waitSecs+`}`, `"claim":{"claim":"`, tell)
}

// waitByOperation waits as a laptop does whose agent waits.
func waitByOperation(ctx context.Context, addr string, key auth.Secret, i int, tell signals) error {
	return waitBy(ctx, addr, key, "bossman/next", "", `{"as":{"owner":"p-`+strconv.Itoa(i)+`"},"args":{"Wait":`+waitSecs+`000000000,"Key":"k`+strconv.FormatInt(time.Now().UnixNano(), 36)+strconv.Itoa(i)+`"}`, `"Claim":{`, tell)
}

// waitBy calls until an answer has a word in it, which means a task.
func waitBy(ctx context.Context, addr string, key auth.Secret, method, name, params, word string, tell signals) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	defer context.AfterFunc(ctx, c.close)()
	tell.began()
	for id := 1; ; id++ {
		body, err := c.ask(key, method, name, []byte(params), id)
		if err != nil {
			return err
		}
		if strings.Contains(string(body), word) {
			tell.got()
			<-ctx.Done() // it works now
			return nil
		}
		if err := answerError(body); err != nil && !strings.Contains(err.Error(), "nothing") {
			return err
		}
	}
}

// idleLaptop is all that `bossman mcp` does on a laptop while its agent does nothing.
func idleLaptop(ctx context.Context, addr string, key auth.Secret, _ int, tell signals) error {
	return runLaptop(ctx, addr, key, tell, nil)
}

// watchingLaptop is the same with a client that wants to hear of changes.
func watchingLaptop(ctx context.Context, addr string, key auth.Secret, _ int, tell signals) error {
	return runLaptop(ctx, addr, key, tell, func(s *mcp.Server) error {
		near, far := jsonrpc.Pipe(jsonrpc.Limits{})
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, far) }()
		c, err := mcp.Connect(ctx, near, &mcp.ClientOptions{Revision: mcp.LatestRevision})
		if err != nil {
			return err
		}
		for _, err := range c.Listen(ctx, mcp.EventFilter{ResourceURIs: tools.Watched()}) {
			if err != nil {
				break
			}
		}
		err = c.Close()
		<-served
		return err
	})
}

// atOnce bounds how many laptops connect at a time: there is one machine for all.
var atOnce = make(chan struct{}, 8)

// within waits for something to end.
func within(d time.Duration, wait func()) error {
	ended := make(chan struct{})
	go func() {
		wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(d):
		return fmt.Errorf("not all workers wait after %v", d)
	}
}

// runLaptop runs what the program runs, and a client beside it.
func runLaptop(ctx context.Context, addr string, key auth.Secret, tell signals, client func(*mcp.Server) error) error {
	transport := &http.Transport{MaxIdleConnsPerHost: 2}
	defer transport.CloseIdleConnections()
	b := remote.New(func(ctx context.Context) (*mcp.Client, error) {
		return streamable.Connect(ctx, "http://"+addr+"/mcp", &streamable.ClientOptions{
			Header: http.Header{"Authorization": {"Bearer " + key.Reveal()}}, Transport: transport,
		}, &mcp.ClientOptions{Info: mcp.Implementation{Name: "bench", Version: "1"}, Revision: mcp.LatestRevision})
	}, tools.Watched()...)
	defer b.Close()
	atOnce <- struct{}{}
	_, err := b.Whoami(ctx)
	<-atOnce
	if err != nil {
		return err
	}
	s := mcp.NewServer(mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ServerOptions{Visible: tools.Visible})
	defer s.Close()
	agent := access.Local(auth.Worker, idleProject)
	s.Use(tools.AuthorizeAs(agent))
	t := tools.Register(s, b, &tools.Options{Pipe: agent, Quiet: true})
	var wg sync.WaitGroup
	defer wg.Wait()
	if client != nil {
		wg.Go(func() {
			if err := client(s); err != nil && ctx.Err() == nil {
				say("a laptop's client: %v", err)
			}
		})
	}
	tell.began()
	if err := t.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
