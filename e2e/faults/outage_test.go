package faults

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/e2e/faults/history"
)

// outageLease is the lease of the holders here: shorter ones are not protected.
const outageLease = board.MinProtected

// outages returns how long nobody can be heard. With BOSSMAN_OUTAGES set, it is tried in
// full, and the claims of dead holders are waited for.
func outages() (list []time.Duration, full bool) {
	if os.Getenv("BOSSMAN_OUTAGES") == "" {
		return []time.Duration{outageLease + 2*time.Second}, false
	}
	return []time.Duration{outageLease / 2, 2 * outageLease, 10 * outageLease}, true
}

// PostgreSQL goes away, and the replicas of the server are restarted meanwhile. No living
// holder loses its claim, and the tasks of dead ones are free within a lease and two seconds
// of the return.
func TestOutage_postgres(t *testing.T) {
	list, full := outages()
	for _, outage := range list {
		t.Run(outage.String(), func(t *testing.T) {
			t.Parallel()
			r, c := onPostgres(t)
			o := newOutage(r, 100, 20)
			replica := func() *process { return r.start("-agents", "0", "-lease", outageLease.String()) }
			replicas := []*process{replica(), replica()}
			o.hold("-sweep=false")
			if err := c.Stop("fast"); err != nil {
				t.Fatal(err)
			}
			for _, p := range replicas {
				p.kill()
			}
			time.Sleep(outage)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			returned := time.Now()
			replicas = []*process{replica(), replica(), replica()}
			o.check(returned, full)
			for _, p := range replicas {
				p.stop()
			}
			o.finish()
		})
	}
}

// All processes that have a board in a file open are suspended, as with the machine.
func TestOutage_sqlite(t *testing.T) {
	list, full := outages()
	for _, outage := range list {
		t.Run(outage.String(), func(t *testing.T) {
			t.Parallel()
			r := onSQLite(t)
			o := newOutage(r, 20, 0)
			o.hold()
			if err := o.living.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			time.Sleep(outage)
			// Somebody looks for work at the very moment.
			other := r.start("-agents", "1", "-lease", outageLease.String())
			returned := time.Now()
			if err := o.living.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			o.check(returned, full)
			other.stop()
			o.finish()
		})
	}
}

// An outage is a board with living and dead holders of claims.
type outage struct {
	*run
	live, dead int
	living     *process
	claims     map[board.ID]board.Handle // of the living
}

func newOutage(r *run, live, dead int) *outage {
	r.fill(live + dead)
	return &outage{run: r, live: live, dead: dead, claims: map[board.ID]board.Handle{}}
}

// hold has all tasks claimed, and some of the holders killed. It returns a moment later, so
// that a sweep was recorded with the claims.
func (o *outage) hold(args ...string) {
	o.t.Helper()
	args = append(args, "-lease", outageLease.String())
	o.living = o.start(append(args, "-hold", fmt.Sprint(o.live))...)
	for _, claim := range o.held(o.live) {
		o.claims[claim.Task] = claim.Handle
	}
	if o.dead > 0 {
		dying := o.start(append(args, "-hold", fmt.Sprint(o.dead))...)
		o.held(o.live + o.dead)
		dying.kill()
	}
	o.swept()
}

// swept waits until a sweep is recorded that has seen the claims.
func (o *outage) swept() {
	o.t.Helper()
	store := o.open()
	defer store.Close()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var due bool
		err := store.Read(o.t.Context(), func(r board.Reader) (err error) {
			due, err = r.SweepDue()
			return err
		})
		if err != nil {
			o.t.Fatal(err)
		}
		if !due {
			return
		}
		if time.Now().After(end) {
			o.t.Fatal("no sweep is recorded after a minute")
		}
	}
}

// held waits until there are n claims.
func (o *outage) held(n int) (claims []board.Claim) {
	o.t.Helper()
	store := o.open()
	defer store.Close()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		claims, err := board.New(store, nil).Claims(o.t.Context(), board.ClaimFilter{})
		if err != nil {
			o.t.Fatal(err)
		}
		if len(claims) == n {
			return claims
		}
		if time.Now().After(end) {
			o.t.Fatalf("%d claims after a minute, want %d", len(claims), n)
		}
	}
}

// check looks at the board for a while after the return of what was away.
func (o *outage) check(returned time.Time, full bool) {
	o.t.Helper()
	store := o.open()
	defer store.Close()
	b := board.New(store, nil)
	var freed time.Duration
	end := 5 * time.Second
	if full {
		end = outageLease + 5*time.Second
	}
	for time.Since(returned) < end {
		claims, err := b.Claims(o.t.Context(), board.ClaimFilter{})
		if err != nil {
			o.t.Fatal(err)
		}
		left := 0
		for _, claim := range claims {
			if o.claims[claim.Task].IsZero() {
				left++
			}
		}
		if left == 0 && freed == 0 {
			freed = time.Since(returned)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if full && (freed == 0 || freed > outageLease+2*time.Second) {
		o.t.Errorf("the claims of %d dead holders ended %v after the return, want at most %v and 2 s", o.dead, freed, outageLease)
	}
	o.t.Logf("%d dead holders: the last claim ended %v after the return", o.dead, freed)
	lost := 0
	for _, e := range feed(o.t, store) {
		if h := (board.Handle{Task: e.Task, Attempt: e.Detail.Attempt, Nonce: e.Detail.Nonce}); e.Kind == board.EventExpired && o.claims[e.Task] == h {
			lost++
		}
	}
	if lost > 0 {
		o.t.Errorf("%d of %d living holders lost their claims", lost, o.live)
	}
}

// finish has the living report their tasks done.
func (o *outage) finish() {
	o.t.Helper()
	o.living.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	done := map[history.Outcome]int{}
	for _, op := range o.ops {
		if h, err := board.ParseHandle(op.Claim); err == nil && op.Kind == history.Done && o.claims[h.Task] == h {
			done[op.Out]++
		}
	}
	if done[history.OK] != o.live {
		o.t.Errorf("reports of %d living holders: %v", o.live, done)
	}
}
