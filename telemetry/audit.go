package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/bossman-dev/bossman/mcp"
)

const (
	// auditQueue limits the lines that wait for a slow writer.
	auditQueue = 4096
	// auditTimeout is how long a call waits for room in the queue before its
	// line is dropped.
	auditTimeout = 100 * time.Millisecond
	// auditBlock is the approximate size of a Write.
	auditBlock = 64 << 10
	// auditLogInterval is how often a failing writer is logged.
	auditLogInterval = time.Minute
)

// An auditLine describes a call. Fields are only ever added.
type auditLine struct {
	Time      time.Time `json:"time"`
	Principal string    `json:"principal,omitzero"`
	Name      string    `json:"name,omitzero"`
	Owner     string    `json:"owner,omitzero"`
	Kind      string    `json:"kind,omitzero"`
	Key       string    `json:"key,omitzero"`
	Address   string    `json:"address,omitzero"` // of a request that was refused
	Method    string    `json:"method"`
	Tool      string    `json:"tool,omitzero"`
	Verb      string    `json:"verb,omitzero"` // what was done, by whichever tool or method
	Project   string    `json:"project,omitzero"`
	Task      string    `json:"task,omitzero"`
	// CreatedKey is the id of the key that the call created, for a machine.
	CreatedKey string `json:"created_key,omitzero"`
	Machine    string `json:"machine,omitzero"`
	// Via is "one-tap link" for an answer by a link.
	Via string `json:"via,omitzero"`
	// Outcome is ok, denied, failed (the tool reported an error) or error.
	Outcome string  `json:"outcome"`
	Code    int     `json:"code,omitzero"` // JSON-RPC error code, or HTTP status
	Seconds float64 `json:"seconds"`
	Trace   string  `json:"trace_id,omitzero"`
	// More is the number of further refused requests in the last second, which
	// got no line.
	More int `json:"more,omitzero"`
}

// line returns the audit line of a request.
func (t *Telemetry) line(ctx context.Context, r *mcp.Request, s subject, o *outcome) []byte {
	x := auditLine{
		Time: time.Now().UTC(), Principal: clip(r.Principal.ID), Method: o.target.Method, Project: s.project, Task: s.task,
		CreatedKey: clip(s.key), Machine: clip(s.machine), Outcome: resultOK, Code: o.code, Seconds: o.took.Seconds(),
	}
	if x.Method == "" {
		x.Method = unknown
	}
	if o.target.Kind == mcp.KindTool {
		x.Tool = o.target.Name
	}
	x.Verb = o.verb()
	if t.o.Who != nil {
		who := t.o.Who(r.Principal)
		x.Name, x.Owner, x.Kind, x.Key = clip(who.Name), clip(who.Owner), clip(who.Kind), clip(who.Key)
	}
	switch {
	case o.denied:
		x.Outcome = "denied"
	case o.err == errorTool:
		x.Outcome = "failed"
	case o.err != "":
		x.Outcome = resultError
	}
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		x.Trace = sc.TraceID().String()
	}
	return x.encode()
}

func (x *auditLine) encode() []byte {
	b, err := jsonv2.Marshal(x)
	if err != nil { // a name is not UTF-8
		x.Name, x.Owner, x.Kind, x.Key, x.Principal, x.Machine, x.Address = "", "", "", "", unknown, "", ""
		b, _ = jsonv2.Marshal(x)
	}
	return append(escape(nil, b), '\n')
}

// An audit writes lines in a goroutine of its own, so that calls do not wait.
type audit struct {
	w       io.Writer
	log     *slog.Logger
	lost    prometheus.Counter
	lines   chan []byte
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
	blocked atomic.Bool // the queue was full for too long, and nothing was written since

	mu         sync.Mutex
	lastSecond int64 // of the last line for a refused request
	suppressed int   // refused requests without a line since then
}

func newAudit(w io.Writer, log *slog.Logger, lost prometheus.Counter) *audit {
	a := &audit{w: w, log: log, lost: lost, lines: make(chan []byte, auditQueue), stop: make(chan struct{}), done: make(chan struct{})}
	go a.run()
	return a
}

// add queues a line. It waits briefly if the queue is full.
func (a *audit) add(line []byte) {
	select {
	case <-a.stop:
		a.lost.Inc()
		return
	default:
	}
	select {
	case a.lines <- line:
		return
	default:
	}
	if !a.blocked.Load() {
		timer := time.NewTimer(auditTimeout)
		defer timer.Stop()
		select {
		case a.lines <- line:
			return
		case <-a.stop:
		case <-timer.C:
			if !a.blocked.Swap(true) {
				a.log.Error("the audit stream is stuck, lines are lost", "waiting", len(a.lines))
			}
		}
	}
	a.lost.Inc()
}

// addRefused adds a line for a refused HTTP request, at most one per second, so
// that clients without a key cannot fill the disk.
func (a *audit) addRefused(status int, from Sender) {
	a.addLimited(&auditLine{Method: "http", Outcome: "denied", Code: status, Address: clip(from.Address), Key: clip(from.Key)})
}

// addLimited adds a line, or counts it for the next one if there was one in this second.
func (a *audit) addLimited(x *auditLine) {
	now := time.Now().UTC()
	a.mu.Lock()
	if a.lastSecond == now.Unix() {
		a.suppressed++
		a.mu.Unlock()
		return
	}
	x.Time, x.More = now, a.suppressed
	a.lastSecond, a.suppressed = now.Unix(), 0
	a.mu.Unlock()
	a.add(x.encode())
}

// run writes lines until stop is closed, and then the rest.
func (a *audit) run() {
	defer close(a.done)
	out := &auditWriter{audit: a}
	for {
		select {
		case line := <-a.lines:
			out.write(a.gather(line))
		case <-a.stop:
			for {
				select {
				case line := <-a.lines:
					out.write(a.gather(line))
					continue
				default:
				}
				return
			}
		}
	}
}

// gather appends the queued lines to the first, up to a block.
func (a *audit) gather(first []byte) (block []byte, lines int) {
	block, lines = first, 1
	for len(block) < auditBlock {
		select {
		case line := <-a.lines:
			block = append(block, line...)
			lines++
		default:
			return block, lines
		}
	}
	return block, lines
}

// An auditWriter writes blocks of lines, and logs errors.
type auditWriter struct {
	*audit
	partial    bool // the last block was written in part
	lastLogged time.Time
}

func (w *auditWriter) write(block []byte, lines int) {
	if w.partial { // do not continue an incomplete line
		block = append([]byte{'\n'}, block...)
	}
	n, err := w.w.Write(block)
	if err == nil {
		w.partial = false
		w.blocked.Store(false)
		return
	}
	w.partial = w.partial && n == 0 || n > 0
	w.lost.Add(float64(lines))
	if now := time.Now(); now.Sub(w.lastLogged) >= auditLogInterval {
		w.lastLogged = now
		w.log.Error("the audit stream cannot be written", "lines", lines, KeyErr, err)
	}
}

// shutdown writes the queued lines, until ctx ends.
func (a *audit) shutdown(ctx context.Context) error {
	a.once.Do(func() { close(a.stop) })
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("telemetry: write the rest of the audit stream: %w", context.Cause(ctx))
	}
}
