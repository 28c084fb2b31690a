package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// Ordered tools and methods of one connection begin one after the other, in both eras. A
// call that asks the user, or waits, lets the next one begin.
func TestOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun []string
		s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, nil)
		begin := func(name string) { begun = append(begun, fmt.Sprintf("%s %d", name, int(time.Now().Unix()%1000))) }
		start := int(time.Now().Unix() % 1000)
		s.AddRawTool(mcp.Tool{Name: "slow", Description: "Takes a second.", Ordered: true}, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
			begin("slow")
			time.Sleep(time.Second)
			return &mcp.ToolResult{}, nil
		})
		s.AddRawTool(mcp.Tool{Name: "waits", Description: "Waits.", Ordered: true}, func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
			begin("waits")
			defer c.Idle()()
			<-ctx.Done()
			return &mcp.ToolResult{}, nil
		})
		s.AddRawTool(mcp.Tool{Name: "asks", Description: "Asks.", Ordered: true}, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
			begin("asks")
			if _, err := mcp.Ask[string](c, "name", "Who?"); err != nil {
				return nil, err
			}
			return &mcp.ToolResult{}, nil
		})
		s.HandleMethod("own/method", mcp.Method{NoHandshake: true, Ordered: true, Handle: func(context.Context, *mcp.Request) (mcp.Result, error) {
			begin("method")
			time.Sleep(time.Second)
			return nil, nil
		}})
		in, to := io.Pipe()
		from, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), jsonrpc.Lines(in, out, jsonrpc.Limits{})) }()
		go func() {
			for lines := bufio.NewScanner(from); lines.Scan(); { // the user never answers
			}
		}()
		call := func(id int, name, meta string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":%q}}`, id, meta, name)
		}
		const stateless = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},`
		lines := []string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			call(1, "slow", ""), call(2, "asks", ""), call(3, "waits", stateless), call(4, "slow", stateless),
			`{"jsonrpc":"2.0","id":5,"method":"own/method"}`, call(6, "asks", stateless), call(7, "slow", ""),
		}
		if _, err := io.WriteString(to, strings.Join(lines, "\n")+"\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		var want []string
		for _, w := range []struct {
			name  string
			after int
		}{{"slow", 0}, {"asks", 1}, {"waits", 1}, {"slow", 1}, {"method", 2}, {"asks", 3}, {"slow", 3}} {
			want = append(want, fmt.Sprintf("%s %d", w.name, start+w.after))
		}
		if !slices.Equal(begun, want) {
			t.Errorf("begun: %q\nwant:  %q", begun, want)
		}
		to.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		from.Close()
	})
}
