package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bossman-dev/bossman/board"
)

// BoardObserver measures what a board does. It is for board.Options.
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
			t.m.answered.WithLabelValues(by).Observe(open.Seconds())
		},
	}
}

// Database measures what a database does. It is for the options of
// store/postgres. A violated rule of the board does not count as a database
// error.
//
// It also logs when the database goes away, once, and when it is back. What fails for that reason is logged by
// Logger for debugging only.
func (t *Telemetry) Database() func(op string, d time.Duration, err error) {
	o := &outage{log: t.log}
	return func(op string, d time.Duration, err error) {
		o.observe(d, err)
		result := resultOK
		if err != nil && !isRule(err) {
			result = resultError
		}
		t.m.query.WithLabelValues(op, result).Observe(d.Seconds())
	}
}

// isRule reports whether an error is the board's rather than the database's.
// Cancellation by the caller is not a database error either.
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

// A Counter counts what is on a board; *board.Board implements it.
type Counter interface {
	Counts(ctx context.Context) (board.Counts, error)
	Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error)
}

var _ Counter = (*board.Board)(nil)

const (
	// countInterval is how often a board is counted.
	countInterval = 15 * time.Second
	// countShare limits counting to 1/countShare of the time.
	countShare = 50
	// countPage is how many open questions are read at once, maxCounted how
	// many in total.
	countPage  = 200
	maxCounted = 10_000
)

// WatchBoard counts a board periodically until ctx ends, for the gauges. If
// counting takes long it is done less often, and if it fails the gauges are
// absent. All replicas count the same board: take one of them, or the maximum.
func (t *Telemetry) WatchBoard(ctx context.Context, b Counter) error {
	g := &boardGauges{}
	t.reg.MustRegister(g)
	defer t.reg.Unregister(g)
	failing := false
	for {
		start := time.Now()
		c, err := countBoard(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g.last.Store(c)
		if err != nil && !failing {
			t.log.Warn("cannot count the board", KeyErr, err)
		}
		failing = err != nil
		timer := time.NewTimer(max(countInterval, countShare*time.Since(start)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// boardCounts are the counts of a board at one moment.
type boardCounts struct {
	board.Counts
	open int
}

// countBoard returns nil if there is an error.
func countBoard(ctx context.Context, b Counter) (*boardCounts, error) {
	counts, err := b.Counts(ctx)
	if err != nil {
		return nil, err
	}
	c := &boardCounts{Counts: counts}
	f := board.QuestionFilter{State: board.QuestionOpen, Limit: countPage}
	for c.open < maxCounted {
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

// boardGauges exports the latest counts.
type boardGauges struct{ last atomic.Pointer[boardCounts] }

var (
	descTasks = prometheus.NewDesc(metricTasks,
		"Tasks by state.", []string{labelState}, nil)
	descLeases = prometheus.NewDesc(metricLeases, "Active claims.", nil, nil)
	descOpen   = prometheus.NewDesc(metricOpen, "Open questions.", nil, nil)
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
	for _, s := range board.States {
		tasks(string(s), c.In(s))
	}
	// A task is in progress exactly while there is a claim on it.
	ch <- prometheus.MustNewConstMetric(descLeases, prometheus.GaugeValue, float64(c.Status[board.InProgress]))
	ch <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(c.open))
}
