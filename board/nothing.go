package board

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Nothing is the error of Next if there is no task to hand out. It explains why.
type Nothing struct {
	// PausedBy is who paused a project, or empty.
	PausedBy string
	// Archived is a project of the wish if all of them are archived, or empty.
	Archived string
	// Unskilled are the skills of ready tasks that the worker did not declare.
	Unskilled []string
	// ReadyUnskilled is the number of ready tasks that require such skills.
	ReadyUnskilled int
	Counts         Counts
	// Open are open questions, at most 20.
	Open []Question
	// Taken are tasks that other workers hold, at most 3; the first to be free first.
	Taken []Taken
	// Coming are tasks that become ready by themselves, at most 3; the soonest first.
	Coming []Coming
	// Unexplained is set if the board could not be counted in time. Everything else is
	// unknown then.
	Unexplained bool
}

// Taken is a task in progress, as other workers may know about it.
type Taken struct {
	Task ID
	// For is how long its worker has had it.
	For time.Duration
	// Silent is how long its worker has not called, or 0 if that is nothing unusual.
	Silent time.Duration
	// Free is when it is ready again unless its worker comes back, which has disconnected;
	// 0 if the worker is connected.
	Free time.Duration
}

// Coming is a task that becomes ready for the caller after some time.
type Coming struct {
	Task ID
	In   time.Duration
	// Reserved is set if it is kept for a worker that asked a question; Declined if it is
	// ready for others, and the caller has given it back.
	Reserved, Declined bool
}

func (n *Nothing) Error() string { return "nothing to hand out" }

// An explanation is a cached Nothing, and how long it is fresh.
type explanation struct {
	until   time.Time
	nothing Nothing
}

const (
	// explainTime is how long an explanation may take, and explainWait how long a call waits
	// while another one is being made.
	explainTime = 2 * time.Second
	explainWait = time.Second
)

// nothing returns a *Nothing that explains why there is no task.
func (b *Board) nothing(ctx context.Context, a Actor, w Wish) error {
	n := b.explain(ctx, w)
	if n.Counts.Ready > 0 {
		if err := b.addDeclined(ctx, a, w, &n); err != nil {
			b.o.Logger.Warn("what the caller has given back is not known", "err", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return &n
}

// explain returns what nothing says to everybody who has the same wish. Counting a large
// board takes a while and idle workers ask often, so an explanation is used for 20 times as
// long as it took, up to 5 seconds, and only one is made at a time. One that cannot be made
// is left out: that there is no task is known without it.
func (b *Board) explain(ctx context.Context, w Wish) Nothing {
	key := strings.Join(w.Projects, " ") + "\n" + strings.Join(w.Skills, " ")
	known, fresh := b.explained(key)
	if fresh {
		return known
	}
	late := time.NewTimer(explainWait)
	defer late.Stop()
	select {
	case b.explaining <- struct{}{}:
		defer func() { <-b.explaining }()
	case <-late.C:
		return known
	case <-ctx.Done():
		return known
	}
	if known, fresh = b.explained(key); fresh { // by the one that was being made
		return known
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	n := Nothing{}
	err := b.store.Read(ctx, func(r Reader) (err error) {
		n, err = b.whyNothing(r, w)
		return err
	})
	if err != nil {
		b.o.Logger.Warn("why there is nothing to hand out is not known", "err", err)
		n = known
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.explanations) > 1000 {
		clear(b.explanations)
	}
	b.explanations[key] = explanation{until: now.Add(min(20*now.Sub(began), 5*time.Second)), nothing: n}
	return n
}

// explained returns the last explanation, which may be no longer fresh.
func (b *Board) explained(key string) (n Nothing, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, ok := b.explanations[key]
	if !ok {
		return Nothing{Unexplained: true}, false
	}
	return last.nothing, time.Now().Before(last.until)
}

// addDeclined adds the ready tasks that the caller has given back.
func (b *Board) addDeclined(ctx context.Context, a Actor, w Wish, n *Nothing) error {
	who := WorkerID{Principal: a.Principal, Name: w.Worker}
	if w.Worker == "" {
		who = connection(a.Principal, a.Owner)
	}
	if who.IsZero() {
		return nil
	}
	var mine []Coming
	err := b.store.Read(ctx, func(r Reader) error {
		mine = nil
		now, err := r.Now()
		if err != nil {
			return err
		}
		declined, err := r.Declined(who)
		for id, until := range declined {
			t, err := r.Task(id)
			if err != nil {
				return err
			}
			if t.Ready() && slices.Contains(w.Projects, id.Project) {
				mine = append(mine, Coming{Task: id, In: until.Sub(now), Declined: true})
			}
		}
		return err
	})
	n.Coming = soonest(append(mine, n.Coming...))
	return err
}

// maxLooked is how many claims of a project are looked at, and maxResting how many tasks that
// rest.
const maxLooked, maxResting = 100, 20

// maxNamed is how many tasks of a kind a Nothing names.
const maxNamed = 3

func soonest(list []Coming) []Coming {
	slices.SortStableFunc(list, func(a, b Coming) int { return cmp.Or(cmp.Compare(a.In, b.In), compareIDs(a.Task, b.Task)) })
	return list[:min(len(list), maxNamed)]
}

// addOthers adds what other workers hold, and what rests.
func (n *Nothing) addOthers(r Reader, projects []string) error {
	now, err := r.Now()
	if err != nil {
		return err
	}
	for _, slug := range projects {
		claims, err := r.Claims(ClaimFilter{Project: slug, Limit: maxLooked})
		if err != nil {
			return err
		}
		for _, c := range claims {
			t := Taken{Task: c.Task, For: now.Sub(c.GrantedAt), Silent: c.Silent(now)}
			if c.Left {
				t.Free = max(c.LeaseUntil.Sub(now), time.Second)
			}
			n.Taken = append(n.Taken, t)
		}
	}
	slices.SortStableFunc(n.Taken, func(a, b Taken) int {
		switch {
		case a.Free > 0 && b.Free > 0:
			return cmp.Compare(a.Free, b.Free)
		case a.Free > 0:
			return -1
		case b.Free > 0:
			return 1
		}
		return cmp.Compare(b.For, a.For)
	})
	n.Taken = n.Taken[:min(len(n.Taken), maxNamed)]
	rest, err := r.Resting(projects, maxResting)
	for _, t := range rest {
		n.Coming = append(n.Coming, Coming{Task: t.ID, In: max(t.NotBefore.Sub(now), time.Second), Reserved: !t.ReservedFor.IsZero()})
	}
	n.Coming = soonest(n.Coming)
	return err
}

func (b *Board) whyNothing(r Reader, w Wish) (n Nothing, err error) {
	archived := 0
	for _, slug := range w.Projects {
		p, err := b.project(r, slug)
		if err != nil {
			return n, err
		}
		if p.PausedBy != "" {
			n.PausedBy = p.PausedBy
		}
		if p.Archived {
			archived++
		}
	}
	if archived > 0 && archived == len(w.Projects) {
		n.Archived = w.Projects[0]
	}
	if n.Counts, err = r.Counts(w.Projects); err != nil {
		return n, err
	}
	if n.Counts.Ready > 0 && w.Skills != nil {
		ready, err := r.Tasks(TaskFilter{Projects: w.Projects, Ready: true, Limit: 200})
		if err != nil {
			return n, err
		}
		for _, t := range ready {
			lacks := slices.DeleteFunc(slices.Clone(t.Skills), func(s string) bool { return slices.Contains(w.Skills, s) })
			if len(lacks) > 0 {
				n.ReadyUnskilled++
				n.Unskilled = append(n.Unskilled, lacks...)
			}
		}
		slices.Sort(n.Unskilled)
		n.Unskilled = slices.Compact(n.Unskilled)
	}
	if n.Open, err = r.Questions(QuestionFilter{Projects: w.Projects, State: QuestionOpen, Limit: 20}); err != nil {
		return n, err
	}
	return n, n.addOthers(r, w.Projects)
}
