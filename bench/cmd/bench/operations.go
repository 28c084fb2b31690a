package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// An operation is a call of a board whose cost is shown. before prepares it, and is not counted.
type operation struct {
	name   string
	before func(*operator) error
	run    func(*operator) error
}

// An operator calls a board. Its fields are what the operations hand on to each other.
type operator struct {
	ctx      context.Context
	board    *board.Board
	store    *postgres.Store
	worker   board.Actor
	lead     board.Actor
	blocker  board.ID
	held     board.Handle
	question board.Question
	calls    int
}

var opWhere = board.Where{Host: "laptop", Dir: "/home/ada/src/app", Branch: "agent/x", Head: "0123456789abcdef0123456789abcdef01234567"}

func (o *operator) create(n board.NewTask, key string) (board.ID, error) {
	n.Project, n.Title, n.Description, n.Priority = "web", "a title of the usual length", "Do this and that in the file, and test it.", board.Normal
	t, _, err := o.board.Create(o.ctx, o.lead, n, key)
	return t.ID, err
}

// take claims a new task, or id.
func (o *operator) take(id board.ID) (err error) {
	if id.IsZero() {
		if id, err = o.create(board.NewTask{}, ""); err != nil {
			return err
		}
	}
	h, err := o.board.Next(o.ctx, o.worker, board.Wish{Projects: []string{"web"}, Task: id, Where: opWhere})
	if err == nil {
		o.held = h.Claim.Handle
	}
	return err
}

// giveBack ends the claim, so that the next operation finds none in the same place.
func (o *operator) giveBack() error {
	if o.held.IsZero() {
		return nil
	}
	_, err := o.board.Fail(o.ctx, o.worker, o.held, board.Failure{Reason: "over", Kind: board.FailWrongSpec})
	o.held = board.Handle{}
	return err
}

func (o *operator) next() error {
	h, err := o.board.Next(o.ctx, o.worker, board.Wish{Projects: []string{"web"}, Where: opWhere})
	if err == nil {
		o.held = h.Claim.Handle
	}
	return err
}

func taken(o *operator) error { return o.take(board.ID{}) }

func note(o *operator) error {
	_, err := o.board.Progress(o.ctx, o.worker, o.held, board.Note{Text: "read the code, wrote a test, next the fix", Percent: 10, Where: opWhere})
	return err
}

func done(o *operator) error {
	_, err := o.board.Done(o.ctx, o.worker, o.held, board.Report{Summary: "It is done, see the branch.", Where: opWhere})
	o.held = board.Handle{}
	return err
}

func ask(o *operator) (err error) {
	o.question, err = o.board.Ask(o.ctx, o.worker, board.NewQuestion{Claim: o.held, Text: "which one?"})
	return err
}

func answer(o *operator) error {
	_, err := o.board.Answer(o.ctx, o.lead, o.question.ID, "the first")
	return err
}

var operations = []operation{
	{name: "create", run: func(o *operator) error { _, err := o.create(board.NewTask{}, ""); return err }},
	{name: "create with a key", run: func(o *operator) error {
		_, err := o.create(board.NewTask{}, "key "+strconv.Itoa(o.calls))
		return err
	}},
	{name: "create, depends on one", run: func(o *operator) error {
		_, err := o.create(board.NewTask{DependsOn: []board.ID{o.blocker}}, "")
		return err
	}},
	{name: "plan of 50", run: func(o *operator) error {
		p := board.Plan{Project: "web"}
		for i := range 50 {
			t := board.PlanTask{Key: fmt.Sprint("k", i), NewTask: board.NewTask{Title: "a part of the whole", Priority: board.Low}}
			if i > 0 {
				t.After = []string{fmt.Sprint("k", i-1)}
			}
			p.Tasks = append(p.Tasks, t)
		}
		_, err := o.board.CreatePlan(o.ctx, o.lead, p)
		return err
	}},
	{name: "Store.Claim, for one", run: func(o *operator) error {
		claims, err := o.store.Claim(o.ctx, board.Want{Projects: []string{"web"}, Lease: board.DefaultLease, For: []board.Claimant{
			{Worker: board.WorkerID{Principal: "bare", Name: "w" + strconv.Itoa(o.calls)}, New: true, Owner: "bench", Where: opWhere},
		}})
		if err == nil && len(claims) == 0 {
			err = errDrained
		}
		return err
	}},
	{name: "Next", run: (*operator).next},
	{name: "dossier", run: func(o *operator) error { _, err := o.board.Get(o.ctx, o.blocker, 50); return err }},
	{name: "note", before: taken, run: note},
	{name: "note after an answer", before: func(o *operator) error {
		for _, f := range []func(*operator) error{taken, ask, answer} {
			if err := f(o); err != nil {
				return err
			}
		}
		return nil
	}, run: note},
	{name: "done", before: taken, run: done},
	{name: "done, frees one", before: func(o *operator) error {
		id, err := o.create(board.NewTask{}, "")
		if err == nil {
			_, err = o.create(board.NewTask{DependsOn: []board.ID{id}}, "")
		}
		if err == nil {
			err = o.take(id)
		}
		return err
	}, run: done},
	{name: "failed", before: taken, run: func(o *operator) error {
		_, err := o.board.Fail(o.ctx, o.worker, o.held, board.Failure{Reason: "it does not build"})
		o.held = board.Handle{}
		return err
	}},
	{name: "ask", before: taken, run: ask},
	{name: "answer", before: func(o *operator) error {
		if err := taken(o); err != nil {
			return err
		}
		return ask(o)
	}, run: answer},
	{name: "renew", before: taken, run: func(o *operator) error {
		_, err := o.store.Renew(o.ctx, o.held)
		return err
	}},
}

// operationsPart prints what each operation sends to PostgreSQL and what that costs it.
func operationsPart(ctx context.Context, o *options, p *printer) ([]bound, error) {
	c, err := newCluster(o, "shared_preload_libraries = 'pg_stat_statements'", "pg_stat_statements.track_planning = off", "checkpoint_timeout = 30min")
	if c == nil || err != nil {
		return nil, err
	}
	defer remove(c)
	if err := newLoadDatabase(ctx, c, few); err != nil {
		return nil, err
	}
	if err := execute(ctx, c.DSN(loadDB), "CREATE EXTENSION pg_stat_statements"); err != nil {
		return nil, err
	}
	w, err := newWire(c.Addr())
	if err != nil {
		return nil, err
	}
	defer w.close()
	admin, err := pgx.Connect(ctx, c.DSN(loadDB))
	if err != nil {
		return nil, err
	}
	defer admin.Close(ctx)
	p.printf("\n### What an operation of the board sends to PostgreSQL, on average of %d\n", o.rounds)
	p.printf("\n| operation | trips | statements | WAL bytes | pages |\n|---|--:|--:|--:|--:|\n")
	for _, op := range operations {
		if err := countOperation(ctx, o, p, c, w, admin, op); err != nil {
			return nil, fmt.Errorf("%s: %w", op.name, err)
		}
	}
	return nil, nil
}

// countOperation runs an operation o.rounds times on one connection, after a few times that
// prepare its statements.
func countOperation(ctx context.Context, o *options, p *printer, c *pgtest.Cluster, w *wire, admin *pgx.Conn, op operation) error {
	s, err := postgres.Open(ctx, w.dsn(loadDB), &postgres.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	who := &operator{
		ctx: ctx, store: s, board: board.New(s, nil),
		worker: board.Actor{Principal: "ada", Owner: "bench"}, lead: board.Actor{Principal: "bob", Name: "bob", Person: true},
	}
	if who.blocker, err = who.create(board.NewTask{}, ""); err != nil {
		return err
	}
	const warm = 3
	var trips, statements int64
	var wal, pages float64
	for i := range warm + o.rounds {
		who.calls++
		if op.before != nil {
			if err := op.before(who); err != nil {
				return err
			}
		}
		var lsn string
		if err := admin.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text FROM pg_stat_statements_reset()").Scan(&lsn); err != nil {
			return err
		}
		trips0, statements0 := w.trips.Load(), w.statements.Load()
		if err := op.run(who); err != nil {
			return err
		}
		trips1, statements1 := w.trips.Load(), w.statements.Load()
		var bytes, blocks float64
		if err := admin.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - $1::text::pg_lsn)::float8,
	coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`, lsn).Scan(&bytes, &blocks); err != nil {
			return err
		}
		if i >= warm {
			trips, statements, wal, pages = trips+trips1-trips0, statements+statements1-statements0, wal+bytes, pages+blocks
		}
		if err := who.giveBack(); err != nil {
			return err
		}
	}
	n := float64(o.rounds)
	p.printf("| %s | %.1f | %.1f | %.0f | %.0f |\n", op.name, float64(trips)/n, float64(statements)/n, wal/n, pages/n)
	return p.err
}
