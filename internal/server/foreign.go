package server

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// foreignEvery is how often a refused request is worth a line.
const foreignEvery = 10 * time.Second

// foreign tells the operator of requests that were addressed to another name, or sent
// by another's page. That is an attack, or a flag that was forgotten behind a proxy;
// whoever is refused cannot tell, so the log does.
type foreign struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
	more int // refused since then, without a line
}

func (f *foreign) refused(r *http.Request, header string) {
	more, ok := f.due(time.Now())
	if !ok {
		return
	}
	value, flag := r.Host, "--host"
	if header == "Origin" {
		value, flag = r.Header.Get("Origin"), "--origin"
	}
	f.log.Warn("refused with 403: not a name that was given to this server; if it is one, add the flag",
		"header", header, "value", value, "flag", flag+" "+value, "from", r.RemoteAddr, "more", more)
}

// due reports whether it is time for a line, and how many had none since the last.
func (f *foreign) due(now time.Time) (more int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.last) < foreignEvery {
		f.more++
		return 0, false
	}
	more, f.last, f.more = f.more, now, 0
	return more, true
}
