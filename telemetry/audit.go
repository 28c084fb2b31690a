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
	// auditQueue is how many lines may wait for a slow writer.
	auditQueue = 4096
	// auditPatience is how long a call waits for room in the queue before its line is
	// given up.
	auditPatience = 100 * time.Millisecond
	// auditBlock is about how much is written at once.
	auditBlock = 64 << 10
	// auditComplain is how often a writer that fails is complained about.
	auditComplain = time.Minute
)

// An auditLine is what the audit stream says of a call. Fields are only ever added.
type auditLine struct {
	Time      time.Time `json:"time"`
	Principal string    `json:"principal,omitzero"`
	Name      string    `json:"name,omitzero"`
	Kind      string    `json:"kind,omitzero"`
	Key       string    `json:"key,omitzero"`
	Method    string    `json:"method"`
	Tool      string    `json:"tool,omitzero"`
	Verb      string    `json:"verb,omitzero"` // what was done, by whichever tool or method
	Project   string    `json:"project,omitzero"`
	Task      string    `json:"task,omitzero"`
	// Outcome is ok, denied, failed (the tool said so) or error.
	Outcome string  `json:"outcome"`
	Code    int     `json:"code,omitzero"` // of a JSON-RPC error, or an HTTP status
	Seconds float64 `json:"seconds"`
	Trace   string  `json:"trace_id,omitzero"`
	// More is how many others were turned away in the last second without a line.
	More int `json:"more,omitzero"`
}

// line is the audit line of a request.
func (t *Telemetry) line(ctx context.Context, r *mcp.Request, s subject, o *outcome) []byte {
	x := auditLine{
		Time: time.Now().UTC(), Principal: clip(r.Principal.ID), Method: o.target.Method, Project: s.project, Task: s.task,
		Outcome: resultOK, Code: o.code, Seconds: o.took.Seconds(),
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
		x.Name, x.Kind, x.Key = clip(who.Name), clip(who.Kind), clip(who.Key)
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
	if err != nil { // a name that is not UTF-8
		x.Name, x.Kind, x.Key, x.Principal = "", "", "", unknown
		b, _ = jsonv2.Marshal(x)
	}
	return append(escape(nil, b), '\n')
}

// An audit writes lines, one after the other, beside the calls that they are about.
type audit struct {
	w     io.Writer
	log   *slog.Logger
	lost  prometheus.Counter
	lines chan []byte
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once
	stuck atomic.Bool // the queue was full for too long, and nothing was written since

	mu     sync.Mutex
	second int64 // in which somebody was turned away last
	more   int   // others who were
}

func newAudit(w io.Writer, log *slog.Logger, lost prometheus.Counter) *audit {
	a := &audit{w: w, log: log, lost: lost, lines: make(chan []byte, auditQueue), stop: make(chan struct{}), ended: make(chan struct{})}
	go a.run()
	return a
}

// add takes a line. It waits a little if the writer is behind.
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
	if !a.stuck.Load() {
		timer := time.NewTimer(auditPatience)
		defer timer.Stop()
		select {
		case a.lines <- line:
			return
		case <-a.stop:
		case <-timer.C:
			if !a.stuck.Swap(true) {
				a.log.Error("the audit stream is stuck, lines are lost", "waiting", len(a.lines))
			}
		}
	}
	a.lost.Inc()
}

// turnedAway adds a line for an HTTP request that was refused, one in a second: who
// has no key must not fill the disk.
func (a *audit) turnedAway(status int) {
	now := time.Now().UTC()
	a.mu.Lock()
	if a.second == now.Unix() {
		a.more++
		a.mu.Unlock()
		return
	}
	more := a.more
	a.second, a.more = now.Unix(), 0
	a.mu.Unlock()
	a.add((&auditLine{Time: now, Method: "http", Outcome: "denied", Code: status, More: more}).encode())
}

// run writes until stop, and then what is left.
func (a *audit) run() {
	defer close(a.ended)
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

// gather puts the lines that wait behind the first, up to a block.
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

// An auditWriter writes blocks of lines, and says when it cannot.
type auditWriter struct {
	*audit
	torn       bool // the last block was written in part
	complained time.Time
}

func (w *auditWriter) write(block []byte, lines int) {
	if w.torn { // the next line must not hang on half of one
		block = append([]byte{'\n'}, block...)
	}
	n, err := w.w.Write(block)
	if err == nil {
		w.torn = false
		w.stuck.Store(false)
		return
	}
	w.torn = w.torn && n == 0 || n > 0
	w.lost.Add(float64(lines))
	if now := time.Now(); now.Sub(w.complained) >= auditComplain {
		w.complained = now
		w.log.Error("the audit stream cannot be written", "lines", lines, KeyErr, err)
	}
}

// shutdown writes what is left, for as long as ctx lasts.
func (a *audit) shutdown(ctx context.Context) error {
	a.once.Do(func() { close(a.stop) })
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("telemetry: write the rest of the audit stream: %w", context.Cause(ctx))
	}
}
