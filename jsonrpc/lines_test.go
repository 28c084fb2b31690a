package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/jsonrpc"
)

func TestLines_lineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		w.say("", " \t", "\r", request(1, "a")+"\r", "\r", "  "+request(2, "b")+"\t ", "")
		w.expect(result(1, `"a"`), result(2, `"b"`))
		if got := w.complaints(); len(got) != 0 {
			t.Errorf("Refused was told %q", got)
		}
		w.hangUp()
	})
}

func TestLines_eachLineIsJudgedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		w.say("{", `"jsonrpc":"2.0","id":1,"method":"a"`, "}", request(2, "b"))
		bad := failure("null", -32700, "Parse error: not valid JSON")
		w.expect(bad, failure("null", -32700, "Parse error: not valid JSON"), bad, result(2, `"b"`))
		w.hangUp()
	})
}

func TestLines_lastLineWithoutEnd(t *testing.T) {
	for _, c := range []struct{ last, want string }{
		{request(1, "a"), result(1, `"a"`)},
		{request(1, "a")[:20], ""}, // torn: nobody is there to be told
		{`{"id":1,"method":"a"}`, failure(1, -32600, `Invalid Request: jsonrpc must be "2.0"`)},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := connect(t, jsonrpc.PeerOptions{Handle: echo})
			_, _ = io.WriteString(w.in, c.last)
			if err := w.hangUp(); err != nil {
				t.Errorf("Run = %v", err)
			}
			if got := strings.Join(w.heard(), ""); got != c.want {
				t.Errorf("heard %s, want %s", got, c.want)
			}
		})
	}
}

// A line at the limit is served, however it ends and however it is cut into
// reads; a longer one is reported once, and the next is served.
func TestLines_limit(t *testing.T) {
	const limit = 1000
	line := func(n int) string {
		s := request(1, "a")
		return s[:len(s)-1] + strings.Repeat(" ", n-len(s)) + "}"
	}
	for _, end := range []string{"\n", "\r\n"} {
		for _, cut := range []byte{0, 1, 126} {
			for _, d := range []int{-1, 0, 1, 5000} {
				r := &choppy{data: []byte(line(limit+d) + end + request(2, "b") + end), cuts: []byte{cut}}
				tr := jsonrpc.Lines(r, io.Discard, jsonrpc.Limits{Bytes: limit})
				p, err := tr.Receive(t.Context())
				if _, bad := errors.AsType[*jsonrpc.Malformed](err); bad != (d > 0) {
					t.Errorf("%+d, %q, pieces of %d: Receive = %v", d, end, cut+1, err)
				}
				if d <= 0 && (p.Message == nil || p.Message.Method != "a") {
					t.Errorf("%+d: Receive = %v", d, p.Message)
				}
				if p, err := tr.Receive(t.Context()); err != nil || p.Message.Method != "b" {
					t.Errorf("%+d, %q: then Receive = %v, %v", d, end, p.Message, err)
				}
				if _, err := tr.Receive(t.Context()); err != io.EOF {
					t.Errorf("%+d: at the end Receive = %v", d, err)
				}
			}
		}
	}
}

func TestLines_overLongLineIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, jsonrpc.PeerOptions{Handle: echo})
		w.say(strings.Repeat("x", 5<<20), request(1, "a"))
		w.expect(failure("null", -32600, "Invalid Request: message is larger than 1048576 bytes"), result(1, `"a"`))
		w.hangUp()
	})
}

// endless gives the same byte for ever, and counts.
type endless struct {
	c     byte
	n     int
	chunk []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if e.chunk == nil {
		e.chunk = bytes.Repeat([]byte{e.c}, 64<<10)
	}
	n := copy(b, e.chunk)
	e.n += n
	return n, nil
}

func TestLines_endlessLine(t *testing.T) {
	for _, c := range []byte("x \r[") {
		r := &endless{c: c}
		tr := jsonrpc.Lines(r, io.Discard, jsonrpc.Limits{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := tr.Receive(t.Context())
		if _, ok := errors.AsType[*jsonrpc.Malformed](err); !ok {
			t.Errorf("of %q: Receive = %v, want *Malformed", c, err)
		}
		_, err = tr.Receive(t.Context())
		if !errors.Is(err, jsonrpc.ErrTooLong) {
			t.Errorf("of %q: then Receive = %v, want ErrTooLong", c, err)
		}
		runtime.ReadMemStats(&after)
		if r.n < 64<<20 || r.n > 68<<20 {
			t.Errorf("of %q: %d bytes were read, want 64 MiB", c, r.n)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("of %q: %d bytes were allocated", c, used)
		}
	}
}

func TestLines_endlessLineEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := jsonrpc.NewPeer(jsonrpc.Lines(&endless{c: 'x'}, io.Discard, jsonrpc.Limits{}), nil)
		if err := p.Run(t.Context()); !errors.Is(err, jsonrpc.ErrTooLong) {
			t.Errorf("Run = %v, want ErrTooLong", err)
		}
	})
}

// idler reads nothing, without an error.
type idler struct{}

func (idler) Read([]byte) (int, error) { return 0, nil }

func TestLines_readerWithoutProgress(t *testing.T) {
	if _, err := jsonrpc.Lines(idler{}, io.Discard, jsonrpc.Limits{}).Receive(t.Context()); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Receive = %v, want ErrNoProgress", err)
	}
}

func TestLines_readError(t *testing.T) {
	r, w := io.Pipe()
	tr := jsonrpc.Lines(r, io.Discard, jsonrpc.Limits{})
	w.CloseWithError(errors.New("cable cut"))
	if _, err := tr.Receive(t.Context()); err == nil || err.Error() != "cable cut" {
		t.Errorf("Receive = %v, want the reader's error", err)
	}
}

// Those who send to a slow reader wait, once there is too much; nothing is lost.
func TestLines_slowReaderHoldsSendersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		tr := jsonrpc.Lines(strings.NewReader(""), w, jsonrpc.Limits{})
		params := json.RawMessage(`["` + strings.Repeat("x", 1<<19) + `"]`)
		var mu sync.Mutex
		returned := 0
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				if err := tr.Send(context.Background(), jsonrpc.One(&jsonrpc.Message{Method: "n", Params: params})); err != nil {
					t.Errorf("Send = %v", err)
				}
				mu.Lock()
				returned++
				mu.Unlock()
			})
		}
		synctest.Wait()
		mu.Lock()
		if returned > 10 {
			t.Errorf("%d of 32 Sends have returned, and nothing was read", returned)
		}
		mu.Unlock()
		read := make(chan int)
		go func() {
			b, _ := io.ReadAll(r)
			read <- strings.Count(string(b), "\n")
		}()
		wg.Wait()
		if err := tr.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if n := <-read; n != 32 {
			t.Errorf("%d lines were read, want 32", n)
		}
	})
}

// counter counts writes.
type counter struct{ writes, largest, lines int }

func (c *counter) Write(b []byte) (int, error) {
	c.writes++
	c.largest = max(c.largest, len(b))
	c.lines += bytes.Count(b, []byte("\n"))
	return len(b), nil
}

// Answers to requests that came together go out together, but not more than is
// good for memory.
func TestLines_answersGoOutTogether(t *testing.T) {
	for _, c := range []struct {
		size     int
		min, max int // writes
	}{
		{10, 1, 3},
		{20_000, 200, 500},
	} {
		synctest.Test(t, func(t *testing.T) { // where the clock stands still while something runs
			var in strings.Builder
			for i := range 1000 {
				in.WriteString(request(i, "m") + "\n")
			}
			big := json.RawMessage(`"` + strings.Repeat("x", c.size) + `"`)
			out := &counter{}
			p := jsonrpc.NewPeer(jsonrpc.Lines(strings.NewReader(in.String()), out, jsonrpc.Limits{}), &jsonrpc.PeerOptions{
				Handle: func(context.Context, *jsonrpc.Message) (json.RawMessage, error) { return big, nil },
			})
			if err := p.Run(t.Context()); err != nil {
				t.Errorf("Run = %v", err)
			}
			if out.lines != 1000 || out.largest > 100<<10 || out.writes < c.min || out.writes > c.max {
				t.Errorf("%d answers of %d bytes: %d writes, the largest %d bytes, want %d to %d writes of at most 100 KiB",
					out.lines, c.size, out.writes, out.largest, c.min, c.max)
			}
		})
	}
}

// An oversized request is answered under its own id, and an oversized response
// ends the call that it belongs to, wherever the sender writes the id.
func TestLines_oversizedIsAnsweredUnderItsID(t *testing.T) {
	big := `"` + strings.Repeat("x", 3<<20) + `"`
	for name, c := range map[string]struct {
		line, id string
		silent   bool
	}{
		"request, id first":       {`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":` + big + `}}`, "7", false},
		"request, id last":        {`{"method":"m","params":{"a":` + big + `},"jsonrpc":"2.0","id":"a\"b"}`, `"a\"b"`, false},
		"request, with spaces":    {`  {"method": "m", "params": {"a": ` + big + `}, "id": 7, "jsonrpc": "2.0"} `, "7", false},
		"request, params first":   {`{"params":{"a":` + big + `},"method":"m","jsonrpc":"2.0","id":7}`, "7", false},
		"an id in params":         {`{"jsonrpc":"2.0","method":"m","params":{"a":` + big + `,"id":8}}`, "", false},
		"a text like an id":       {`{"jsonrpc":"2.0","method":"m","params":{"a":` + big[:len(big)-1] + `,\"id\":9}"}}`, "", false},
		"two ids":                 {`{"jsonrpc":"2.0","id":1,"id":2,"method":"m","params":{"a":` + big + `}}`, "", false},
		"response, id first":      {`{"jsonrpc":"2.0","id":7,"result":{"a":` + big + `}}`, "7", true},
		"response, id last":       {`{"result":{"a":` + big + `},"jsonrpc":"2.0","id":7}`, "7", true},
		"error response, id last": {`{"error":{"code":1,"message":` + big + `},"id":7}`, "7", true},
		"batch":                   {`[{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":` + big + `}}]`, "", false},
		"not JSON":                {big, "", false},
	} {
		for _, cut := range []byte{0, 255} {
			receive := func(tr jsonrpc.Transport) {
				_, err := tr.Receive(t.Context())
				bad, ok := errors.AsType[*jsonrpc.Malformed](err)
				if !ok || bad.ID.String() != c.id || bad.Silent != c.silent || !strings.Contains(bad.Err.Message, "larger than") {
					t.Errorf("%s, cut %d: Receive = %+v, want id %q, silent %t", name, cut, err, c.id, c.silent)
				}
				if p, err := tr.Receive(t.Context()); err != nil || p.Message.Method != "b" {
					t.Errorf("%s: then Receive = %v, %v", name, p.Message, err)
				}
			}
			var r io.Reader = strings.NewReader(c.line + "\n" + request(2, "b") + "\n")
			if cut != 0 {
				r = &choppy{data: []byte(c.line + "\n" + request(2, "b") + "\n"), cuts: []byte{cut}}
			}
			receive(jsonrpc.Lines(r, io.Discard, jsonrpc.Limits{}))
		}
		_, err := jsonrpc.Decode([]byte(strings.TrimSpace(c.line)), jsonrpc.Limits{})
		if bad, ok := errors.AsType[*jsonrpc.Malformed](err); !ok || bad.Silent != c.silent || c.id != "" && bad.ID.String() != c.id {
			t.Errorf("%s: Decode = %v, want id %q", name, bad, c.id)
		}
	}
}

// An id that is cut off by the limit is not taken for a shorter one.
func TestLines_oversizedCutsID(t *testing.T) {
	for pad := range 32 {
		line := `{"method":"m","x":"` + strings.Repeat("x", 1000-pad) + `","id":1234567890,"params":"` + strings.Repeat("x", 5000) + `"}`
		_, err := jsonrpc.Lines(strings.NewReader(line+"\n"), io.Discard, jsonrpc.Limits{Bytes: 1000}).Receive(t.Context())
		if bad, _ := errors.AsType[*jsonrpc.Malformed](err); bad == nil || bad.ID.String() != "1234567890" && !bad.ID.IsZero() {
			t.Errorf("Receive = %+v", bad)
		}
		cut := &choppy{data: []byte(line + "\n"), cuts: []byte{0}}
		_, err = jsonrpc.Lines(cut, io.Discard, jsonrpc.Limits{Bytes: 1000}).Receive(t.Context())
		if bad, _ := errors.AsType[*jsonrpc.Malformed](err); bad == nil || bad.ID.String() != "1234567890" && !bad.ID.IsZero() {
			t.Errorf("byte by byte: Receive = %+v", bad)
		}
	}
}

// The memory of one large message is not kept for the next ones, and a message that the
// caller holds is not overwritten by them.
func TestLines_largeLineIsNotKept(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":"` + strings.Repeat("x", 8<<20) + `"}}`
	in := large + "\n" + large + "\n" + request(2, "b") + "\n"
	tr := jsonrpc.Lines(strings.NewReader(in), io.Discard, jsonrpc.Limits{Bytes: 16 << 20})
	var held []jsonrpc.Packet
	for range 3 {
		p, err := tr.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, p)
	}
	for _, p := range held[:2] {
		if got := string(p.Message.Params); got != large[strings.Index(large, `{"a"`):len(large)-1] {
			t.Errorf("the params of %s have changed: %.60s", p.Message.Method, got)
		}
	}
	held = nil
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 6<<20+uint64(len(in)+len(large)) {
		t.Errorf("%d bytes are in use", m.HeapAlloc)
	}
	runtime.KeepAlive(tr)
}
