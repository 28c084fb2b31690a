package server

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// refusalLogInterval is the least time between two log lines about refused requests.
const refusalLogInterval = 10 * time.Second

// A refusalLog logs requests that were refused for their Host or Origin. Such a request is
// an attack, or a flag is missing behind a proxy; the client cannot tell which, so the log
// says it to the operator.
type refusalLog struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
	more int // refused since last, without a line
}

func (l *refusalLog) refused(r *http.Request, header string) {
	more, ok := l.due(time.Now())
	if !ok {
		return
	}
	value, flag := r.Host, "--host"
	if header == "Origin" {
		value, flag = r.Header.Get("Origin"), "--origin"
	}
	l.log.Warn("refused with 403: not a name that was given to this server; if it is one, add the flag",
		"header", header, "value", value, "flag", flag+" "+value, "from", r.RemoteAddr, "more", more)
}

// due reports whether it is time for a line, and how many refusals had none since the last.
func (l *refusalLog) due(now time.Time) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last) < refusalLogInterval {
		l.more++
		return 0, false
	}
	more, l.last, l.more = l.more, now, 0
	return more, true
}
