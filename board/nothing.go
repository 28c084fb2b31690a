package board

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Nothing is the answer of Next when there is nothing to hand out. It is an error
// only in Go's sense.
type Nothing struct {
	// PausedBy is who paused, if that is why.
	PausedBy string
	// Unskilled is what ready tasks want that the worker did not declare.
	Unskilled []string
	// ReadyUnskilled counts those tasks.
	ReadyUnskilled int
	Counts         Counts
	// Open are questions that work waits for.
	Open []Question
}

func (n *Nothing) Error() string { return "nothing to hand out" }

// countedAt is what was counted, and until when that may be said again.
type countedAt struct {
	until   time.Time
	nothing Nothing
}

// nothing says why there is nothing to hand out. Counting a large board takes a
// while and idle workers ask often, so what took long is not counted again soon.
func (b *Board) nothing(ctx context.Context, w Wish) error {
	key := strings.Join(w.Projects, " ") + "\n" + strings.Join(w.Skills, " ")
	b.mu.Lock()
	known, ok := b.counted[key]
	b.mu.Unlock()
	begun := time.Now()
	if ok && begun.Before(known.until) {
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
	b.counted[key] = countedAt{until: now.Add(min(20*now.Sub(begun), 5*time.Second)), nothing: n}
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
