package streamable

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

// deadlines notes when the reading of a body was ended.
type deadlines struct {
	discard
	ended chan time.Time
}

func (d *deadlines) SetReadDeadline(time.Time) error {
	d.ended <- time.Now()
	return nil
}

// An alarm that is used again goes off when its new user wants it, whatever the
// one before wanted, and not at all once it is stopped.
func TestAlarm_usedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newFixture(t), nil)
		a := h.bodyAlarm(new(deadlines), time.Minute)
		for _, after := range []time.Duration{time.Second, 5 * time.Second, 3 * time.Second, 2 * time.Minute} {
			for _, stop := range []bool{true, false} {
				h.stopAlarm(a)
				w := &deadlines{ended: make(chan time.Time, 1)}
				began := time.Now()
				a = h.bodyAlarm(w, after)
				if stop {
					time.Sleep(after / 2)
					if h.stopAlarm(a) {
						t.Errorf("stopped after half of %v: it has gone off", after)
					}
					a = h.newAlarm()
					continue
				}
				if took := (<-w.ended).Sub(began); took != after {
					t.Errorf("it went off after %v, want %v", took, after)
				}
				if !h.stopAlarm(a) {
					t.Errorf("it went off after %v, and does not say so", after)
				}
				a = h.newAlarm()
			}
		}
		time.Sleep(time.Hour)
	})
}

// A server's own ReadTimeout neither ends a call nor cuts off a large body.
func TestReadTimeout_isNotOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		srv := &http.Server{Handler: NewHandler(newFixture(t), &Options{Hosts: []string{"test"}}), ReadTimeout: time.Second}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }()
		transport := &http.Transport{DialContext: l.dial}
		c := &client{t: t, url: "http://test/mcp", version: "2026-07-28", http: &http.Client{Transport: transport}}
		body, header := modernCall(1, "slow", "5s")
		if status, got := c.post(body, header...); status != 200 || !strings.Contains(got, `"text":"done"`) {
			t.Errorf("a call of five seconds: %d %s", status, got)
		}
		large := strings.Replace(body, "5s", strings.Repeat(" ", 50<<10), 1)
		r, err := http.NewRequestWithContext(t.Context(), "POST", c.url, &slowly{text: large})
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {c.version}}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		r.ContentLength = int64(len(large))
		res, err := c.http.Do(r)
		if err != nil {
			t.Fatalf("a body that takes three seconds: %v", err)
		}
		defer res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("a body that takes three seconds: %s", res.Status)
		}
		transport.CloseIdleConnections()
		srv.Close()
		<-done
	})
}

// A body that does not come is given up also where the server has no timeouts, and
// whoever waits for it.
func TestSlowBody_noTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		srv := &http.Server{Handler: NewHandler(newFixture(t), &Options{
			Hosts: []string{"test"}, Origins: []string{"https://app.example"},
			Authenticate: func(r *http.Request) (mcp.Principal, error) {
				_, err := io.ReadAll(r.Body)
				return mcp.Principal{ID: "p"}, err
			},
		})}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }()
		for _, c := range []struct {
			begin string
			most  time.Duration
		}{
			{"POST /mcp HTTP/1.1\r\nHost: evil.example\r\n", 11 * time.Second},
			{"OPTIONS /mcp HTTP/1.1\r\nHost: test\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n", 11 * time.Second},
			{"POST /mcp HTTP/1.1\r\nHost: test\r\n", 21 * time.Second}, // first for Authenticate
		} {
			conn, err := l.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := io.WriteString(conn, c.begin+"Content-Length: 1000\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(began.Add(time.Hour))
			_, _ = io.Copy(io.Discard, conn)
			if took := time.Since(began); took > c.most {
				t.Errorf("%q: given up after %v, want %v at most", c.begin, took, c.most)
			}
			conn.Close()
		}
		srv.Close()
		<-done
	})
}

// slowly reads as its text, in three parts a second apart.
type slowly struct {
	text string
	i    int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.i == len(s.text) {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	n := copy(p, s.text[s.i:min(s.i+len(s.text)/3+1, len(s.text))])
	s.i += n
	return n, nil
}
