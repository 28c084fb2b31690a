// Package conformance runs the official conformance suite against one process of
// our server with every feature: both eras, one address, nothing excused.
package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// The suite says how many scenarios a revision requires, and which others it has.
var revisions = []struct {
	name               string
	required, unscored int
}{
	{"2025-11-25", 30, 3},
	{"2026-07-28", 37, 13},
}

// skipped is the one check that the suite itself skips, whatever the server does:
// it has not been written for the way in which the Tasks extension tells of
// changes now.
const skipped = "tasks-status-notifications"

// runs is how often each revision is run on the same process.
func runs(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BOSSMAN_CONFORMANCE_RUNS"), "1"))
	if err != nil {
		t.Fatalf("BOSSMAN_CONFORMANCE_RUNS: %v", err)
	}
	return n
}

func TestServer(t *testing.T) {
	packages, err := harness.Install(t.Context(), harness.Dir("conformance"))
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := harness.Serve(t)
	url := "http://" + addr + "/mcp"
	for i := range runs(t) {
		for _, r := range revisions {
			t.Run(fmt.Sprintf("%s run %d", r.name, i+1), func(t *testing.T) {
				out := t.TempDir()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, packages.Bin("node"), packages.Bin("conformance"),
					"server", "--url", url, "--requirements", r.name, "-o", out)
				text, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("the suite: %v\n%s", err, harness.Tail(string(text), 60))
				}
				checks, scenarios := read(t, out)
				if want := r.required + r.unscored; scenarios != want {
					t.Errorf("%d scenarios were run, want %d", scenarios, want)
				}
				for _, status := range slices.Sorted(maps.Keys(checks)) {
					if status != "SUCCESS" && status != "INFO" {
						t.Errorf("%s:\n%s", status, strings.Join(checks[status], "\n"))
					}
				}
				t.Logf("%d scenarios, %d checks passed", scenarios, len(checks["SUCCESS"]))
			})
		}
	}
}

// read gathers the checks of all scenarios by their status.
func read(t *testing.T, dir string) (checks map[string][]string, scenarios int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	checks = map[string][]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var all []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range all {
			if c.Status == "SKIPPED" && c.ID == skipped {
				continue
			}
			checks[c.Status] = append(checks[c.Status], fmt.Sprintf("%s %s: %s", filepath.Base(filepath.Dir(file)), c.ID, c.ErrorMessage))
		}
	}
	return checks, len(files)
}
