package streamable

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"public"}`

// hostile is a server of the newest revision that answers calls as it likes.
func hostile(t *testing.T, call func(w http.ResponseWriter, r *http.Request, id string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &m)
		switch m.Method {
		case "server/discover":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)
		case "tools/list": // for the headers of a call
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}],"ttlMs":60000,"cacheScope":"public"}}`, m.ID)
		default:
			call(w, r, string(m.ID))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// peak is how much more memory was in use, at the worst of moments, while f ran.
func peak(f func()) (grown uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	inUse := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := inUse()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if now := inUse(); now > before {
			grown = max(grown, now-before)
		}
		select {
		case <-done:
			return grown
		case <-look.C:
		}
	}
}

// A gibibyte costs what the limit allows, however it comes, also if it is a million
// bytes on the way.
func TestClient_gibibyte(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	var packed bytes.Buffer // 16 MiB
	z := gzip.NewWriter(&packed)
	for range 16 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	for name, x := range map[string]struct {
		kind, begin string
		status      int
		gzip        bool
		want        string
	}{
		"JSON":                {"application/json", `{"jsonrpc":"2.0","id":%s,"result":{"a":"`, 200, false, "larger than"},
		"event":               {"text/event-stream", `data: {"jsonrpc":"2.0","id":%s,"result":{"a":"`, 200, false, "too large"},
		"comment":             {"text/event-stream", ":%s", 200, false, "too large"},
		"refusal":             {"application/json", `{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"`, 400, false, "status 400"},
		"JSON, compressed":    {"application/json", `{"jsonrpc":"2.0","id":%s,"result":{"a":"`, 200, true, "larger than"},
		"event, compressed":   {"text/event-stream", `data: {"jsonrpc":"2.0","id":%s,"result":{"a":"`, 200, true, "too large"},
		"refusal, compressed": {"application/json", `{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"`, 400, true, "status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			url := hostile(t, func(w http.ResponseWriter, r *http.Request, id string) {
				w.Header().Set("Content-Type", x.kind)
				n, piece := 1<<10, chunk
				begin := fmt.Appendf(nil, x.begin, id)
				if x.gzip {
					if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
						t.Error("the client does not take gzip: this shows nothing")
					}
					w.Header().Set("Content-Encoding", "gzip")
					var b bytes.Buffer
					z := gzip.NewWriter(&b)
					_, _ = z.Write(begin)
					_ = z.Close()
					n, piece, begin = 64, packed.Bytes(), b.Bytes()
				}
				w.WriteHeader(x.status)
				_, _ = w.Write(begin)
				for range n {
					if _, err := w.Write(piece); err != nil {
						return
					}
				}
			})
			c := dial(t, url, clientOptions(mcp.LatestRevision))
			var err error
			grown := peak(func() { _, err = c.Call(t.Context(), "x", nil, nil) })
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("Call = %.200v, want %s", err, x.want)
			}
			t.Logf("%d MiB more in use at most", grown>>20)
			if grown > 150<<20 {
				t.Errorf("%d MiB more were in use", grown>>20)
			}
		})
	}
}

// An answer that is none fails the call, and is never taken for a success.
func TestClient_brokenAnswers(t *testing.T) {
	for name, x := range map[string]struct{ answer, want string }{
		"both":                    {`{"jsonrpc":"2.0","id":%s,"result":{"content":[]},"error":{"code":1,"message":"x"}}`, "not both"},
		"neither":                 {`{"jsonrpc":"2.0","id":%s}`, "a result or an error"},
		"an error without a code": {`{"jsonrpc":"2.0","id":%s,"error":{"message":"x"}}`, "integer code"},
		"a code that is text":     {`{"jsonrpc":"2.0","id":%s,"error":{"code":"1","message":"x"}}`, "integer code"},
		"half a code":             {`{"jsonrpc":"2.0","id":%s,"error":{"code":1.5,"message":"x"}}`, "integer code"},
		"a result of nothing":     {`{"jsonrpc":"2.0","id":%s,"result":null}`, "not an object"},
		"an id that is text":      {`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`, "answer"},
		"an id never asked":       {`{"jsonrpc":"2.0","id":77%s,"result":{"content":[]}}`, "answer"},
		"no id":                   {`{"jsonrpc":"2.0","result":{"content":[]},"x":%s}`, "must have the id of its request"},
		"cut off":                 {`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, "malformed"},
		"a log line":              {`INFO %s`, "malformed"},
		"a member twice":          {`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"content":[]}}`, "duplicate"},
	} {
		for kind, form := range map[string]string{"application/json": "%s", "text/event-stream": "data: %s\n\n"} {
			t.Run(name+" as "+kind, func(t *testing.T) {
				url := hostile(t, func(w http.ResponseWriter, _ *http.Request, id string) {
					w.Header().Set("Content-Type", kind)
					fmt.Fprintf(w, form, fmt.Sprintf(x.answer, id))
				})
				c := dial(t, url, clientOptions(mcp.LatestRevision))
				if _, err := c.Call(t.Context(), "x", nil, nil); err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("Call = %v, want %s", err, x.want)
				}
			})
		}
	}
}

// An event stream is read as the standard has it, however strange it looks.
func TestClient_strangeStreams(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"fine"}]}}`
	for name, stream := range map[string]string{
		"carriage returns":  "\ufeffevent: message\rdata: " + answer + "\r\r",
		"in pieces":         "data: {\"jsonrpc\":\"2.0\",\ndata:\ndata:  \"id\":%s,\ndata:\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}\n\n",
		"id with NUL":       "id: a\x00b\ndata: " + answer + "\n\n",
		"retry, far beyond": "retry: 99999999999999999999\ndata: " + answer + "\n\n",
		"many comments":     strings.Repeat(": nothing\n", 200_000) + "data: " + answer + "\n\n",
		"other events":      "event: ping\ndata: x\n\nevent: endpoint\ndata: http://169.254.169.254/\n\ndata: " + answer + "\n\n",
		"another's answer":  `data: {"jsonrpc":"2.0","id":"1","result":{}}` + "\n\n" + `data: {"jsonrpc":"2.0","id":777,"result":{}}` + "\n\ndata: " + answer + "\n\n",
		"twice":             "data: " + answer + "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n\n",
		"a question":        `data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}` + "\n\ndata: " + answer + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			url := hostile(t, func(w http.ResponseWriter, _ *http.Request, id string) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, strings.ReplaceAll(stream, "%s", id))
			})
			c := dial(t, url, clientOptions(mcp.LatestRevision))
			for range 2 { // and the next call is none the worse for it
				if got, err := mcp.CallAs[string](t.Context(), c, "x", nil, nil); err != nil || got != "fine" {
					t.Errorf("CallAs = %q, %v", got, err)
				}
			}
		})
	}
}

// Neither silence nor comments without end nor an endless stream of notifications is
// an answer: the call is given up, and the server notices.
func TestClient_neverAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"silence":       "",
		"comments":      strings.Repeat(": still here\n\n", 100),
		"notifications": strings.Repeat(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n\n", 100),
	} {
		t.Run(name, func(t *testing.T) {
			gone := make(chan struct{})
			url := hostile(t, func(w http.ResponseWriter, r *http.Request, _ string) {
				defer close(gone)
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				for text != "" && r.Context().Err() == nil {
					if _, err := io.WriteString(w, text); err != nil {
						return
					}
				}
				<-r.Context().Done()
			})
			o := clientOptions(mcp.LatestRevision)
			o.Timeout = 300 * time.Millisecond
			c := dial(t, url, o)
			var err error
			grown := peak(func() { _, err = c.Call(t.Context(), "x", nil, nil) })
			if !errors.Is(err, mcp.ErrTimeout) || grown > 64<<20 {
				t.Errorf("Call = %v, want ErrTimeout; %d MiB more in use", err, grown>>20)
			}
			select {
			case <-gone:
			case <-time.After(time.Minute):
				t.Error("the server does not notice")
			}
		})
	}
}

// A million notifications before the answer are heard one by one.
func TestClient_million(t *testing.T) {
	many := 1_000_000
	if raceEnabled {
		many = 50_000
	}
	url := hostile(t, func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := strings.Repeat(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`+"\n\n", 1000)
		for range many / 1000 {
			_, _ = io.WriteString(w, text)
		}
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n\n", id)
	})
	o := clientOptions(mcp.LatestRevision)
	heard := 0
	o.OnLog = func(context.Context, mcp.LogMessage) { heard++ }
	c := dial(t, url, o)
	var err error
	grown := peak(func() { _, err = c.Call(t.Context(), "x", nil, nil) })
	if err != nil || heard != many || grown > 64<<20 {
		t.Errorf("Call = %v having heard %d, want %d; %d MiB more in use", err, heard, many, grown>>20)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A stream that used to show signs of life and has none any more is opened anew. One
// that never showed any is left alone.
func TestListen_fallsSilent(t *testing.T) {
	for _, beat := range []time.Duration{15 * time.Second, 40 * time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var listens []time.Duration
			serve := func(r *http.Request) (*http.Response, error) {
				b, _ := io.ReadAll(r.Body)
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.Unmarshal(b, &m)
				res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
				if m.Method == "server/discover" {
					res.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)))
					return res, nil
				}
				listens = append(listens, time.Since(began))
				in, out := io.Pipe()
				context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
				go func() {
					fmt.Fprintf(out, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`+"\n\n", m.ID)
					for range 4 { // and then the network is gone, and nobody tells
						select {
						case <-r.Context().Done():
							return
						case <-time.After(beat):
						}
						if beat > 0 {
							_, _ = out.Write(comment)
						}
					}
				}()
				res.Header.Set("Content-Type", "text/event-stream")
				res.Body = in
				return res, nil
			}
			c, err := Connect(t.Context(), "http://example.com/mcp", &ClientOptions{Transport: tripper(serve)}, clientOptions(mcp.LatestRevision))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
			if beat == 40*time.Second {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Second)
			}
			defer cancel()
			events := 0
			for _, err := range c.Listen(ctx, mcp.EventFilter{Tools: true}) {
				if err != nil {
					t.Errorf("Listen: %v", err)
				}
				events++
			}
			var want []time.Duration
			switch beat {
			case 15 * time.Second: // four comments, then a minute of silence
				want = []time.Duration{0, 120 * time.Second}
			case 40 * time.Second: // four comments, then three times as long
				want = []time.Duration{0, 280 * time.Second}
			case 0:
				want = []time.Duration{0}
			}
			if len(listens) != len(want) || events != len(want) {
				t.Fatalf("with comments every %v: opened after %v and told %d times, want after %v", beat, listens, events, want)
			}
			for i := range want {
				if d := listens[i] - want[i]; d < 0 || d > time.Second {
					t.Errorf("with comments every %v: opened after %v, want after %v", beat, listens, want)
				}
			}
		})
	}
}

// talkative is a server of an older revision whose stream for what belongs to no
// request is as stream says.
func talkative(t *testing.T, stream func(n int, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			stream(int(n.Add(1)), w, r)
			return
		case http.MethodDelete:
			return
		}
		var m struct{ ID json.RawMessage }
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &m)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"o","version":"1"},"content":[]}}`, m.ID)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// In a session, too, whoever listens is told again after a break.
func TestListen_sessionStreamBreaks(t *testing.T) {
	url := talkative(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n <= 2 {
			_, _ = io.WriteString(w, "retry: 1\n\n")
			return
		}
		<-r.Context().Done()
	})
	c := dial(t, url, clientOptions(mcp.R20251125))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := 0
	for _, err := range c.Listen(ctx, mcp.EventFilter{Tools: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("told %d times, want again after the break", n)
	}
}

// What is no message on that stream is counted like anywhere else.
func TestClient_noiseInSession(t *testing.T) {
	url := talkative(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("data: INFO nothing\n\n", 150))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c := dial(t, url, clientOptions(mcp.R20251125))
	for deadline := time.Now().Add(10 * time.Second); c.Health() == nil && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if err := c.Health(); err == nil {
		t.Errorf("Health = %v, want that something is wrong", err)
	}
	if _, err := c.Call(t.Context(), "x", nil, nil); err != nil || c.Health() != nil {
		t.Errorf("Call = %v, health %v", err, c.Health())
	}
}
