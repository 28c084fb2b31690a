package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bossman-dev/bossman/board"
)

// BoardObserver measures what a board does, for board.Options.
func (t *Telemetry) BoardObserver() board.Observer {
	return board.Observer{
		Asked: func(r board.Answered, waited time.Duration) {
			t.m.claims.WithLabelValues(string(r)).Inc()
			if r == board.AnsweredGranted {
				t.m.wait.Observe(waited.Seconds())
			}
		},
		Ended: func(c board.Cause, ran time.Duration) {
			t.m.run.WithLabelValues(string(c)).Observe(ran.Seconds())
			if c == board.CauseExpired {
				t.m.expirations.Inc()
			}
		},
		Decided: func(itself bool, open time.Duration) {
			by := byPerson
			if itself {
				by = byDefault
			}
			t.m.answer.WithLabelValues(by).Observe(open.Seconds())
		},
	}
}

// Database measures what a database does, for the options of store/postgres. A rule of
// the board that was broken is no error of the database's.
func (t *Telemetry) Database() func(op string, d time.Duration, err error) {
	return func(op string, d time.Duration, err error) {
		result := resultOK
		if err != nil && !isRule(err) {
			result = resultError
		}
		t.m.query.WithLabelValues(op, result).Observe(d.Seconds())
	}
}

// isRule reports whether an error is the board's, and not of what keeps it. A caller
// that has gone is nobody's error either.
func isRule(err error) bool {
	for _, kind := range []error{board.ErrUnavailable, board.ErrUnknown, board.ErrTooNew} {
		if errors.Is(err, kind) {
			return false
		}
	}
	for _, kind := range []error{board.ErrNotFound, board.ErrInvalid, board.ErrConflict, board.ErrDenied, board.ErrLeaseLost, context.Canceled} {
		if errors.Is(err, kind) {
			return true
		}
	}
	_, stopped := errors.AsType[*board.StoppedError](err)
	_, held := errors.AsType[*board.HeldError](err)
	return stopped || held
}

// A Counter counts what is on a board; *board.Board is one.
type Counter interface {
	Counts(ctx context.Context) (board.Counts, error)
	Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error)
}

var _ Counter = (*board.Board)(nil)

const (
	// countEvery is how often a board is counted.
	countEvery = 15 * time.Second
	// countShare bounds counting to one part in so many of the time.
	countShare = 50
	// countPage is how many open questions are read at once, of at most countMost.
	countPage = 200
	countMost = 10_000
)

// WatchBoard counts a board now and then until ctx ends, for the metrics that say how
// much there is. If counting takes long it is done less often, and if it fails those
// metrics are absent. Every replica counts the same board: take one, or the largest.
func (t *Telemetry) WatchBoard(ctx context.Context, b Counter) error {
	g := &boardGauges{}
	t.reg.MustRegister(g)
	defer t.reg.Unregister(g)
	failing := false
	for {
		begun := time.Now()
		c, err := count(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g.last.Store(c)
		if err != nil && !failing {
			t.log.Warn("the board cannot be counted", KeyErr, err)
		}
		failing = err != nil
		timer := time.NewTimer(max(countEvery, countShare*time.Since(begun)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// counted is a board at one moment.
type counted struct {
	board.Counts
	open int
}

// count is nil if there is an error.
func count(ctx context.Context, b Counter) (*counted, error) {
	counts, err := b.Counts(ctx)
	if err != nil {
		return nil, err
	}
	c := &counted{Counts: counts}
	f := board.QuestionFilter{State: board.QuestionOpen, Limit: countPage}
	for c.open < countMost {
		page, err := b.Questions(ctx, f)
		if err != nil {
			return nil, err
		}
		c.open += len(page)
		if len(page) < countPage {
			break
		}
		f.After = page[len(page)-1].ID
	}
	return c, nil
}

// boardGauges shows what was counted last.
type boardGauges struct{ last atomic.Pointer[counted] }

var (
	descTasks = prometheus.NewDesc(metricTasks,
		"Tasks by state. Pending ones are ready, blocked by other tasks or parts, held, or later (cooling down or reserved).", []string{labelState}, nil)
	descLeases = prometheus.NewDesc(metricLeases, "Claims that are in force.", nil, nil)
	descOpen   = prometheus.NewDesc(metricOpen, "Questions that wait for an answer.", nil, nil)
)

func (g *boardGauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- descTasks
	ch <- descLeases
	ch <- descOpen
}

func (g *boardGauges) Collect(ch chan<- prometheus.Metric) {
	c := g.last.Load()
	if c == nil {
		return
	}
	tasks := func(state string, n int) {
		ch <- prometheus.MustNewConstMetric(descTasks, prometheus.GaugeValue, float64(n), state)
	}
	for _, s := range board.Statuses {
		if s != board.Pending {
			tasks(string(s), c.Status[s])
		}
	}
	tasks("ready", c.Ready)
	tasks("blocked", c.Blocked)
	tasks("held", c.Held)
	tasks("later", c.Later)
	// A task is in progress exactly as long as there is a claim on it.
	ch <- prometheus.MustNewConstMetric(descLeases, prometheus.GaugeValue, float64(c.Status[board.InProgress]))
	ch <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(c.open))
}
