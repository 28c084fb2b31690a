package boardtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
)

const (
	// raceLease is the shortest lease of the claims in a race, and raceCalls how many calls a caller can
	// make in a lease, about: a busy machine takes longer. raceLimit is how long a call takes at most. A lease
	// is not extended beyond that, so that claims expire between two calls.
	raceLease = 25 * time.Millisecond
	raceCalls = 20
	raceTasks = 10 // how many tasks are created at a time
	raceLimit = 2 * time.Millisecond
)

// Raced is what AdmitRaces has done.
type Raced struct {
	// Ends are the claims that this process has ended, in all ways but expiry, and Expired how
	// many were left to expire.
	Ends, Expired int64
	// Admitted and Refused are calls.
	Admitted, Refused int64
}

// AdmitRaces takes tasks, lets the claims end by expiry, cancellation, release, and reports, and
// admits calls under them all the while, until it has taken n and admitted some. Several processes may do so on one
// board: each admits calls under the claims of all. CheckCalls then tells whether a call began
// too late. If control is set, the store must be one under test: it records calls without a lock
// on their claims.
func AdmitRaces(ctx context.Context, s board.Store, name string, n int, control bool) (Raced, error) {
	var store board.Store = noSlack{s}
	if control {
		u, ok := s.(unlocked)
		if !ok {
			return Raced{}, errors.New("the store cannot record a call without looking at its claim")
		}
		store = noLock{u, func() { time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) }}
	}
	r := &race{store: store, name: name, board: board.New(store, &board.Options{})}
	if err := r.board.SetProject(ctx, board.Project{Slug: project}); err != nil {
		return Raced{}, err
	}
	r.took.Store(int64(20 * time.Millisecond))
	ctx, stop := context.WithCancelCause(ctx)
	r.fail = func(err error) {
		if err != nil && ctx.Err() == nil {
			stop(err)
		}
	}
	var holders, others sync.WaitGroup
	others.Go(func() {
		for ctx.Err() == nil {
			r.fail(r.board.EndStale(ctx))
			time.Sleep(3 * time.Millisecond)
		}
	})
	for range 3 {
		others.Go(func() { r.callAlways(ctx) })
	}
	for i := range 6 {
		holders.Go(func() {
			for ctx.Err() == nil && (r.taken.Add(1) <= int64(n) || r.admitted.Load() < int64(n)/4) {
				r.fail(r.hold(ctx, fmt.Sprintf("%s-%d", name, i)))
			}
		})
	}
	holders.Wait()
	err := context.Cause(ctx)
	stop(nil)
	others.Wait()
	return Raced{r.ends.Load(), r.expired.Load(), r.admitted.Load(), r.refused.Load()}, err
}

// A race is one call of AdmitRaces.
type race struct {
	store board.Store
	board *board.Board
	name  string
	fail  func(error)

	creating sync.Mutex
	took     atomic.Int64 // how long a call takes to be admitted

	taken, ends, expired, admitted, refused atomic.Int64
}

// hold takes a task and ends its claim.
func (r *race) hold(ctx context.Context, owner string) error {
	a := board.Actor{Principal: "local", Owner: fmt.Sprintf("%s-%d", owner, rand.Int64())}
	h, err := r.board.Next(ctx, a, board.Wish{Projects: []string{project}})
	if _, nothing := errors.AsType[*board.Nothing](err); nothing {
		r.taken.Add(-1)
		if !r.creating.TryLock() {
			time.Sleep(raceLease)
			return nil
		}
		defer r.creating.Unlock()
		plan := board.Plan{Project: project}
		for i := range raceTasks {
			plan.Tasks = append(plan.Tasks, board.PlanTask{Key: fmt.Sprint("t", i), NewTask: board.NewTask{Title: "race", MaxFailures: 100, Lease: min(max(raceLease, raceCalls*time.Duration(r.took.Load())), 2*time.Second)}})
		}
		_, err = r.board.CreatePlan(ctx, ada, plan)
		return err
	}
	if err != nil {
		return err
	}
	time.Sleep(rand.N(h.Claim.Lease))
	claim := h.Claim.Handle
	switch rand.IntN(6) {
	case 0, 1:
		r.expired.Add(1)
		return nil
	case 2:
		_, err = r.board.Cancel(ctx, ada, claim.Task, "race", "")
	case 3:
		_, err = r.board.Release(ctx, ada, claim.Task, "race")
	case 4:
		_, err = r.board.Done(ctx, a, claim, board.Report{Summary: "race"})
	case 5:
		_, err = r.board.Fail(ctx, a, claim, board.Failure{Kind: board.FailOther, Reason: "race"})
	}
	if errors.Is(err, board.ErrLeaseLost) || errors.Is(err, board.ErrConflict) { // it has expired
		r.expired.Add(1)
		return nil
	}
	r.ends.Add(1)
	return err
}

// callAlways admits calls under the claims of a moment ago.
func (r *race) callAlways(ctx context.Context) {
	a := board.Actor{Principal: "local", Owner: r.name}
	for ctx.Err() == nil {
		var claims []board.Claim
		r.fail(r.store.Read(ctx, func(rd board.Reader) (err error) {
			claims, err = rd.Claims(board.ClaimFilter{Project: project})
			return err
		}))
		for range min(len(claims), 6) {
			if ctx.Err() != nil {
				return
			}
			n := newCall(claims[rand.IntN(len(claims))].Handle, lasting(raceLimit))
			var ok bool
			var err error
			began := time.Now()
			if rand.IntN(8) == 0 { // which revives a claim whose lease is over
				_, err = r.board.Admit(ctx, a, n)
				ok = err == nil
				if errors.Is(err, board.ErrLeaseLost) || errors.Is(err, board.ErrUnavailable) {
					err = nil
				}
			} else {
				_, ok, err = r.store.Admit(ctx, board.Admission{NewCall: n, Worker: board.WorkerID{Principal: "local"}, ArgsHash: n.Digest})
			}
			r.fail(err)
			r.took.Store((9*r.took.Load() + int64(time.Since(began))) / 10)
			if ok {
				r.admitted.Add(1)
			} else {
				r.refused.Add(1)
			}
		}
		if len(claims) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// noSlack is a store that does not extend leases beyond the deadlines of calls.
type noSlack struct{ board.Store }

func (s noSlack) Admit(ctx context.Context, a board.Admission) (board.Call, bool, error) {
	a.Slack = 0
	return s.Store.Admit(ctx, a)
}

// CheckCalls checks a board after AdmitRaces: it returns how many attempts have ended, how many of them
// expired, how many calls began when their attempt had ended, how many were overtaken by expiry,
// and everything else that Check finds.
func CheckCalls(ctx context.Context, s board.Store) (ended, expired, late, overtaken int, errs []error) {
	for _, err := range Check(ctx, s) {
		switch {
		case strings.HasPrefix(err.Error(), "G1"):
			late++
		case strings.HasPrefix(err.Error(), "G2"):
			overtaken++
		default:
			errs = append(errs, err)
		}
	}
	var tasks []board.Task
	b := board.New(s, nil)
	for after := (board.ID{}); ; {
		page, err := b.List(ctx, board.TaskFilter{Projects: []string{project}, After: after})
		if err != nil {
			return ended, expired, late, overtaken, append(errs, err)
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
		tasks = append(tasks, page...)
	}
	for _, t := range tasks {
		d, err := b.Get(ctx, t.ID, 0)
		if err != nil {
			return ended, expired, late, overtaken, append(errs, err)
		}
		for _, a := range d.Attempts {
			if !a.EndedAt.IsZero() {
				ended++
			}
			if a.Cause == board.CauseExpired {
				expired++
			}
		}
	}
	return ended, expired, late, overtaken, errs
}
