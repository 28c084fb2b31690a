// Package load shows what our HTTP server does when there are very many clients,
// or hostile ones. All of it is on this machine, and bounded.
package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

const (
	meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	mib  = 1 << 20
)

// serve starts the server with every feature.
func serve(t *testing.T) (addr string, pid int) {
	t.Helper()
	programs, err := harness.Build(t.TempDir(), harness.FeaturesServer)
	if err != nil {
		t.Fatal(err)
	}
	s := programs.Service(t, harness.FeaturesServer)
	return s.Address(), s.PID()
}

// client keeps its connections: the tests are about calls.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// call greets somebody and returns the answer.
func call(addr, id, name string) (string, error) {
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + name + `"},` + meta + `}}`
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	headers(req.Header, "tools/call", "greet")
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

func headers(h http.Header, method, name string) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", "2026-07-28")
	h.Set("Mcp-Method", method)
	if name != "" {
		h.Set("Mcp-Name", name)
	}
}

// rss is the memory of a process that is in use now.
func rss(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// Ids mean something within one request only: all clients may use the same.
func TestSameID(t *testing.T) {
	addr, _ := serve(t)
	const clients, calls = 64, 100_000
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for c := range clients {
		wg.Go(func() {
			for i := range calls / clients {
				name := fmt.Sprintf("c%d-%d", c, i)
				got, err := call(addr, "1", name)
				if err != nil || !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "Hello, "+name+"!") {
					if wrong.Add(1) == 1 {
						t.Errorf("call of %s: %s, %v", name, got, err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d of %d answers were not the caller's own", n, calls)
	}
}

// Clients that send next to nothing do not keep others waiting.
func TestSlowConnections(t *testing.T) {
	addr, pid := serve(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	const slow = 2000
	for i := range slow {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer c.Close()
			head := "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\n"
			if i%2 == 0 { // half of them get as far as the body
				head += "Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n"
			}
			_, _ = io.WriteString(c, head)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					if _, err := c.Write([]byte("x")); err != nil {
						return // the server has had enough
					}
				}
			}
		})
	}
	var took []time.Duration
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
		start := time.Now()
		if got, err := call(addr, "7", "good"); err != nil || !strings.Contains(got, "Hello, good!") {
			t.Fatalf("call: %s, %v", got, err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("%d slow connections, %d calls: p50 %v, p99 %v, %d MiB", slow, len(took), took[len(took)/2], p99, rss(t, pid)/mib)
	if most := harness.Bound(100 * time.Millisecond); p99 > most {
		t.Errorf("p99 = %v, want at most %v", p99, most)
	}
}

// Large bodies at once, and very many streams that wait, fit into little memory.
func TestMemory(t *testing.T) {
	addr, pid := serve(t)
	const bodies, streams, most = 200, 5000, 512 * mib

	large := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + strings.Repeat("x", mib-400) + `"},` + meta + `}}`)
	var wg sync.WaitGroup
	var answered, refused, peak atomic.Int64
	for range bodies {
		wg.Go(func() {
			req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/mcp", bytes.NewReader(large))
			if err != nil {
				t.Error(err)
				return
			}
			headers(req.Header, "tools/call", "greet")
			res, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			switch {
			case res.StatusCode == http.StatusOK:
				answered.Add(1)
			case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
				refused.Add(1)
			default:
				t.Errorf("status %d", res.StatusCode)
			}
			for now := int64(rss(t, pid)); ; {
				old := peak.Load()
				if now <= old || peak.CompareAndSwap(old, now) {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d bodies of 1 MiB at once: %d answered, %d told to come again, at most %d MiB", bodies, answered.Load(), refused.Load(), peak.Load()/mib)
	if answered.Load() == 0 || peak.Load() > most {
		t.Errorf("%d answered with %d MiB, want some, within %d MiB", answered.Load(), peak.Load()/mib, most/mib)
	}

	before := rss(t, pid)
	conns := make([]net.Conn, 0, streams)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
	for range streams {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", addr, len(listen), listen)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			t.Fatalf("a stream began with %q, %v", line, err)
		}
	}
	now := rss(t, pid)
	t.Logf("%d streams: %d MiB in all, %d KiB a stream", streams, now/mib, (now-before)/streams/1024)
	if now > most {
		t.Errorf("%d MiB, want at most %d", now/mib, most/mib)
	}
}
