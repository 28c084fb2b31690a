package bare

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const maxBody = 4 << 20

var (
	contentJSON = []string{"application/json"}
	contentSSE  = []string{"text/event-stream"}
)

// HTTPOptions say how Lean is to be spoken to; Bare and Bare2 take anything and
// answer in JSON.
type HTTPOptions struct {
	Stateless bool // requests of 2026-07-28; otherwise sessions of 2025-11-25
	SSE       bool // answer with an event stream
}

// NewHTTP returns the Streamable HTTP handler of a variant.
func NewHTTP(v Variant, o HTTPOptions) (http.Handler, error) {
	if _, err := v.replier(); err != nil {
		return nil, err
	}
	if v == Lean {
		return &leanHTTP{HTTPOptions: o, sessions: map[string]session{}}, nil
	}
	h := &bareHTTP{}
	h.exchanges.New = func() any {
		r, _ := v.replier() // checked above
		return &exchange{server: r}
	}
	return h, nil
}

// An exchange is the memory one request and its answer need.
type exchange struct {
	server  replier
	in, out []byte
}

// read reads the body into memory that is kept.
func (x *exchange) read(r *http.Request) error {
	n := r.ContentLength
	if n < 0 || n > maxBody {
		var err error
		x.in, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
		return err
	}
	if int64(cap(x.in)) < n {
		x.in = make([]byte, n)
	}
	x.in = x.in[:n]
	_, err := io.ReadFull(r.Body, x.in)
	return err
}

// write sends the answer as JSON. The client being gone is its own affair.
func (x *exchange) write(w http.ResponseWriter, status int) {
	h := w.Header()
	h["Content-Type"] = contentJSON
	h.Set("Content-Length", strconv.Itoa(len(x.out)))
	w.WriteHeader(status)
	_, _ = w.Write(x.out)
}

// bareHTTP is Bare and Bare2: every POST is a message, every session is "bare".
type bareHTTP struct {
	exchanges sync.Pool
}

func (b *bareHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := b.exchanges.Get().(*exchange)
	defer b.exchanges.Put(x)
	if err := x.read(r); err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	out, ok := x.server.reply(x.out[:0], x.in)
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	x.out = out
	if r.Header.Get("Mcp-Session-Id") == "" {
		w.Header().Set("Mcp-Session-Id", "bare")
	}
	x.write(w, http.StatusOK)
}

// leanHTTP is Lean: it checks headers against each other and the body, and
// keeps sessions for the older revision.
type leanHTTP struct {
	HTTPOptions
	exchanges sync.Pool

	mu       sync.RWMutex
	sessions map[string]session
}

type session struct{ version string }

func (l *leanHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status := refuse(r); status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	x, _ := l.exchanges.Get().(*exchange)
	if x == nil {
		x = new(exchange)
	}
	defer l.exchanges.Put(x)
	if err := x.read(r); err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	var e leanEnvelope
	if err := json.Unmarshal(x.in, &e); err != nil {
		x.out = appendError(x.out[:0], nil, -32700, "parse error")
		x.write(w, http.StatusBadRequest)
		return
	}
	if l.Stateless {
		if code, msg := mismatch(r.Header, &e); code != 0 {
			x.out = appendError(x.out[:0], e.ID, code, msg)
			x.write(w, http.StatusBadRequest)
			return
		}
	} else if e.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", l.open())
	} else if !l.known(r.Header.Get("Mcp-Session-Id")) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	if len(e.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !l.SSE {
		x.out = e.answer(x.out[:0])
		x.write(w, http.StatusOK)
		return
	}
	x.out = append(x.out[:0], "event: message\ndata: "...)
	x.out = append(e.answer(x.out), "\n\n"...)
	h := w.Header()
	h["Content-Type"] = contentSSE
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(x.out)
	_ = http.NewResponseController(w).Flush()
}

func (l *leanHTTP) open() string {
	id := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[id] = session{version: "2025-11-25"}
	return id
}

func (l *leanHTTP) known(id string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sessions[id].version != ""
}

// refuse returns the status of a request that is turned away by its headers
// alone, or 0.
func refuse(r *http.Request) int {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	if !isLocal(r.Host) || r.Header.Get("Origin") != "" {
		return http.StatusForbidden
	}
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); ct != "application/json" {
		return http.StatusUnsupportedMediaType
	}
	accept := r.Header.Get("Accept")
	if !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") {
		return http.StatusNotAcceptable
	}
	return 0
}

func isLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return host == "127.0.0.1" || host == "localhost" || host == "::1"
}

// mismatch returns the error of a stateless request whose headers and body
// disagree, or 0.
func mismatch(h http.Header, e *leanEnvelope) (code int, msg string) {
	version := h.Get("Mcp-Protocol-Version")
	switch {
	case version != "2026-07-28", version != e.Params.Meta.Version, h.Get("Mcp-Method") != e.Method,
		e.Method == "tools/call" && h.Get("Mcp-Name") != e.Params.Name:
		return -32020, "header mismatch"
	case len(e.Params.Meta.Caps) == 0:
		return -32602, "client capabilities required"
	}
	return 0, ""
}
