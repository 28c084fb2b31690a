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

// countedAt is a cached Nothing, and how long it may be used.
type countedAt struct {
	until   time.Time
	nothing Nothing
}

// nothing returns a *Nothing that explains why there is no task. Counting a large board
// takes a while and idle workers ask often, so it is cached for 20 times as long as it
// took, up to 5 seconds.
func (b *Board) nothing(ctx context.Context, a Actor, w Wish) error {
	n, err := b.counts(ctx, w)
	if err != nil {
		return err
	}
	if n.Counts.Ready > 0 {
		if err := b.addDeclined(ctx, a, w, &n); err != nil {
			return err
		}
	}
	return &n
}

// counts returns what nothing says to everybody who has the same wish.
func (b *Board) counts(ctx context.Context, w Wish) (Nothing, error) {
	key := strings.Join(w.Projects, " ") + "\n" + strings.Join(w.Skills, " ")
	b.mu.Lock()
	known, ok := b.counted[key]
	b.mu.Unlock()
	began := time.Now()
	if ok && began.Before(known.until) {
		return known.nothing, nil
	}
	var n Nothing
	err := b.store.Read(ctx, func(r Reader) (err error) {
		n, err = b.whyNothing(r, w)
		return err
	})
	if err != nil {
		return n, err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.counted) > 1000 {
		clear(b.counted)
	}
	b.counted[key] = countedAt{until: now.Add(min(20*now.Sub(began), 5*time.Second)), nothing: n}
	return n, nil
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
		claims, err := r.Claims(ClaimFilter{Project: slug})
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
	rest, err := resting(r, projects)
	for _, t := range rest {
		n.Coming = append(n.Coming, Coming{Task: t.ID, In: max(t.NotBefore.Sub(now), time.Second), Reserved: !t.ReservedFor.IsZero()})
	}
	n.Coming = soonest(n.Coming)
	return err
}

func (b *Board) whyNothing(r Reader, w Wish) (n Nothing, err error) {
	for _, slug := range w.Projects {
		p, err := b.project(r, slug)
		if err != nil {
			return n, err
		}
		if p.PausedBy != "" {
			n.PausedBy = p.PausedBy
		}
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
