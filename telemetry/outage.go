package telemetry

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// An outage logs when a database goes away and comes back.
type outage struct {
	log *slog.Logger

	mu    sync.Mutex
	there bool      // it has answered once; until then the command that opens it reports the error
	since time.Time // zero while the database is there
	last  time.Time // when it was last found to be away
}

// backAfter is how long nothing must have failed before a success means that the database is back. While it goes away
// some operations still succeed.
const backAfter = time.Second

// observe is told about an operation that has just ended.
func (o *outage) observe(took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.there = o.there || err == nil
	switch away := errors.Is(err, board.ErrUnavailable); {
	case away && !o.there:
	case away && o.since.IsZero():
		o.since, o.last = now, now
		o.log.Error("the database is away", KeyErr, err.Error()) // as a text, so that Logger does not take it for one more that fails
	case away:
		o.last = now
	case err == nil && !o.since.IsZero() && now.Add(-took).Sub(o.last) >= backAfter:
		o.log.Info("the database is back", "away", now.Sub(o.since).Round(time.Millisecond).String())
		o.since = time.Time{}
	}
}
