package board

import (
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
func (b *Board) nothing(ctx context.Context, w Wish) error {
	key := strings.Join(w.Projects, " ") + "\n" + strings.Join(w.Skills, " ")
	b.mu.Lock()
	known, ok := b.counted[key]
	b.mu.Unlock()
	began := time.Now()
	if ok && began.Before(known.until) {
		return &known.nothing
	}
	var n Nothing
	err := b.store.Read(ctx, func(r Reader) (err error) {
		n, err = b.whyNothing(r, w)
		return err
	})
	if err != nil {
		return err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.counted) > 1000 {
		clear(b.counted)
	}
	b.counted[key] = countedAt{until: now.Add(min(20*now.Sub(began), 5*time.Second)), nothing: n}
	return &n
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
	n.Open, err = r.Questions(QuestionFilter{Projects: w.Projects, State: QuestionOpen, Limit: 20})
	return n, err
}
