package clients

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// One process and one address for all that follows: clients of every revision
// come and go while others are in the middle of something.
func TestHTTP(t *testing.T) {
	service := programs.Service(t, harness.FeaturesServer)
	t.Run("inspector", func(t *testing.T) {
		t.Parallel()
		t.Run("features", func(t *testing.T) { inspectFeatures(t, web(service)) })
		for _, era := range eras {
			t.Run(era.name, func(t *testing.T) {
				t.Run("unknown tool", func(t *testing.T) {
					t.Parallel()
					if out, _ := inspector(t, web(service), era.name, "--method", "tools/call", "--tool-name", "no_such_tool"); out.Code != 5 {
						t.Errorf("exit code = %d, want 5", out.Code)
					}
				})
				t.Run("load", func(t *testing.T) {
					t.Parallel()
					got, rec := inspect[struct{ Requests, OK, ToolErrors, Errors int }](t, web(service), era.name,
						"--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=ada",
						"--load", "--load-requests", "500", "--load-concurrency", "8")
					if got.Requests != 500 || got.OK != 500 {
						t.Errorf("load = %+v, want 500 requests, all of them fine", got)
					}
					spoke(t, rec, era.revision, "tools/call")
				})
			})
		}
	})
	for _, sdk := range sdks {
		t.Run("sdk/"+sdk.name, func(t *testing.T) {
			t.Parallel()
			sdkFeatures(t, web(service), sdk)
		})
	}
	t.Run("sdk/tasks", func(t *testing.T) {
		t.Parallel()
		sdkTasks(t, web(service))
	})
	t.Run("mcp-remote", func(t *testing.T) {
		t.Parallel()
		sdkFeatures(t, bridged(service), sdk{script: "sdk1.mjs", revision: legacy})
	})
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		together(t, service)
	})
}

// together starts every client at once. Each makes one call, and the front lets
// them go on when all have come, so that the server has all of them at the same
// moment, under ids that are mostly the same.
func together(t *testing.T, service *harness.Service) {
	t.Helper()
	inspector := func(era string) func(string) []string {
		return func(url string) []string {
			return []string{
				packages.Bin("mcp-inspector"), "--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json", "--connect-timeout", "60000",
				"--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=ada",
			}
		}
	}
	node := func(script string, args ...string) func(string) []string {
		return func(url string) []string {
			return append(append([]string{packages.Bin("node"), filepath.Join(packages.Dir, script)}, args...), url)
		}
	}
	clients := []struct {
		name     string
		argv     func(url string) []string
		revision string
	}{
		{"inspector legacy", inspector("legacy"), legacy},
		{"inspector auto", inspector("auto"), modern},
		{"inspector modern", inspector("modern"), modern},
		{"sdk v1", node("sdk1.mjs", "greet"), legacy},
		{"sdk v2 legacy", node("sdk2.mjs", "greet", "legacy"), legacy},
		{"sdk v2 auto", node("sdk2.mjs", "greet", "auto"), modern},
		{"sdk v2 pinned", node("sdk2.mjs", "greet", "pin"), modern},
		{"mcp-remote", func(url string) []string {
			return append([]string{packages.Bin("node"), filepath.Join(packages.Dir, "sdk1.mjs"), "greet"}, bridge(url)...)
		}, legacy},
	}
	want := map[string]int{}
	url, rec := service.Front(t, len(clients))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	outs := make([]harness.Output, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		want[c.revision]++
		cmd := harness.Command(ctx, harness.Home(t), c.argv(url)...)
		wg.Go(func() { outs[i] = harness.Run(t, cmd) })
	}
	wg.Wait()
	for i, c := range clients {
		if outs[i].Code != 0 || !strings.Contains(outs[i].Stdout, "Hello, ada!") {
			t.Errorf("%s: exit code %d, stdout %s, want the greeting", c.name, outs[i].Code, harness.Tail(outs[i].Stdout, 5))
		}
	}

	got := map[string]int{}
	for _, e := range rec.Exchanges(t) {
		var result struct{ Content []struct{ Text string } }
		if e.Method != "tools/call" {
			continue
		}
		if json.Unmarshal(e.Result, &result) != nil || len(result.Content) != 1 || result.Content[0].Text != "Hello, ada!" {
			t.Errorf("a call in %s was answered %s%s", e.Revision, e.Result, e.Error)
		}
		got[e.Revision]++
	}
	if got[legacy] != want[legacy] || got[modern] != want[modern] {
		t.Errorf("calls by revision = %v, want %v", got, want)
	}
	if most := rec.AtOnce(t, "tools/call"); most != len(clients) {
		t.Errorf("%d calls were under way at the same time, want %d", most, len(clients))
	}
}
