package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

// An adversarialInput is a line of testdata/adversarial.jsonl: bytes for a
// server, and what it must send then, nothing else. Names begin with the number
// of the input in the project's list of threats.
type adversarialInput struct {
	Name      string   `json:"name"`
	Revisions []string `json:"revisions"`
	Bytes     []byte   `json:"base64"`
	// Large inputs go on with Repeat, so often, and end with Suffix.
	Repeat string `json:"repeat"`
	Times  int    `json:"times"`
	Suffix []byte `json:"suffix"`

	Before []string     `json:"before"` // lines sent ahead; what comes back does not count
	After  []string     `json:"after"`  // lines that clean up
	Fresh  bool         `json:"fresh"`  // without a handshake
	EOF    bool         `json:"eof"`    // the client ends behind the bytes, without a line end
	Frugal bool         `json:"frugal"` // must cost little memory
	Batch  bool         `json:"batch"`  // the answers come as one
	Expect []wantAnswer `json:"expect"`
}

// A wantAnswer is an error with a code, or a result. Without ID it belongs to no
// request.
type wantAnswer struct {
	ID       json.RawMessage `json:"id"`
	Code     int             `json:"code"`
	Result   bool            `json:"result"`
	Refused  bool            `json:"refused"`  // arguments that do not fit: by revision
	Null     bool            `json:"null"`     // the id is null whatever the revision
	Contains string          `json:"contains"` // in the answer's text
}

func readAdversarial(t testing.TB) []adversarialInput {
	t.Helper()
	b, err := os.ReadFile("testdata/adversarial.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []adversarialInput
	for line := range bytes.Lines(b) {
		var in adversarialInput
		if err := jsonv2.Unmarshal(line, &in, jsonv2.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		inputs = append(inputs, in)
	}
	return inputs
}

func (in *adversarialInput) bytes() []byte {
	return slices.Concat(in.Bytes, bytes.Repeat([]byte(in.Repeat), in.Times), in.Suffix)
}

func TestAdversarial(t *testing.T) {
	for _, in := range readAdversarial(t) {
		for _, name := range in.Revisions {
			r, ok := ParseRevision(name)
			if !ok {
				t.Fatalf("%s: revision %q", in.Name, name)
			}
			t.Run(in.Name+"/"+name, func(t *testing.T) {
				start := time.Now()
				synctest.Test(t, func(t *testing.T) { in.run(t, r) })
				if d := time.Since(start); d > time.Second && !raceEnabled {
					t.Errorf("took %v, want less than a second", d)
				}
			})
		}
	}
}

func (in *adversarialInput) run(t *testing.T, r Revision) {
	c := newRawClient(t, newFixture(ServerOptions{}, func(v any) { t.Errorf("panic: %v", v) }))
	if !in.Fresh {
		c.open(r)
	}
	for _, line := range in.Before {
		c.send([]byte(line + "\n"))
	}
	synctest.Wait()
	c.take()

	data := in.bytes()
	if !in.EOF {
		data = append(data, '\n')
	}
	c.send(data)
	if in.EOF {
		c.end()
	}
	synctest.Wait()
	in.judge(t, r, c.take())
	for _, line := range in.After {
		c.send([]byte(line + "\n"))
	}
	if in.EOF {
		return
	}
	synctest.Wait()
	if extra := c.take(); len(extra) > 0 {
		t.Errorf("later the server sent %q", extra)
	}
	c.probe(r, in.Fresh)
	c.end()
	if extra := c.take(); len(extra) > 0 {
		t.Errorf("at the end the server sent %q", extra)
	}
}

// TestAdversarial_cost sends the large inputs over a pipe of the system's, and
// measures what they cost. The best try within a few seconds counts: others use
// the machine, too.
func TestAdversarial_cost(t *testing.T) {
	// A quiet machine takes 5 ms or less.
	const most, longest = 4 << 20, 30 * time.Millisecond
	for _, in := range readAdversarial(t) {
		if !in.Frugal {
			continue
		}
		t.Run(in.Name, func(t *testing.T) {
			data := append(in.bytes(), '\n')
			memory, took := uint64(1<<62), time.Hour
			for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
				m, d := in.cost(t, data)
				memory, took = min(memory, m), min(took, d)
				if memory <= most && (took <= longest || raceEnabled) {
					break
				}
			}
			if memory > most {
				t.Errorf("%d bytes of input cost %d bytes of memory, want at most %d", len(data), memory, most)
			}
			if took > longest && !raceEnabled {
				t.Errorf("took %v, want at most %v", took, longest)
			}
			t.Logf("%d bytes: %v, %d bytes of memory", len(data), took, memory)
		})
	}
}

func (in *adversarialInput) cost(t *testing.T, data []byte) (memory uint64, took time.Duration) {
	t.Helper()
	serverIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	s := newFixture(ServerOptions{}, func(v any) { t.Errorf("panic: %v", v) })
	defer s.Close()
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), jsonrpc.Lines(serverIn, serverOut, jsonrpc.Limits{})) }()
	lines := bufio.NewReader(from)
	ask := func(b []byte) string {
		if _, err := to.Write(b); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(line, "\n")
	}
	ask([]byte(openingLine(newestLegacy) + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	answer := ask(data)
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	in.judge(t, newestLegacy, []string{answer})
	to.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	return after.TotalAlloc - before.TotalAlloc, took
}

// judge compares what the server sent with what is expected, in any order.
func (in *adversarialInput) judge(t *testing.T, r Revision, lines []string) {
	t.Helper()
	got := lines
	if in.Batch {
		if len(lines) != 1 {
			t.Fatalf("got %d lines %q, want one array", len(lines), lines)
		}
		got = nil
		for e := range rawjson.Elements(json.RawMessage(lines[0])) {
			got = append(got, string(e))
		}
	}
	if len(got) != len(in.Expect) {
		t.Fatalf("got %d answers %.500q, want %d: %+v", len(got), got, len(in.Expect), in.Expect)
	}
	for _, want := range in.Expect {
		i := slices.IndexFunc(got, func(line string) bool { return want.matches(r, line) == nil })
		if i < 0 {
			t.Fatalf("got %.500q, want %+v (id %s): %v", got, want, want.ID, want.matches(r, got[0]))
		}
		got = slices.Delete(got, i, i+1)
	}
}

func (w wantAnswer) matches(r Revision, line string) error {
	m := map[string]json.RawMessage{}
	if err := jsonv2.Unmarshal([]byte(line), &m); err != nil {
		return err
	}
	id, present := m["id"]
	var e struct {
		Code int `json:"code"`
	}
	if m["error"] != nil {
		if err := jsonv2.Unmarshal(m["error"], &e); err != nil {
			return err
		}
	}
	isError := strings.Contains(string(m["result"]), `"isError":true`)
	switch {
	case w.ID != nil && string(id) != string(w.ID):
		return fmt.Errorf("id %s, want %s", id, w.ID)
	case w.ID == nil && (w.Null || !r.errorWithoutID()) && string(id) != "null":
		return fmt.Errorf("id %s, want null", id)
	case w.ID == nil && !w.Null && r.errorWithoutID() && present:
		return fmt.Errorf("id %s, want none", id)
	case w.Result && m["result"] == nil:
		return fmt.Errorf("no result")
	case w.Refused && r.argsAsToolError() && !isError, w.Refused && !r.argsAsToolError() && e.Code != jsonrpc.CodeInvalidParams:
		return fmt.Errorf("arguments not refused")
	case e.Code != w.Code && !w.Refused:
		return fmt.Errorf("code %d, want %d", e.Code, w.Code)
	case !strings.Contains(line, w.Contains):
		return fmt.Errorf("does not contain %q", w.Contains)
	case string(m["jsonrpc"]) != `"2.0"`:
		return fmt.Errorf("jsonrpc %s", m["jsonrpc"])
	}
	return nil
}

// A rawClient writes bytes to a server over a pipe and reads lines.
type rawClient struct {
	t      testing.TB
	to     *io.PipeWriter
	served chan error

	mu    sync.Mutex
	lines []string
}

func newRawClient(t testing.TB, s *Server) *rawClient {
	c := &rawClient{t: t, served: make(chan error, 1)}
	in, to := io.Pipe()
	from, out := io.Pipe()
	c.to = to
	go func() { c.served <- s.Serve(t.Context(), jsonrpc.Lines(in, out, jsonrpc.Limits{})) }()
	go func() {
		var rest []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			rest = append(rest, buf[:n]...)
			c.mu.Lock()
			for {
				line, more, ok := bytes.Cut(rest, []byte("\n"))
				if !ok {
					break
				}
				c.lines = append(c.lines, string(line))
				rest = more
			}
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(s.Close)
	return c
}

func (c *rawClient) send(b []byte) {
	c.t.Helper()
	if _, err := c.to.Write(b); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// open makes the revision known: by a handshake, or by one stateless request.
func (c *rawClient) open(r Revision) {
	c.t.Helper()
	line := openingLine(r) + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if r.Stateless() {
		line = abbreviations.Replace(`{"jsonrpc":"2.0","id":"open","method":"server/discover","params":{$meta}}`)
	}
	c.send([]byte(line + "\n"))
	synctest.Wait()
	if got := c.take(); len(got) != 1 || !strings.Contains(got[0], `"id":"open","result"`) {
		c.t.Fatalf("open %v = %q", r, got)
	}
}

// probe asks something ordinary.
func (c *rawClient) probe(r Revision, fresh bool) {
	c.t.Helper()
	line, want := `{"jsonrpc":"2.0","id":"probe","method":"tools/call","params":{"name":"add","arguments":{"a":40,"b":2}}}`, `{\"sum\":42}`
	switch {
	case fresh:
		line, want = `{"jsonrpc":"2.0","id":"probe","method":"ping"}`, `"result":{}`
	case r.Stateless():
		line = abbreviations.Replace(strings.Replace(line, `"name"`, `$meta,"name"`, 1))
	}
	c.send([]byte(line + "\n"))
	synctest.Wait()
	if got := c.take(); len(got) != 1 || !strings.Contains(got[0], `"id":"probe","result"`) || !strings.Contains(got[0], want) {
		c.t.Errorf("probe = %q, want one result with %s", got, want)
	}
}

func (c *rawClient) end() {
	c.t.Helper()
	c.to.Close()
	if err := <-c.served; err != nil {
		c.t.Errorf("Serve = %v, want nil", err)
	}
	synctest.Wait()
}

func (c *rawClient) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}
