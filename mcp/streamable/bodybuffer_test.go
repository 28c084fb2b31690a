package streamable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/mcp"
)

var freed atomic.Int64

// All tests of this package run with memory that is overwritten as soon as it may be reused.
func init() {
	onFree = func(memory []byte) {
		freed.Add(1)
		for i := range memory {
			memory[i] = 0xAA
		}
	}
}

func TestBufferSize(t *testing.T) {
	for size := 1; size <= maxBuffer; size += 1 + size/100 {
		i, fits := bufferSize(size)
		if fits < size || size > minBuffer && fits > 2*size || i < 0 || i >= len(bufferPools) {
			t.Fatalf("bufferSize(%d) = %d, %d", size, i, fits)
		}
	}
	if i, fits := bufferSize(maxBuffer); i != len(bufferPools)-1 || fits != maxBuffer {
		t.Errorf("bufferSize(%d) = %d, %d", maxBuffer, i, fits)
	}
}

// What a program may keep of a request stays what it was, and other memory is used again.
func TestBody_kept(t *testing.T) {
	type args struct {
		Text string          `json:"text" jsonschema:"a text"`
		Raw  json.RawMessage `json:"raw" jsonschema:"anything"`
		Any  any             `json:"any" jsonschema:"anything"`
		L    []string        `json:"l" jsonschema:"texts"`
	}
	var mu sync.Mutex
	kept := map[string]func() string{} // what it was, and how to read it again
	keep := func(read func() string) {
		was := strings.Clone(read())
		mu.Lock()
		defer mu.Unlock()
		kept[was] = read
	}
	s := newFixture(t)
	mcp.AddTool(s, mcp.Tool{Name: "typed", Description: "keeps its arguments"}, func(_ context.Context, c *mcp.Call, in args) (*mcp.ToolResult, error) {
		keep(func() string { return fmt.Sprintf("%s %s %v %q", in.Text, in.Raw, in.Any, in.L) })
		return &mcp.ToolResult{StructuredContent: in.Raw, Content: []mcp.Content{mcp.Text(in.Text)}}, nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "raw", Description: "keeps what it came in"}, func(_ context.Context, c *mcp.Call, _ map[string]any) (string, error) {
		a, p, m, info := c.Arguments(), c.Request.Params(), c.Meta("k"), c.ClientInfo()
		keep(func() string { return fmt.Sprintf("%s %s %s %s", a, p, m, info.Name) })
		return "ok", nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "late", Description: "goes on after its end"}, func(ctx context.Context, c *mcp.Call, in args) (string, error) {
		before := c.Revision()
		go func() {
			for range 50 {
				_ = string(c.Arguments()) + string(c.Meta("k")) + c.Request.Target().Name + c.ClientInfo().Name + string(c.Request.Params())
				c.Progress(1, 2, "late")
				time.Sleep(100 * time.Microsecond)
			}
			_ = before
		}()
		return in.Text, nil
	})
	h := NewHandler(s, nil)
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	freed.Store(0)
	for _, revision := range []mcp.Revision{mcp.R20251125, mcp.R20260728} {
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				c, err := Connect(t.Context(), srv.URL, nil, &mcp.ClientOptions{Revision: revision})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for i := range 12 {
					text := strings.Repeat(fmt.Sprintf("%v-%d-%d ", revision, w, i), 1+i*i*20)
					in := args{text, json.RawMessage(`{"r":"` + text + `"}`), []any{text}, []string{text, "x"}}
					o := &mcp.CallOptions{Meta: mcp.Meta{"k": text}, Progress: func(context.Context, mcp.Progress) {}}
					for _, tool := range []string{"typed", "raw", "late", "echo"} {
						var a any = in
						if tool == "echo" {
							a = words{text}
						}
						res, err := c.Call(t.Context(), tool, a, o)
						if err != nil || res.IsError || tool != "raw" && res.Content[0].Text != text {
							t.Errorf("%s: %.200v, %v", tool, res, err)
							return
						}
						if tool == "typed" && string(res.StructuredContent) != string(in.Raw) {
							t.Errorf("%s: structured content %.100s", tool, res.StructuredContent)
						}
					}
				}
			})
		}
		wg.Wait()
	}
	if got := freed.Load(); got < 72 {
		t.Errorf("the memory of %d bodies was used again, want that of most calls of typed and echo", got)
	}
	if len(kept) != 144 {
		t.Errorf("%d things were kept, want 144", len(kept))
	}
	for was, read := range kept {
		if got := read(); got != was {
			t.Fatalf("kept %.100q, is now %.100q", was, got)
		}
	}
}
