package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// TestMain lets the test program be a server itself, for TestStdio.
func TestMain(m *testing.M) {
	if mode := os.Getenv("BOSSMAN_TEST_STDIO"); mode != "" {
		if run := children[mode]; run != nil {
			run()
		} else {
			chatter()
		}
		return
	}
	os.Exit(m.Run())
}

// chatter is a server that writes to standard output in every way it can find.
func chatter() {
	early := slog.New(slog.NewTextHandler(os.Stdout, nil)) // made before Stdio
	stdout := os.Stdout
	s := mcp.NewServer(mcp.Implementation{Name: "chatter", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "talk", Description: "Write to standard output."},
		func(_ context.Context, c *mcp.Call, _ map[string]any) (string, error) {
			early.Info("by an old logger")
			fmt.Println("by fmt")
			fmt.Fprintln(stdout, "by an old file")
			return fmt.Sprint(len(c.Arguments())), nil
		})
	var o *mcp.StdioOptions
	if limit, _ := strconv.Atoi(os.Getenv("LIMIT")); limit > 0 {
		o = &mcp.StdioOptions{Limits: jsonrpc.Limits{Bytes: limit}}
	}
	if err := s.Serve(context.Background(), mcp.Stdio(o)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Standard output belongs to the protocol, whoever else has a hold of it.
func TestStdio_nothingElseOnStandardOutput(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "BOSSMAN_TEST_STDIO=1")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v, stderr %s", err, &errs)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], `{"jsonrpc":"2.0","id":1,"result":`) {
		t.Errorf("standard output is %q, want the answer alone", out.String())
	}
	for _, want := range []string{"by an old logger", "by fmt", "by an old file"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not on standard error: %q", want, errs.String())
		}
	}
}

// A message may have 16 MiB, unless the program says otherwise. A larger one fails alone, under
// its own id.
func TestStdio_limits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit    string
		size     int
		tooLarge bool
	}{
		{"", 15 << 20, false},
		{"", 17 << 20, true},
		{"100000", 90_000, false},
		{"100000", 110_000, true},
	} {
		command := self("1")
		command.Env = append(command.Env, "LIMIT="+tt.limit)
		c := start(t, command, mcp.ClientOptions{Timeout: time.Minute})
		_, err := c.Call(t.Context(), "talk", map[string]any{"text": strings.Repeat("x", tt.size)}, nil)
		e, _ := errors.AsType[*jsonrpc.Error](err)
		if tt.tooLarge != (e != nil && strings.Contains(e.Message, "larger than")) || !tt.tooLarge && err != nil {
			t.Errorf("limit %q, %d bytes: Call = %v", tt.limit, tt.size, err)
		}
		if _, err := c.Call(t.Context(), "talk", nil, nil); err != nil {
			t.Errorf("limit %q: then Call = %v", tt.limit, err)
		}
	}
}
