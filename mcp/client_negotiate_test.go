package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// A script is a server that answers as a test says. A nil Message is silence.
type script func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message

// play runs a script at the other end of a client's transport.
func play(t *testing.T, s script) jsonrpc.Transport {
	t.Helper()
	near, far := jsonrpc.Pipe(jsonrpc.Limits{Bytes: 16 << 20, Nodes: 1_000_000}) // those of Command
	done := make(chan struct{})
	go func() {
		defer close(done)
		say := func(m *jsonrpc.Message) { _ = far.Send(context.Background(), jsonrpc.One(m)) }
		for {
			p, err := far.Receive(context.Background())
			if err != nil {
				return
			}
			if p.Message == nil {
				continue
			}
			if a := s(p.Message, say); a != nil {
				say(a)
			}
		}
	}()
	t.Cleanup(func() {
		_ = near.Close()
		<-done
	})
	return near
}

func answer(m *jsonrpc.Message, result string) *jsonrpc.Message {
	return &jsonrpc.Message{ID: m.ID, Result: json.RawMessage(result)}
}

func fail(m *jsonrpc.Message, code int, data any) *jsonrpc.Message {
	e := jsonrpc.Errorf(code, "no")
	if data != nil {
		e = e.With(data)
	}
	return &jsonrpc.Message{ID: m.ID, Error: e}
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`

func initialized(version string) string {
	return `{"protocolVersion":"` + version + `","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`
}

func quiet(o mcp.ClientOptions) *mcp.ClientOptions {
	o.Logger = slog.New(slog.DiscardHandler)
	return &o
}

func TestConnect_findsTheEra(t *testing.T) {
	always := func(m *jsonrpc.Message, version string) *jsonrpc.Message {
		if m.Method == "initialize" {
			return answer(m, initialized(version))
		}
		return nil
	}
	for name, c := range map[string]struct {
		script script
		want   string // a revision, or part of an error
		says   string // the methods that the client is to have used
	}{
		"modern": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			return answer(m, discovered)
		}, "2026-07-28", "server/discover"},
		"asked for the same version again": {
			func() script {
				n := 0
				return func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
					if n++; n == 1 {
						return fail(m, mcp.CodeUnsupportedVersion, map[string]any{"supported": []string{"2026-07-28"}, "requested": "2026-07-28"})
					}
					return answer(m, discovered)
				}
			}(),
			"2026-07-28", "server/discover server/discover",
		},
		"asks for ever": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			return fail(m, mcp.CodeUnsupportedVersion, map[string]any{"supported": []string{"2026-07-28"}})
		}, "keeps asking", "server/discover server/discover server/discover"},
		"only a future version": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			return fail(m, mcp.CodeUnsupportedVersion, map[string]any{"supported": []string{"2099-01-01"}})
		}, "no (-32022)", "server/discover"},
		"modern, and offers an old version only": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "server/discover" {
				return answer(m, `{"supportedVersions":["2025-06-18"],"capabilities":{}}`)
			}
			return always(m, "2025-06-18")
		}, "2025-06-18", "server/discover initialize notifications/initialized"},
		"legacy, unknown method": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "server/discover" {
				return fail(m, -32601, nil)
			}
			return always(m, "2025-03-26")
		}, "2025-03-26", "server/discover initialize notifications/initialized"},
		"legacy, any other error": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "server/discover" {
				return fail(m, -32000, "not initialized")
			}
			return always(m, "2024-11-05")
		}, "2024-11-05", "server/discover initialize notifications/initialized"},
		"legacy, answers anything": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "server/discover" {
				return answer(m, `{"tools":[]}`)
			}
			return always(m, "2025-11-25")
		}, "2025-11-25", "server/discover initialize notifications/initialized"},
		"legacy, silent": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			return always(m, "2025-11-25")
		}, "2025-11-25", "server/discover initialize notifications/initialized"},
		"modern, slow to start": {
			func() script {
				var first *jsonrpc.Message
				return func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
					switch {
					case first == nil:
						first = m
						return nil
					case m.Method == "initialize":
						say(answer(first, discovered))
						return answer(m, initialized("2025-11-25"))
					}
					return nil
				}
			}(),
			"2026-07-28", "server/discover initialize",
		},
		"legacy, unknown version": {func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
			if m.Method == "server/discover" {
				return fail(m, -32601, nil)
			}
			return always(m, "1999-01-01")
		}, `speaks "1999-01-01"`, "server/discover initialize"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				tr := play(t, func(m *jsonrpc.Message, say func(*jsonrpc.Message)) *jsonrpc.Message {
					said = append(said, m.Method)
					return c.script(m, say)
				})
				client, err := mcp.Connect(t.Context(), tr, quiet(mcp.ClientOptions{}))
				got := fmt.Sprint(err)
				if err == nil {
					got = client.Revision().String()
					synctest.Wait()
				}
				if !strings.Contains(got, c.want) || strings.Join(said, " ") != c.says {
					t.Errorf("Connect = %s after %v, want %s after %s", got, said, c.want, c.says)
				}
				if client != nil {
					_ = client.Close()
				}
			})
		})
	}
}

// A server that is known to be old is not asked in the new way again, until it is
// no longer old.
func TestConnect_remembersTheEra(t *testing.T) {
	synctest.Test(t, testRemembersTheEra)
}

func testRemembersTheEra(t *testing.T) {
	var said []string
	old := true
	server := func(m *jsonrpc.Message, _ func(*jsonrpc.Message)) *jsonrpc.Message {
		said = append(said, m.Method)
		switch {
		case m.Method == "initialize" && old:
			return answer(m, initialized("2025-11-25"))
		case m.Method == "server/discover" && !old:
			return answer(m, discovered)
		case m.IsRequest():
			return fail(m, -32601, nil)
		}
		return nil
	}
	o := quiet(mcp.ClientOptions{})
	for i, want := range []string{
		"server/discover initialize notifications/initialized", "initialize notifications/initialized",
		"initialize server/discover", "server/discover",
	} {
		old, said = i < 2, nil
		c, err := mcp.Connect(t.Context(), namedTransport{play(t, server)}, o)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		synctest.Wait()
		if got := strings.Join(said, " "); got != want {
			t.Errorf("connection %d: %s, want %s", i+1, got, want)
		}
	}
}

type namedTransport struct{ jsonrpc.Transport }

func (namedTransport) ServerName() string { return "https://example.com" }

// The context bounds the handshake, also when the server says nothing at all.
func TestConnect_bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		start := time.Now()
		_, err := mcp.Connect(ctx, play(t, func(*jsonrpc.Message, func(*jsonrpc.Message)) *jsonrpc.Message { return nil }), quiet(mcp.ClientOptions{}))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 21*time.Second {
			t.Errorf("Connect = %v after %v, want the deadline after 20s", err, took)
		}
	})
}
