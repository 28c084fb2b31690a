package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/mcp/replica"
	"github.com/bossman-dev/bossman/store/postgres"
)

// open opens an empty board.
func open(t *testing.T) board.Store {
	t.Helper()
	return pgtest.Shared(t).Open(t, nil)
}

// write runs f in a transaction, which must succeed.
func write(t testing.TB, s board.Store, f func(board.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// blocked waits until a session of a database waits for a lock that another holds.
func blocked(t *testing.T, c *pgtest.Cluster, db string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN(db))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	eventually(t, "a session waits for a lock", func() bool {
		var waits bool
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
}

func read(t testing.TB, s board.Store, f func(board.Reader) error) {
	t.Helper()
	if err := s.Read(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// seed makes a project with n tasks, each changed by edit.
func seed(t testing.TB, s board.Store, slug string, n int, edit func(i int, task *board.Task)) []board.ID {
	t.Helper()
	ids := make([]board.ID, n)
	write(t, s, func(tx board.Tx) error {
		if err := tx.PutProject(board.Project{Slug: slug, Name: slug, Policy: board.PolicyTrust}); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		first, err := tx.Numbers(slug, n)
		if err != nil {
			return err
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		for i := range n {
			task := board.Task{
				ID: board.ID{Project: slug, No: first + int64(i)}, Title: fmt.Sprintf("task %d", i), Priority: board.Normal,
				Status: board.Pending, MaxFailures: 3, SpecVersion: 1, Seq: 1,
				QueuedAt: now.Add(time.Duration(i) * time.Microsecond), CreatedBy: "ada", CreatedAt: now,
			}
			if edit != nil {
				edit(i, &task)
			}
			ids[i] = task.ID
			if err := tx.InsertTask(task, board.Doc{Description: "d"}); err != nil {
				return err
			}
			if err := tx.Append(board.Event{Task: task.ID, Seq: 1, Actor: "ada", Kind: board.EventCreated, To: board.Pending}); err != nil {
				return err
			}
		}
		return nil
	})
	return ids
}

func claimant(name string) board.Claimant {
	return board.Claimant{
		Worker: board.WorkerID{Principal: "key", Name: name}, Owner: "owner of " + name, Session: "s",
		Where: board.Where{Host: "h", Dir: `/a "b"`, Branch: "main", Uncommitted: 2},
	}
}

func want(slug string, names ...string) board.Want {
	w := board.Want{Projects: []string{slug}, Lease: 10 * time.Minute}
	for _, n := range names {
		w.For = append(w.For, claimant(n))
	}
	return w
}

// Open says what is wrong with a schema, to the program's role too.
func TestOpen_schema(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	c.Roles(t)
	ctx := t.Context()
	c.Exec(t, "postgres", "CREATE DATABASE bare OWNER "+pgtest.Owner)
	defer c.Exec(t, "postgres", "DROP DATABASE bare WITH (FORCE)")
	owner, app := c.DSNAs(pgtest.Owner, "bare"), c.DSNAs(pgtest.App, "bare")
	_, err := postgres.Open(ctx, app, nil)
	if e, ok := errors.AsType[*postgres.SchemaError](err); !ok || e.Have != 0 {
		t.Errorf("Open(no schema) = %v, want a SchemaError", err)
	}
	err = postgres.Grant(ctx, owner, pgtest.App)
	if _, ok := errors.AsType[*postgres.SchemaError](err); !ok {
		t.Errorf("Grant(no schema) = %v, want a SchemaError", err)
	}
	if err := postgres.Migrate(ctx, app); err == nil {
		t.Error("the program's role may migrate")
	}
	if err := postgres.Migrate(ctx, owner); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(ctx, owner); err != nil {
		t.Errorf("Migrate again = %v", err)
	}
	if err := postgres.Grant(ctx, owner, pgtest.App); err != nil {
		t.Fatal(err)
	}
	opens := func(dsn, what string) {
		t.Helper()
		s, err := postgres.Open(ctx, dsn, nil)
		if err != nil {
			t.Errorf("Open(%s) = %v", what, err)
			return
		}
		s.Close()
	}
	opens(app, "as the program")
	opens(owner, "as the owner")
	opens(c.SocketDSN("bare"), "by the socket")

	c.Exec(t, "bare", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	opens(app, "a newer schema that needs no newer program")
	c.Exec(t, "bare", "UPDATE meta SET needs = 99")
	if _, err = postgres.Open(ctx, app, nil); !errors.Is(err, board.ErrTooNew) || !strings.Contains(err.Error(), "install a newer Bossman") {
		t.Errorf("Open(too new) = %v, want ErrTooNew", err)
	}
	c.Exec(t, "bare", "UPDATE meta SET needs = 1", "DELETE FROM goose_db_version WHERE version_id > 1")
	_, err = postgres.Open(ctx, app, nil)
	if e, ok := errors.AsType[*postgres.SchemaError](err); !ok || e.Have != 1 || e.Want != postgres.Schema {
		t.Errorf("Open(old schema) = %v, want a SchemaError", err)
	}
}

// A later migration that only adds does not turn this program away: it goes on beside
// the newer one, with every table it has. docs/design/upgrade.md has the rule.
func TestSchema_laterAdditions(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	before := c.OpenIn(t, db, nil)
	seed(t, before, "first", 2, nil)
	later := []string{
		`CREATE TABLE later (id bigint PRIMARY KEY)`,
		`CREATE INDEX tasks_later ON tasks (title)`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (90000, true)`,
	}
	for table := range postgres.Grants {
		later = append(later, `ALTER TABLE `+table+` ADD COLUMN colour text NOT NULL DEFAULT 'grey', ADD COLUMN mood int`)
	}
	c.Exec(t, db, later...)
	seed(t, before, "second", 2, nil) // its statements were planned before
	after := c.OpenIn(t, db, nil)
	for i, s := range []*postgres.Store{before, after} {
		for _, slug := range []string{"first", "second"} {
			claims, err := s.Claim(t.Context(), want(slug, fmt.Sprint(slug, i)))
			if err != nil || len(claims) != 1 {
				t.Fatalf("Claim = %v, %v", claims, err)
			}
			write(t, s, func(tx board.Tx) error { return giveBack(tx, claims[0]) })
		}
	}
	c.Exec(t, db, `ALTER TABLE events DISABLE TRIGGER ALL; DELETE FROM tasks; DELETE FROM events; DELETE FROM attempts; DELETE FROM workers; DELETE FROM projects;
		ALTER TABLE events ENABLE TRIGGER ALL`)
	roundTrip(t, after)
	d := replica.TaskRecord{ID: "a", Status: replica.TaskWorking}
	if err := before.DurableCalls().Create(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
	if _, err := after.DurableCalls().Update(t.Context(), "a", func(d *replica.TaskRecord) error {
		d.Status = replica.TaskCompleted
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := before.Sessions().Update(t.Context(), "a", time.Now(), func(st *replica.SessionState) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := before.SealKeys().Keys(t.Context()); err != nil {
		t.Error(err)
	}
	if err := after.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

// Schema is the number of the newest migration.
func TestSchema_number(t *testing.T) {
	files, err := filepath.Glob("migration/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if newest := filepath.Base(slices.Max(files)); !strings.HasPrefix(newest, fmt.Sprintf("%05d_", postgres.Schema)) {
		t.Errorf("the newest migration is %s and Schema is %d", newest, postgres.Schema)
	}
}

// Everything that is written comes back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	roundTrip(t, open(t))
}

func roundTrip(t *testing.T, s board.Store) {
	t.Helper()
	seed(t, s, "web", 3, nil)
	var now time.Time
	parent, other := board.ID{Project: "web", No: 1}, board.ID{Project: "web", No: 2}
	id := board.ID{Project: "web", No: 7}
	task := board.Task{
		ID: id, Title: "t", Priority: board.Low, Skills: []string{"go", "sql"}, Areas: []string{"a/b", "c"},
		Wants: []board.EvidenceKind{board.EvidencePR, board.EvidenceTests}, Parent: parent, Redoes: other, Hold: true, Status: board.Waiting,
		Attempt: 3, Nonce: "abcde", Failures: 1, MaxFailures: 5, Lease: 90 * time.Second, SpecVersion: 4,
		OpenBlockers: 1, OpenChildren: 2, DoneChildren: 3, ReservedFor: board.WorkerID{Principal: "p", Name: "n"},
		Seq: 9, CreatedBy: "ada",
	}
	doc := board.Doc{Description: "d", Acceptance: "a", Result: &board.Result{
		Summary: "s", Evidence: []board.Evidence{{Kind: board.EvidencePR, Ref: "r", Detail: "x"}},
		Artifacts: []string{"f"}, Branch: "b", Worker: "w",
	}}
	attempt := board.Attempt{Handle: board.Handle{Task: id, Attempt: 3, Nonce: "abcde"}, Worker: board.WorkerID{Principal: "p", Name: "n"}, Owner: "o", SpecVersion: 4, Where: board.Where{Host: "h"}}
	claim := board.Claim{Handle: attempt.Handle, Worker: attempt.Worker, Owner: "o", Lease: time.Minute, Deliveries: 2, Session: "s", Where: attempt.Where}
	question := board.Question{
		Project: "web", Claim: attempt.Handle, Asker: attempt.Worker, Owner: "o", ChatID: "c", Text: "?",
		Options: []string{"x", "y"}, Default: "x", Blocking: true, HumanOnly: true, State: board.QuestionOpen,
	}
	event := board.Event{Task: id, Seq: 9, Actor: "ada", Kind: board.EventEdited, From: board.Pending, To: board.Waiting, Detail: board.Detail{
		Attempt: 1, Nonce: "n", Worker: "w", Text: "te\"xt", Cause: board.CauseDone, Percent: 4, Question: 5, Where: board.Where{Dir: "d"},
		Fields: []string{"title"}, Late: true, SpecNow: 6, LeaseSecs: 7,
	}}
	write(t, s, func(tx board.Tx) (err error) {
		if now, err = tx.Now(); err != nil {
			return err
		}
		task.QueuedAt, task.CreatedAt, task.NotBefore, task.EndedAt = now, now, now.Add(time.Hour), now
		claim.GrantedAt, claim.LeaseUntil = now, now.Add(time.Minute)
		attempt.GrantedAt, question.AskedAt, question.NeededBy = now, now, now.Add(time.Second)
		for _, err := range []error{
			tx.InsertTask(task, doc), tx.InsertClaim(claim, task.Areas), tx.InsertAttempt(attempt),
			tx.Append(board.Event{Task: id, Seq: 8, Actor: "ada", Kind: board.EventCreated, To: board.Pending}), tx.Append(event), // counts are those of events
			tx.Link(id, other), tx.Link(id, other), tx.Link(parent, id), tx.LockProject("web"),
		} {
			if err != nil {
				return err
			}
		}
		question.ID, err = tx.InsertQuestion(question)
		return err
	})
	read(t, s, func(r board.Reader) error {
		d, err := r.Dossier(id, 1)
		if err != nil {
			return err
		}
		if len(d.Events) != 1 || d.Events[0].Cursor == "" || d.Events[0].At.IsZero() {
			t.Fatalf("Dossier events = %+v", d.Events)
		}
		got := d.Events[0]
		got.At, got.Cursor = time.Time{}, ""
		for _, x := range []struct{ what, got, want any }{
			{"task", d.Task, task},
			{"doc", d.Doc, doc},
			{"claim", *d.Claim, claim},
			{"attempts", d.Attempts, []board.Attempt{attempt}},
			{"questions", d.Questions, []board.Question{question}},
			{"event", got, event},
			{"blockers", []board.ID{d.Blockers[0].ID}, []board.ID{other}},
			{"dependents", []board.ID{d.Dependents[0].ID}, []board.ID{parent}},
		} {
			if !reflect.DeepEqual(x.got, x.want) {
				t.Errorf("%s = %+v\nwant %+v", x.what, x.got, x.want)
			}
		}
		st, err := r.Standing(claim.Worker)
		if err != nil || st.Claim == nil || *st.Claim != claim || st.Worker != (board.Worker{}) || !st.Reserved.IsZero() {
			t.Errorf("Standing = %+v, %v", st, err)
		}
		children, err := r.Tasks(board.TaskFilter{Parent: parent})
		if err != nil || len(children) != 1 {
			t.Errorf("Tasks(parent) = %v, %v", children, err)
		}
		_, err = r.Dossier(board.ID{Project: "web", No: 99}, 5)
		if !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Dossier(none) = %v", err)
		}
		c, err := r.Counts(nil)
		if err != nil || c.Ready != 3 || c.Total() != 4 || c.Status[board.Waiting] != 1 {
			t.Errorf("Counts = %+v, %v", c, err)
		}
		return nil
	})

	// Changes.
	task.Skills, task.Status, task.Hold, task.OpenBlockers, task.OpenChildren = nil, board.Pending, false, 0, 0
	task.Seq = 10
	if err := s.Write(t.Context(), func(tx board.Tx) error { return tx.UpdateTask(task, 8) }); !errors.Is(err, board.ErrConflict) {
		t.Errorf("UpdateTask(old seq) = %v, want ErrConflict", err)
	}
	write(t, s, func(tx board.Tx) error {
		if err := tx.InsertClaim(claim, nil); !errors.Is(err, board.ErrConflict) {
			t.Errorf("InsertClaim twice = %v, want ErrConflict", err)
		}
		if _, err := tx.Lock(id, board.ID{Project: "web", No: 99}); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Lock(none) = %v, want ErrNotFound", err)
		}
		if err := tx.UpdateTask(task, 9); err != nil {
			return err
		}
		locked, err := tx.Lock(id, parent, id)
		if err != nil || len(locked) != 2 || locked[0].ID != parent || !reflect.DeepEqual(locked[1], task) {
			t.Errorf("Lock = %+v, %v\nwant %+v", locked, err, task)
		}
		claim.Deliveries = 3
		if err := tx.UpdateClaim(claim); err != nil {
			return err
		}
		if c, err := tx.LiveClaim(id); err != nil || c != claim {
			t.Errorf("LiveClaim = %+v, %v", c, err)
		}
		if err := tx.DeleteClaim(id); err != nil {
			return err
		}
		if _, err := tx.LiveClaim(id); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("LiveClaim after its end = %v", err)
		}
		question.State, question.Answer, question.AnsweredBy, question.AnsweredAt = board.QuestionAnswered, "x", "ada", now
		if err := tx.UpdateQuestion(question); err != nil {
			return err
		}
		if err := tx.UpdateQuestion(question); !errors.Is(err, board.ErrConflict) {
			t.Errorf("UpdateQuestion twice = %v, want ErrConflict", err)
		}
		q, err := tx.Question(question.ID)
		if err != nil || !reflect.DeepEqual(q, question) {
			t.Errorf("Question = %+v, %v", q, err)
		}
		st, err := tx.Standing(task.ReservedFor)
		if err != nil || st.Reserved != id {
			t.Errorf("Standing.Reserved = %v, %v, want %v", st.Reserved, err, id)
		}
		b, d, err := tx.Links(id)
		if err != nil || len(b) != 1 || len(d) != 1 || b[0] != other || d[0] != parent {
			t.Errorf("Links = %v, %v, %v", b, d, err)
		}
		return tx.Unlink(id, other)
	})
}

func TestTasks_filters(t *testing.T) {
	t.Parallel()
	s := open(t)
	seed(t, s, "web", 5, func(i int, task *board.Task) {
		if i%2 == 0 {
			task.Skills = []string{"go"}
		}
		if i == 4 {
			task.Hold = true
		}
		task.Title = fmt.Sprintf("Fix 100%% of _%d_", i)
	})
	seed(t, s, "api", 2, nil)
	if _, err := s.Claim(t.Context(), want("web", "otter")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		f    board.TaskFilter
		want string
	}{
		{board.TaskFilter{}, "[api-1 api-2 web-1 web-2 web-3 web-4 web-5]"},
		{board.TaskFilter{Projects: []string{}}, "[]"},
		{board.TaskFilter{Projects: []string{"web"}, Limit: 2}, "[web-1 web-2]"},
		{board.TaskFilter{Limit: 2, After: board.ID{Project: "api", No: 1}}, "[api-2 web-1]"},
		{board.TaskFilter{Skill: "go"}, "[web-1 web-3 web-5]"},
		{board.TaskFilter{Skill: "go", Ready: true}, "[web-3]"},
		{board.TaskFilter{Worker: "otter"}, "[web-1]"},
		{board.TaskFilter{Statuses: []board.Status{board.InProgress, board.Done}}, "[web-1]"},
		{board.TaskFilter{Query: "fix 100% OF _3"}, "[web-4]"},
	} {
		read(t, s, func(r board.Reader) error {
			tasks, err := r.Tasks(tt.f)
			ids := []board.ID{}
			for _, x := range tasks {
				ids = append(ids, x.ID)
			}
			if got := fmt.Sprint(ids); got != tt.want {
				t.Errorf("Tasks(%+v) = %v, want %v", tt.f, got, tt.want)
			}
			return err
		})
	}
}

// The first ready tasks are found by their numbers, in lanes with few of them and with many.
func TestTasks_ready(t *testing.T) {
	t.Parallel()
	s := open(t)
	var want, fit []board.ID
	for i, id := range seed(t, s, "web", 420, func(i int, task *board.Task) {
		task.Hold = i%3 == 0
		task.Priority = board.Priority(i % 4)
		if i%2 == 0 {
			task.Skills = []string{"go"}
		}
	}) {
		if i%3 != 0 {
			want = append(want, id)
			if i%2 == 0 {
				fit = append(fit, id)
			}
		}
	}
	few := seed(t, s, "api", 9, nil)
	read(t, s, func(r board.Reader) error {
		for _, tt := range []struct {
			f    board.TaskFilter
			want []board.ID
		}{
			{board.TaskFilter{Projects: []string{"web"}, Ready: true}, want},
			{board.TaskFilter{Projects: []string{"web"}, Ready: true, Limit: 50}, want[:50]},
			{board.TaskFilter{Projects: []string{"web"}, Ready: true, Limit: 50, After: want[49]}, want[50:100]},
			{board.TaskFilter{Projects: []string{"web"}, Ready: true, Skill: "go"}, fit},
			{board.TaskFilter{Projects: []string{"api"}, Ready: true}, few},
			{board.TaskFilter{Projects: []string{"api"}, Ready: true, Limit: 3, After: few[1]}, few[2:5]},
		} {
			tasks, err := r.Tasks(tt.f)
			if err != nil {
				return err
			}
			var got []board.ID
			for _, task := range tasks {
				got = append(got, task.ID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Tasks(%+v) = %v, want %v", tt.f, got, tt.want)
			}
		}
		return nil
	})
}

// A key that another transaction is using is waited for; what it kept is given.
func TestOnce(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	k := board.Key{Principal: "p", Key: "k", Op: "create", Hash: "h"}
	claimed, second := make(chan struct{}), make(chan *board.Kept, 1)
	go func() {
		<-claimed
		err := s.Write(context.WithoutCancel(t.Context()), func(tx board.Tx) error {
			kept, err := tx.Once(k)
			second <- kept
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}()
	write(t, s, func(tx board.Tx) error {
		if kept, err := tx.Once(k); err != nil || kept != nil {
			t.Errorf("Once = %v, %v, want nothing kept", kept, err)
		}
		close(claimed)
		blocked(t, c, db)
		return tx.Keep(k, "answer")
	})
	if kept := <-second; kept == nil || *kept != (board.Kept{Op: "create", Hash: "h", Answer: "answer"}) {
		t.Errorf("second Once = %+v", kept)
	}
	write(t, s, func(tx board.Tx) error { return tx.Forget(0) })
	write(t, s, func(tx board.Tx) error {
		if kept, err := tx.Once(k); err != nil || kept != nil {
			t.Errorf("Once after Forget = %v, %v", kept, err)
		}
		return nil
	})
}

// A transaction that another deadlocks with is run again.
func TestWrite_deadlock(t *testing.T) {
	t.Parallel()
	s := open(t)
	ids := seed(t, s, "web", 2, nil)
	var meet sync.WaitGroup
	meet.Add(2)
	errs := make(chan error, 2)
	for i := range 2 {
		go func() {
			runs := 0
			errs <- s.Write(t.Context(), func(tx board.Tx) error {
				runs++
				if _, err := tx.Lock(ids[i]); err != nil {
					return err
				}
				if runs == 1 {
					meet.Done()
					meet.Wait()
				}
				_, err := tx.Lock(ids[1-i])
				return err
			})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestEvents_stay(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 1, nil)
	c.Exec(t, db, `DO $$ BEGIN
		BEGIN UPDATE events SET actor = 'x'; EXCEPTION WHEN integrity_constraint_violation THEN NULL; END;
		BEGIN DELETE FROM events; EXCEPTION WHEN integrity_constraint_violation THEN NULL; END;
		BEGIN TRUNCATE events; EXCEPTION WHEN integrity_constraint_violation THEN NULL; END;
		IF (SELECT count(*) FROM events WHERE actor = 'ada') <> 1 THEN RAISE 'changed'; END IF;
	END $$`)
}

func TestInvalidText(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.Write(t.Context(), func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: "web", Name: "a\x00b"}) })
	if !errors.Is(err, board.ErrInvalid) {
		t.Errorf("PutProject(NUL) = %v, want ErrInvalid", err)
	}
}

// Whoever waited for a task's lock sees what the other made of it.
func TestLock_afterEdit(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.Database(t)
	s := c.OpenIn(t, db, nil)
	id := seed(t, s, "web", 1, nil)[0]
	locked := make(chan board.Task, 1)
	write(t, s, func(tx board.Tx) error {
		tasks, err := tx.Lock(id)
		if err != nil {
			return err
		}
		go func() {
			err := s.Write(context.WithoutCancel(t.Context()), func(tx board.Tx) error {
				tasks, err := tx.Lock(id)
				if err == nil {
					locked <- tasks[0]
				}
				return err
			})
			if err != nil {
				t.Error(err)
				close(locked)
			}
		}()
		blocked(t, c, db)
		task := tasks[0]
		task.Skills, task.Title = []string{"go"}, "new"
		task.Seq++
		return tx.UpdateTask(task, task.Seq-1)
	})
	if task := <-locked; task.Title != "new" || len(task.Skills) != 1 || task.Seq != 2 {
		t.Errorf("Lock = %+v, want the new title and skills", task)
	}
}

func TestLanes_bounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	seed(t, s, "web", 64, func(i int, task *board.Task) { task.Skills = []string{fmt.Sprint("s", i)} })
	err := s.Write(t.Context(), func(tx board.Tx) error {
		tasks, err := tx.Lock(board.ID{Project: "web", No: 1})
		if err != nil {
			return err
		}
		task := tasks[0]
		task.Skills = []string{"another"}
		task.Seq++
		return tx.UpdateTask(task, task.Seq-1)
	})
	if !errors.Is(err, board.ErrConflict) {
		t.Errorf("a 65th set of skills = %v, want ErrConflict", err)
	}
}

// A full disk is said to be full: to try again helps nobody.
func TestWrite_diskFull(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, nil)
	seed(t, s, "web", 1, nil)
	c.Exec(t, db, `CREATE FUNCTION filled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'could not extend file "base/5/16384": No space left on device' USING ERRCODE = 'disk_full'; END $$`,
		`CREATE TRIGGER filled BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION filled()`)
	_, _, err := board.New(s, nil).Create(t.Context(), board.Actor{Principal: "ada"}, board.NewTask{Project: "web", Title: "t"}, "")
	if !errors.Is(err, board.ErrFull) || errors.Is(err, board.ErrUnavailable) {
		t.Errorf("Create = %v, want ErrFull", err)
	}
}
