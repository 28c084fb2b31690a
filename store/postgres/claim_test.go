package postgres_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
	"github.com/bossman-dev/bossman/store/postgres"
)

// The statement writes what board.Grant writes, to the letter.
func TestClaim_likeGrant(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	for _, lease := range []time.Duration{0, 300 * time.Millisecond, 90500 * time.Millisecond} {
		for _, who := range []board.Claimant{claimant("otter"), {Worker: board.WorkerID{Principal: "p", Name: `a"\<é`}}} {
			t.Run(fmt.Sprint(lease, who.Worker.Name), func(t *testing.T) {
				type outcome struct {
					dossier board.Dossier
					worker  board.Worker
					claim   board.Claim
					detail  string
					areas   []string
				}
				var got [2]outcome
				for i := range got {
					o := &got[i]
					db := c.Database(t)
					s := c.OpenIn(t, db, nil)
					id := seed(t, s, "web", 1, func(_ int, task *board.Task) {
						task.Lease, task.Areas, task.Skills, task.Attempt = lease, []string{"a/b", "a"}, []string{"go"}, 4
					})[0]
					w := board.Want{Projects: []string{"web"}, For: []board.Claimant{who}, Lease: 20 * time.Minute}
					if i == 0 {
						claims, err := s.Claim(t.Context(), w)
						if err != nil || len(claims) != 1 {
							t.Fatalf("Claim = %v, %v", claims, err)
						}
						o.claim = claims[0]
					} else {
						write(t, s, func(tx board.Tx) error {
							tasks, err := tx.Lock(id)
							if err != nil {
								return err
							}
							o.claim, err = board.Grant(tx, tasks[0], who, w.Lease)
							return err
						})
					}
					read(t, s, func(r board.Reader) (err error) {
						if o.dossier, err = r.Dossier(id, 10); err != nil {
							return err
						}
						st, err := r.Standing(who.Worker)
						o.worker = st.Worker
						return err
					})
					if *o.dossier.Claim != o.claim {
						t.Errorf("claim = %+v, stored %+v", o.claim, *o.dossier.Claim)
					}
					if a := o.dossier.Attempts[0]; o.worker.LastSeen != o.claim.GrantedAt || a.GrantedAt != o.claim.GrantedAt || a.Nonce != o.claim.Nonce ||
						o.dossier.Task.Nonce != a.Nonce || o.claim.LeaseUntil.Sub(o.claim.GrantedAt) != o.claim.Lease {
						t.Errorf("times or nonces differ within %+v", o)
					}
					conn, err := pgx.Connect(t.Context(), c.DSN(db))
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close(t.Context())
					if err := conn.QueryRow(t.Context(), `SELECT detail::text, ARRAY(SELECT concat(project_id, path, self, task_id) FROM claim_areas ORDER BY 1)
						FROM events WHERE kind = 'claimed'`).Scan(&o.detail, &o.areas); err != nil {
						t.Fatal(err)
					}
					// What differs by chance, and by the clock.
					o.detail = strings.ReplaceAll(o.detail, o.claim.Nonce, "NONCE")
					d := &o.dossier
					d.Now, d.Claim = time.Time{}, nil
					o.claim.Nonce, d.Task.Nonce, d.Attempts[0].Nonce = "", "", ""
					o.claim.GrantedAt, o.claim.LeaseUntil, o.claim.LastCall, o.worker.LastSeen, d.Attempts[0].GrantedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
					d.Task.QueuedAt, d.Task.CreatedAt = time.Time{}, time.Time{}
					for i := range d.Events {
						e := &d.Events[i]
						e.At, e.Cursor, e.Detail.Nonce = time.Time{}, "", ""
					}
				}
				if !reflect.DeepEqual(got[0], got[1]) {
					t.Errorf("Claim writes %+v\nGrant writes %+v", got[0], got[1])
				}
			})
		}
	}
}

func TestClaim_choice(t *testing.T) {
	t.Parallel()
	s := open(t)
	next := func(w board.Want) string {
		t.Helper()
		claims, err := s.Claim(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range claims {
			ids = append(ids, c.Task.String())
		}
		return strings.Join(ids, " ")
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	seed(t, s, "web", 8, func(i int, task *board.Task) {
		switch i {
		case 0:
			task.Hold = true
		case 1:
			task.OpenBlockers = 1
		case 2:
			task.NotBefore = task.QueuedAt.Add(time.Hour)
		case 4:
			task.Priority = board.High
		case 5:
			task.Skills = []string{"go", "sql"}
			task.Priority = board.Urgent
		case 6:
			task.Lease = time.Minute
		}
	})
	// web-6 is urgent and wants skills, web-5 is high, web-4, web-7 and web-8 normal.
	w := want("web", "a")
	w.Skills = []string{}
	check("no skills", next(w), "web-5")
	check("a worker that has one", next(w), "")
	w = want("web", "b")
	w.Skills = []string{"go", "rust", "sql"}
	check("skills", next(w), "web-6")

	pause := func(p board.Project) {
		write(t, s, func(tx board.Tx) error { return tx.PutProject(p) })
	}
	pause(board.Project{Slug: "web", PausedBy: "ada"})
	check("paused", next(want("web", "c")), "")
	pause(board.Project{Slug: "web", Archived: true})
	check("archived", next(want("web", "c")), "")
	pause(board.Project{Slug: "web", Lease: 5 * time.Minute})

	write(t, s, func(tx board.Tx) error {
		now, err := tx.Now()
		if err != nil {
			return err
		}
		for _, d := range []struct {
			name  string
			no    int64
			until time.Duration
		}{{"c", 4, time.Hour}, {"c", 7, -time.Second}, {"d", 4, -time.Second}} {
			if err := tx.Decline(board.WorkerID{Principal: "key", Name: d.name}, board.ID{Project: "web", No: d.no}, now.Add(d.until)); err != nil {
				return err
			}
		}
		return tx.PutWorker(board.Worker{WorkerID: board.WorkerID{Principal: "key", Name: "x"}, LastSeen: now, StoppedBy: "ada"})
	})
	check("stopped", next(want("web", "x")), "")
	// c has declined web-4, so it gets the next; of several, d gets web-4.
	claims, err := s.Claim(t.Context(), want("web", "c", "d"))
	if err != nil || len(claims) != 2 {
		t.Fatalf("Claim(c, d) = %v, %v", claims, err)
	}
	for _, c := range claims {
		switch {
		case c.Worker.Name == "c" && c.Task.No == 7 && c.Lease == time.Minute:
		case c.Worker.Name == "d" && c.Task.No == 4 && c.Lease == 5*time.Minute:
		default:
			t.Errorf("Claim(c, d) gave %v to %s for %v", c.Task, c.Worker.Name, c.Lease)
		}
	}
	check("more claimants than tasks", next(want("web", "e", "f", "g")), "web-8")
	check("nothing left", next(want("web", "f", "g")), "")
	check("no such project", next(want("api", "f")), "")
}

// Overlapping tasks come last, within their priority.
func TestClaim_areas(t *testing.T) {
	t.Parallel()
	s := open(t)
	areas := [][]string{{"web/src"}, {"web/src/api"}, {"web"}, {"."}, {"webx"}, {"docs"}, {"web/src"}}
	seed(t, s, "web", len(areas), func(i int, task *board.Task) {
		task.Areas = areas[i]
		if i == 6 {
			task.Priority = board.High
		}
	})
	var order []int64
	for i := range areas {
		claims, err := s.Claim(t.Context(), want("web", fmt.Sprint("w", i)))
		if err != nil || len(claims) != 1 {
			t.Fatalf("Claim = %v, %v", claims, err)
		}
		order = append(order, claims[0].Task.No)
	}
	// 7 has priority; 5 and 6 are free of overlap, then the rest by age.
	if got := fmt.Sprint(order); got != "[7 5 6 1 2 3 4]" {
		t.Errorf("order = %v", got)
	}
	write(t, s, func(tx board.Tx) error {
		for i := range areas {
			if err := tx.DeleteClaim(board.ID{Project: "web", No: int64(i + 1)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Of several projects each gets its turn.
func TestClaim_draw(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, slug := range []string{"a", "b", "c"} {
		seed(t, s, slug, 40, nil)
	}
	seed(t, s, "d", 0, nil)
	count := map[string]int{}
	for i := range 60 {
		w := want("a", fmt.Sprint("w", i))
		w.Projects = []string{"a", "b", "c", "d"}
		claims, err := s.Claim(t.Context(), w)
		if err != nil || len(claims) != 1 {
			t.Fatalf("Claim = %v, %v", claims, err)
		}
		count[claims[0].Task.Project]++
	}
	if len(count) != 3 || count["a"] < 5 || count["b"] < 5 || count["c"] < 5 {
		t.Errorf("drawn: %v", count)
	}
}

// Many claim at once, some give back: no attempt is granted twice, and every task is
// granted.
func TestClaim_concurrent(t *testing.T) {
	t.Parallel()
	c := pgtest.Shared(t)
	db := c.NewDatabase(t)
	s := c.OpenIn(t, db, &postgres.Options{MaxConns: 32})
	const tasks, clients = 2000, 32
	seed(t, s, "web", tasks, func(i int, task *board.Task) {
		if i%3 == 0 {
			task.Skills = []string{fmt.Sprint("s", i%5)}
		}
		task.Areas = []string{fmt.Sprintf("dir%d/x", i%7)}
	})
	c.Exec(t, db, "ANALYZE")
	var (
		mu      sync.Mutex
		granted = map[string]int{}
		held    atomic.Int64
		wg      sync.WaitGroup
		begin   = time.Now()
	)
	for i := range clients {
		wg.Go(func() {
			for j := 0; held.Load() < tasks; j++ {
				n := 1 + j%3
				var names []string
				for k := range n {
					names = append(names, fmt.Sprintf("w%d-%d-%d", i, j, k))
				}
				claims, err := s.Claim(t.Context(), want("web", names...))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, c := range claims {
					granted[fmt.Sprint(c.Task, "/", c.Attempt)]++
				}
				mu.Unlock()
				for k, c := range claims {
					if (j+k)%16 == 15 {
						if err := s.Write(t.Context(), func(tx board.Tx) error { return giveBack(tx, c) }); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					held.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d grants by %d clients in %v", len(granted), clients, time.Since(begin).Round(time.Millisecond))
	for k, n := range granted {
		if n != 1 {
			t.Errorf("%s was granted %d times", k, n)
		}
	}
	c.Exec(t, db, `DO $$ BEGIN
		IF (SELECT count(*) FROM claims) <> 2000 THEN RAISE 'claims: %', (SELECT count(*) FROM claims); END IF;
		IF EXISTS (SELECT FROM tasks t WHERE t.attempt <> (SELECT count(*) FROM attempts a WHERE a.task_id = t.id)
			OR t.attempt <> (SELECT max(attempt) FROM attempts a WHERE a.task_id = t.id)
			OR t.seq <> (SELECT count(*) FROM events e WHERE e.task_id = t.id)
			OR NOT EXISTS (SELECT FROM claims c WHERE c.task_id = t.id AND c.attempt = t.attempt AND c.nonce = t.nonce)) THEN
			RAISE 'a task and its attempts differ';
		END IF;
		IF EXISTS (SELECT FROM claim_areas a WHERE NOT EXISTS (SELECT FROM claims c WHERE c.task_id = a.task_id)) THEN RAISE 'areas without a claim'; END IF;
	END $$`)
}

func giveBack(tx board.Tx, c board.Claim) error {
	tasks, err := tx.Lock(c.Task)
	if err != nil {
		return err
	}
	task := tasks[0]
	if task.Attempt != c.Attempt || task.Nonce != c.Nonce {
		return errors.New("the claim is not ours")
	}
	task.Status = board.Pending
	task.Seq++
	if err := tx.UpdateTask(task, task.Seq-1); err != nil {
		return err
	}
	if err := tx.DeleteClaim(c.Task); err != nil {
		return err
	}
	return tx.Append(board.Event{Task: c.Task, Seq: task.Seq, Actor: c.Worker.Name, Kind: board.EventReleased, From: board.InProgress, To: board.Pending})
}

// A task that somebody has locked is passed over without a wait, and comes later.
func TestClaim_skipsLocked(t *testing.T) {
	t.Parallel()
	s := open(t)
	ids := seed(t, s, "web", 3, nil)
	write(t, s, func(tx board.Tx) error {
		if _, err := tx.Lock(ids[0]); err != nil {
			return err
		}
		began := time.Now()
		claims, err := s.Claim(t.Context(), want("web", "a"))
		if err != nil || len(claims) != 1 || claims[0].Task != ids[1] {
			t.Errorf("Claim = %v, %v, want %v", claims, err, ids[1])
		}
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("Claim took %v", d)
		}
		return nil
	})
	claims, err := s.Claim(t.Context(), want("web", "b"))
	if err != nil || len(claims) != 1 || claims[0].Task != ids[0] {
		t.Errorf("Claim = %v, %v, want %v, the oldest", claims, err, ids[0])
	}
}

// The sweep does not take a claim that is renewed while it looks, and a renewal that
// comes after the sweep's lock finds nothing.
func TestExpired(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	db := cluster.Database(t)
	s := cluster.OpenIn(t, db, nil)
	ids := seed(t, s, "web", 3, nil)
	claims, err := s.Claim(t.Context(), want("web", "a", "b", "c"))
	if err != nil || len(claims) != 3 {
		t.Fatalf("Claim = %v, %v", claims, err)
	}
	byTask := map[board.ID]board.Claim{}
	for _, c := range claims {
		byTask[c.Task] = c
	}
	expired := func(tx board.Tx) []board.ID {
		t.Helper()
		tasks, err := tx.Expired(10)
		if err != nil {
			t.Fatal(err)
		}
		var found []board.ID
		for _, x := range tasks {
			found = append(found, x.ID)
		}
		return found
	}
	write(t, s, func(tx board.Tx) error {
		if found := expired(tx); found != nil {
			t.Errorf("Expired at once = %v", found)
		}
		return nil
	})
	cluster.Exec(t, db, "UPDATE claims SET lease_until = clock_timestamp()") // all leases end
	// Somebody works on the second task, and revives it; another gave the third more time.
	write(t, s, func(tx board.Tx) error {
		if _, err := tx.Lock(ids[1]); err != nil {
			return err
		}
		c := byTask[ids[2]]
		now, err := tx.Now()
		if err != nil {
			return err
		}
		c.LeaseUntil = now.Add(time.Minute)
		if err := s.Write(t.Context(), func(tx board.Tx) error { return tx.UpdateClaim(c) }); err != nil {
			return err
		}
		return s.Write(t.Context(), func(tx2 board.Tx) error {
			if found := expired(tx2); !reflect.DeepEqual(found, ids[:1]) {
				t.Errorf("Expired = %v, want %v", found, ids[:1])
			}
			ok, err := s.Renew(t.Context(), byTask[ids[0]].Handle)
			if ok {
				t.Error("Renew succeeded after the sweep")
			}
			if err != nil {
				return err
			}
			return tx2.DeleteClaim(ids[0])
		})
	})
}

// Workers renew at the last moment while a sweep runs: what it is given has run out.
func TestExpired_renewals(t *testing.T) {
	t.Parallel()
	s := open(t)
	const n = 8
	seed(t, s, "web", n, func(_ int, task *board.Task) { task.Lease = 25 * time.Millisecond })
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("w", i))
	}
	claims, err := s.Claim(t.Context(), want("web", names...))
	if err != nil || len(claims) != n {
		t.Fatalf("Claim = %v, %v", claims, err)
	}
	var renewed, swept atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(1500 * time.Millisecond)
	for i, c := range claims {
		wg.Go(func() {
			for j := i; time.Now().Before(end); j++ {
				ok, err := s.Renew(t.Context(), c.Handle)
				if ok {
					renewed.Add(1)
				} else if err == nil {
					// Too late; start again as a call that names the claim would.
					err = s.Write(t.Context(), func(tx board.Tx) error {
						now, err := tx.Now()
						if err != nil {
							return err
						}
						if _, err := tx.Lock(c.Task); err != nil {
							return err
						}
						c.LeaseUntil = now.Add(c.Lease)
						return tx.UpdateClaim(c)
					})
				}
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Duration(j%5) * 6 * time.Millisecond)
			}
		})
	}
	for time.Now().Before(end) {
		write(t, s, func(tx board.Tx) error {
			tasks, err := tx.Expired(n)
			if err != nil {
				return err
			}
			for _, task := range tasks {
				c, err := tx.LiveClaim(task.ID)
				if err != nil {
					return err
				}
				now, err := tx.Now()
				if err != nil {
					return err
				}
				if c.LeaseUntil.After(now) {
					t.Errorf("Expired gave %v, whose claim has %v left", task.ID, c.LeaseUntil.Sub(now))
				}
				swept.Add(1)
			}
			return nil
		})
	}
	wg.Wait()
	t.Logf("%d renewals, %d found expired", renewed.Load(), swept.Load())
}
