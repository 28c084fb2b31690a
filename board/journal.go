package board

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Reads are how often a tool that only reads was called, and how often that failed.
type Reads struct {
	Upstream, Tool string
	N, Errors      int64
}

// Touched are calls that were made under a claim since the last time.
type Touched struct {
	Claim     Handle
	Principal string
	// Bound is set if another program renews the claim: the calls only count as activity.
	Bound bool
	Reads []Reads
}

// Touch records that calls were made under claims, whether they need one or not. They are
// signs of life: a claim with less than half of its lease left, or too little to last until the
// next time, is renewed, and its deliveries are cleared. Claims that are not in force, or are another principal's, are ignored,
// and so are reads of tools with names that the board does not keep: another server chooses those.
func (b *Board) Touch(ctx context.Context, list []Touched) error {
	list = slices.DeleteFunc(slices.Clone(list), func(u Touched) bool { return u.Claim.IsReview() || u.Principal == "" })
	slices.SortStableFunc(list, func(x, y Touched) int { return compareIDs(x.Claim.Task, y.Claim.Task) })
	tasks := make([]ID, len(list))
	for i, u := range list {
		tasks[i] = u.Claim.Task
		list[i].Reads = slices.DeleteFunc(slices.Clone(u.Reads), func(r Reads) bool {
			return !upstreamName.MatchString(r.Upstream) || !toolName.MatchString(r.Tool) || r.N < 0 || r.Errors < 0
		})
	}
	if len(list) == 0 {
		return nil
	}
	live := map[Handle]Claim{}
	var now time.Time
	err := b.store.Read(ctx, func(r Reader) (err error) {
		claims, err := r.Claims(ClaimFilter{Tasks: tasks})
		for _, c := range claims {
			live[c.Handle] = c
		}
		if err == nil {
			now, err = r.Now()
		}
		return err
	})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(u Touched) bool { return live[u.Claim].Worker.Principal != u.Principal })
	var renew []Handle
	var seen []WorkerID
	reads := 0
	for _, u := range list {
		claim := live[u.Claim]
		if now.Sub(claim.LastCall) >= seenEvery {
			seen = append(seen, claim.Worker)
		}
		if !u.Bound && (claim.Deliveries > 0 || claim.LeaseUntil.Sub(now) < max(claim.Lease/2, 2*JournalEvery)) {
			renew = append(renew, u.Claim)
		}
		reads += len(u.Reads)
	}
	if len(renew)+len(seen)+reads == 0 {
		return nil
	}
	return b.store.Write(ctx, func(tx Tx) error {
		if err := tx.RenewAll(slices.Compact(renew)); err != nil {
			return err
		}
		for _, w := range slices.Compact(seen) {
			if err := tx.Seen(w); err != nil {
				return err
			}
		}
		for _, u := range list {
			for _, r := range u.Reads {
				if err := tx.AddReads(u.Claim, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// JournalEvery is how often a Journal is written.
const JournalEvery = time.Second

// A Ledger is what a Journal writes to: a Board, or the board of a server.
type Ledger interface {
	EndCalls(ctx context.Context, ends []EndedCall) error
	Touch(ctx context.Context, list []Touched) error
}

// A Journal collects what happens to calls, and writes it once a second. It is safe for
// concurrent use.
type Journal struct {
	to     Ledger
	failed func(error)

	mu      sync.Mutex
	ends    []end
	touched map[touchKey]*touches
}

// An end is an EndedCall and when it came.
type end struct {
	call EndedCall
	at   time.Time
}

type touchKey struct {
	claim     Handle
	principal string
}

type touches struct {
	bound bool
	reads map[Reads]Reads // by upstream and tool
}

// maxEnds bounds the ends that wait to be written. While the board is away, the oldest are
// dropped: their outcome is then unknown.
const maxEnds = 10_000

// NewJournal returns a Journal. failed is called with an error of writing; it may be nil.
func NewJournal(to Ledger, failed func(error)) *Journal {
	if failed == nil {
		failed = func(error) {}
	}
	return &Journal{to: to, failed: failed, touched: map[touchKey]*touches{}}
}

// Touch marks a claim as one under which a call is made; see Board.Touch. bound is as in
// Touched. upstream and tool are those of a tool of class read, which is counted; empty for
// other calls, which Admit records.
func (j *Journal) Touch(h Handle, principal string, bound bool, upstream, tool string, failed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := touchKey{h, principal}
	t := j.touched[key]
	if t == nil {
		t = &touches{reads: map[Reads]Reads{}}
		j.touched[key] = t
	}
	t.bound = bound
	if tool == "" {
		return
	}
	name := Reads{Upstream: upstream, Tool: tool}
	r := cmp.Or(t.reads[name], name)
	r.N++
	if failed {
		r.Errors++
	}
	t.reads[name] = r
}

// End records the end of a call with the next write.
func (j *Journal) End(e EndedCall) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends = append(j.ends, end{e, time.Now()})
	if len(j.ends) > maxEnds {
		j.ends = slices.Delete(j.ends, 0, len(j.ends)-maxEnds)
	}
}

// Run writes once a second until ctx ends, and then for a last time.
func (j *Journal) Run(ctx context.Context) error {
	tick := time.NewTicker(JournalEvery)
	defer tick.Stop()
	// A write that is under way when ctx ends may finish.
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(2*time.Second, cancel) })()
	for {
		select {
		case <-tick.C:
			j.Flush(writing)
		case <-ctx.Done():
			j.Flush(writing)
			return ctx.Err()
		}
	}
}

// Flush writes what was collected. Ends that could not be written are tried again with the next write;
// claims are marked again by their next call.
func (j *Journal) Flush(ctx context.Context) {
	j.mu.Lock()
	ends, touched := j.ends, j.touched
	j.ends, j.touched = nil, map[touchKey]*touches{}
	j.mu.Unlock()
	if len(ends) > 0 {
		calls := make([]EndedCall, len(ends))
		for i, e := range ends {
			calls[i] = e.call
			calls[i].Ago = time.Since(e.at)
		}
		if err := j.to.EndCalls(ctx, calls); err != nil {
			j.failed(err)
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrDenied) {
				j.mu.Lock()
				j.ends = slices.Concat(ends, j.ends)
				j.mu.Unlock()
			}
		}
	}
	if len(touched) == 0 {
		return
	}
	var list []Touched
	for key, t := range touched {
		u := Touched{Claim: key.claim, Principal: key.principal, Bound: t.bound}
		for _, name := range slices.SortedFunc(maps.Keys(t.reads), func(a, b Reads) int {
			return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Tool, b.Tool))
		}) {
			u.Reads = append(u.Reads, t.reads[name])
		}
		list = append(list, u)
	}
	if err := j.to.Touch(ctx, list); err != nil {
		j.failed(err)
	}
}
