package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// protocolVersion is the key under which a modern request names its revision.
const protocolVersion = "io.modelcontextprotocol/protocolVersion"

// A Record is what the tee, or a front, wrote down: every conversation a client
// had with the server, in the order in which messages went by.
type Record struct {
	path string
}

// An Exchange is one request of the client and what became of it.
type Exchange struct {
	PID      int // of the tee, so one for each start of the server; over HTTP a number
	Method   string
	Params   json.RawMessage
	Revision string // in which it was asked; empty before an initialize is answered
	Answered bool
	Result   json.RawMessage
	Error    json.RawMessage
}

// An Ending tells how a server that was started came to its end.
type Ending struct {
	PID     int
	Signals []string // sent by the client
	Exited  bool
	Code    int
}

type line struct {
	PID    int    `json:"pid"`
	From   string `json:"from,omitempty"`
	Line   string `json:"line,omitempty"`
	Signal string `json:"signal,omitempty"`
	Exit   *int   `json:"exit,omitempty"`
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Exchanges lists the client's requests. It fails the test if either side put
// something on the pipe that is not JSON.
func (r *Record) Exchanges(t testing.TB) []*Exchange {
	t.Helper()
	type key struct {
		pid int
		id  string
	}
	var all []*Exchange
	open := map[key]*Exchange{}
	session := map[int]string{}
	for _, l := range r.lines(t) {
		if l.From == "" {
			continue
		}
		var m message
		if err := json.Unmarshal([]byte(l.Line), &m); err != nil {
			t.Fatalf("the %s wrote %q: %v", l.From, l.Line, err)
		}
		k := key{l.PID, string(m.ID)}
		switch {
		case l.From == "client" && m.Method != "" && m.ID != nil:
			e := &Exchange{PID: l.PID, Method: m.Method, Params: m.Params, Revision: session[l.PID]}
			if own := revisionOf(m.Params); own != "" {
				e.Revision = own
			}
			open[k] = e
			all = append(all, e)
		case l.From == "server" && m.Method == "":
			e := open[k]
			if e == nil {
				t.Fatalf("the server answered a request nobody sent: %s", l.Line)
			}
			delete(open, k)
			e.Answered, e.Result, e.Error = true, m.Result, m.Error
			if e.Method == "initialize" && m.Result != nil {
				var init struct {
					ProtocolVersion string `json:"protocolVersion"`
				}
				_ = json.Unmarshal(m.Result, &init)
				session[l.PID], e.Revision = init.ProtocolVersion, init.ProtocolVersion
			}
		}
	}
	return all
}

// Revision is the revision of the last request that was answered with a result.
func (r *Record) Revision(t testing.TB) string {
	t.Helper()
	for _, e := range slices.Backward(r.Exchanges(t)) {
		if e.Result != nil {
			return e.Revision
		}
	}
	return ""
}

// Methods lists what the client sent, requests and notifications, each once,
// in the order of the first.
func (r *Record) Methods(t testing.TB) []string {
	t.Helper()
	var methods []string
	for _, l := range r.lines(t) {
		var m message
		if l.From != "client" || json.Unmarshal([]byte(l.Line), &m) != nil || m.Method == "" {
			continue
		}
		if !slices.Contains(methods, m.Method) {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

// Notified lists the parameters of the server's notifications of one method.
func (r *Record) Notified(t testing.TB, method string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for _, l := range r.lines(t) {
		var m message
		if l.From == "server" && json.Unmarshal([]byte(l.Line), &m) == nil && m.Method == method {
			all = append(all, m.Params)
		}
	}
	return all
}

// Called is the last call of a tool.
func (r *Record) Called(t testing.TB, tool string) *Exchange {
	t.Helper()
	for _, e := range slices.Backward(r.Exchanges(t)) {
		var p struct {
			Name string `json:"name"`
		}
		if e.Method == "tools/call" && json.Unmarshal(e.Params, &p) == nil && p.Name == tool {
			return e
		}
	}
	t.Fatalf("no tools/call of %s went by; the client sent %s", tool, strings.Join(r.Methods(t), ", "))
	return nil
}

// AtOnce is how many requests of a method were under way at the same time, at
// most.
func (r *Record) AtOnce(t testing.TB, method string) int {
	t.Helper()
	open := map[string]bool{}
	most := 0
	for _, l := range r.lines(t) {
		var m message
		if json.Unmarshal([]byte(l.Line), &m) != nil || m.ID == nil {
			continue
		}
		k := fmt.Sprint(l.PID, " ", string(m.ID))
		switch {
		case l.From == "client" && m.Method == method:
			open[k] = true
			most = max(most, len(open))
		case l.From == "server" && m.Method == "":
			delete(open, k)
		}
	}
	return most
}

// Ending is the end of the server that a given exchange was with.
func (r *Record) Ending(t testing.TB, pid int) Ending {
	t.Helper()
	end := Ending{PID: pid}
	for _, l := range r.lines(t) {
		switch {
		case l.PID != pid:
		case l.Signal != "":
			end.Signals = append(end.Signals, l.Signal)
		case l.Exit != nil:
			end.Exited, end.Code = true, *l.Exit
		}
	}
	return end
}

func (r *Record) lines(t testing.TB) []line {
	t.Helper()
	b, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatalf("the client did not start the server: %v", err)
	}
	var all []line
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("record: %v in %q", err, s.Text())
		}
		all = append(all, l)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *Record) tail(n int) string {
	b, err := os.ReadFile(r.path)
	if err != nil {
		return err.Error()
	}
	return Tail(string(b), n)
}

func revisionOf(params json.RawMessage) string {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	var v string
	_ = json.Unmarshal(p.Meta[protocolVersion], &v)
	return v
}
