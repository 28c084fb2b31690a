package crew

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
)

// A till is a board whose runs have cost three dollars on the day that it was made. err is what it
// answers first, and ready how many tasks are.
type till struct {
	Board
	began time.Time
	err   error
	ready int
}

func (b *till) Spent(context.Context, string) (board.Spending, error) {
	now := b.began.Add(time.Since(b.began))
	day := b.began.Truncate(24 * time.Hour)
	s := board.Spending{Cost: 3e6, Now: now, Ends: day.AddDate(0, 0, 1)}
	if !now.Before(s.Ends) {
		s.Cost, s.Ends = 0, s.Ends.AddDate(0, 0, 1)
	}
	err := b.err
	b.err = nil
	return s, err
}

func (b *till) Summary(context.Context, string) (board.Summary, error) {
	return board.Summary{Counts: board.Counts{Ready: b.ready}}, nil
}

// priced is an agent that tells a price, or tells none.
type priced struct {
	agent.Agent
	prices bool
}

func (p priced) Name() string { return "priced" }

func (p priced) Prices() bool { return p.prices }

// TestSlot_afford: a slot rests while the budget of the day is spent, and goes on when the next day
// begins by the board's clock.
func TestSlot_afford(t *testing.T) {
	for name, c := range map[string]struct {
		day        float64
		prices     bool
		untilEmpty bool
		free       int
		ready      int
		failing    error
		waits      bool // until the next day
		ends       bool
		events     []EventKind
	}{
		"no budget":        {prices: true},
		"something left":   {day: 3.5, prices: true},
		"no price":         {day: 3},
		"spent":            {day: 3, prices: true, waits: true, events: []EventKind{Rests, Waiting}},
		"not known":        {day: 3, prices: true, failing: errors.New("the board is away"), waits: true, events: []EventKind{Trouble, Rests, Waiting}},
		"until empty":      {day: 3, prices: true, untilEmpty: true, ready: 1, ends: true},
		"empty":            {day: 3, prices: true, untilEmpty: true},
		"others take them": {day: 3, prices: true, untilEmpty: true, ready: 1, free: 1, waits: true, events: []EventKind{Rests, Waiting}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var events []EventKind
			r := &Runner{o: Options{Board: &till{began: began, err: c.failing, ready: c.ready}, UntilEmpty: c.untilEmpty, Limits: Limits{Day: c.day}}}
			r.o.Report = func(e Event) { events = append(events, e.Kind) }
			r.today.free = c.free
			s := &slot{r: r, agent: priced{prices: c.prices}}
			err := s.afford(t.Context(), t.Context())
			if _, spent := errors.AsType[*BudgetError](err); spent != c.ends {
				t.Errorf("%s: afford = %v", name, err)
			}
			end := began.Truncate(24*time.Hour).AddDate(0, 0, 1)
			if waited := !time.Now().Before(end); waited != c.waits || time.Since(end) > restSlice {
				t.Errorf("%s: it went on at %v", name, time.Now())
			}
			if !slices.Equal(events, c.events) {
				t.Errorf("%s: it reported %v, want %v", name, events, c.events)
			}
		})
	}
}

// TestJob_maxCost: a job may cost what an attempt may, and what is left of the day.
func TestJob_maxCost(t *testing.T) {
	for _, c := range []struct{ task, day, want float64 }{{0, 0, 0}, {2, 0, 2}, {0, 3.5, 0.5}, {2, 3.5, 0.5}, {0.25, 3.5, 0.25}} {
		r := &Runner{o: Options{Board: &till{began: time.Now()}, Limits: Limits{Cost: c.task, Day: c.day}}}
		j := &job{slot: &slot{r: r, agent: priced{prices: true}}}
		if err := j.allot(t.Context()); err != nil || j.maxCost() != c.want {
			t.Errorf("with %v for a task and %v for the day: %v, %v; want %v", c.task, c.day, j.maxCost(), err, c.want)
		}
		if err := j.overrun(c.want - 0.01); err != nil {
			t.Errorf("below %v: %v", c.want, err)
		}
		if err := j.overrun(c.want); (err != nil) != (c.want > 0) {
			t.Errorf("at %v: %v", c.want, err)
		}
	}
	r := &Runner{o: Options{Board: &till{began: time.Now()}, Limits: Limits{Day: 3}}}
	j := &job{slot: &slot{r: r, agent: priced{prices: true}}}
	if _, spent := errors.AsType[*BudgetError](j.allot(t.Context())); !spent {
		t.Error("a job begins after the budget is spent")
	}
}

// TestDollars: amounts below a cent are said as exactly as they are known.
func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0.00", 0.0003: "$0.0003", 0.000042: "$0.000042", 0.0099: "$0.0099", 0.01: "$0.01", 0.5: "$0.50", 1234.567: "$1234.57"} {
		if got := Dollars(amount); got != want {
			t.Errorf("Dollars(%v) = %q, want %q", amount, got, want)
		}
	}
	if got, want := (&costError{0.00031, 0.0003}).Error(), "it has cost $0.00031, and $0.0003 is what"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q…", got, want)
	}
	if got, want := (&BudgetError{0.004}).Error(), "the budget of the day ($0.004) is spent"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q…", got, want)
	}
}
