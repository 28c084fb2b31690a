// Package team runs the server of a team for real: replicas as processes on one
// PostgreSQL, a load balancer that sends every request to another of them, clients of
// every revision, laptops, and replicas that are killed or told to end.
//
// BOSSMAN_E2E_TEAM_TASKS says how much the crowd has to do: 1500 where nobody says,
// 20000 in full. BOSSMAN_E2E_RACE=1 builds the program with the race detector.
package team

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

// patience bounds everything that is waited for; machines can be busy.
const patience = 60 * time.Second

var (
	bossman  string // the program
	packages harness.Packages
)

func TestMain(m *testing.M) {
	code, err := prepared(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepared(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "bossman-e2e-bin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var flags []string
	if os.Getenv("BOSSMAN_E2E_RACE") != "" {
		flags = []string{"-race"}
	}
	bossman = filepath.Join(dir, "bossman")
	if err := harness.BuildProgram(bossman, harness.Bossman, flags...); err != nil {
		return 0, err
	}
	if packages, err = harness.Install(context.Background(), harness.Dir("clients")); err != nil {
		return 0, err
	}
	return run(), nil
}

// revisions are all there are.
var revisions = []mcp.Revision{mcp.R20241105, mcp.R20250326, mcp.R20250618, mcp.R20251125, mcp.R20260728}

// connect makes a client with a key. Its options may be nil.
func connect(t testing.TB, url, key string, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := streamable.Connect(ctx, url, &streamable.ClientOptions{Header: http.Header{"X-Api-Token": {key}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

type args map[string]any

// An answer is what a tool said: the text, and what programs read.
type answer struct {
	text    string
	refused bool
	facts   facts
}

// facts is what the tests read of any tool's result.
type facts struct {
	Outcome, Reason      string
	Claim                claim
	ID, Status           string
	State, Answer, Error string
	Freed                []string
	Again, Parked        bool
	DryRun               bool `json:"dry_run"`
	Tasks                json.RawMessage
}

type claim struct{ Claim, Task, Worker string }

// try calls a tool.
func try(ctx context.Context, c *mcp.Client, tool string, a args, o *mcp.CallOptions) (answer, error) {
	if a == nil {
		a = args{}
	}
	res, err := c.Call(ctx, tool, a, o)
	if err != nil {
		return answer{}, err
	}
	out := answer{text: res.Text(), refused: res.IsError}
	b, err := json.Marshal(res.Meta["dev.bossman/result"])
	if err == nil {
		_ = json.Unmarshal(b, &out.facts) // not all are alike
	}
	return out, nil
}

// call calls a tool that is expected to do its work.
func call(t testing.TB, c *mcp.Client, tool string, a args) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := try(ctx, c, tool, a, nil)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, a, err)
	}
	if out.refused {
		t.Fatalf("%s %v was refused: %s", tool, a, out.text)
	}
	return out
}
