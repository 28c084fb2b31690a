package clients

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// From the project's own folder, as the README has it: nothing is installed, and
// connecting and listing leave no board behind.
func TestInspector_goRun(t *testing.T) {
	root := harness.Dir("..")
	boards := harness.Git(t, root, "rev-parse", "--path-format=absolute", "--git-common-dir") + "/bossman"
	_, before := os.Stat(boards)

	argv := []string{packages.Bin("mcp-inspector"), "--cli", "go", "run", "./cmd/bossman"}
	// The client gives a server little of its environment, and in a scratch home
	// there is nothing that Go could build with.
	for _, v := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "GOSUMDB"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", v).Output()
		if err != nil {
			t.Fatal(err)
		}
		if value := strings.TrimSpace(string(out)); value != "" {
			argv = append(argv, "-e", v+"="+value)
		}
	}
	argv = append(argv, "--format", "json", "--connect-timeout", "240000", "--method", "tools/list")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := harness.Command(ctx, harness.Home(t), argv...)
	cmd.Dir = root
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("exit code %d, want 0", out.Code)
	}
	var got struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
		t.Fatalf("stdout is not JSON: %v", err)
	}
	var names []string
	for _, tool := range got.Result.Tools {
		names = append(names, tool.Name)
	}
	want := []string{
		"answer_question", "ask_question", "cancel_task", "create_plan", "create_task", "get_answer", "get_next_task", "get_task",
		"list_questions", "list_tasks", "list_workers", "report_progress", "report_task_done", "report_task_failed", "review_task", "update_task",
	}
	if !slices.Equal(names, want) {
		t.Errorf("tools = %v, want %v", names, want)
	}
	if _, after := os.Stat(boards); errors.Is(before, fs.ErrNotExist) && after == nil {
		t.Errorf("listing the tools made %s", boards)
	}
}

// The Inspector starts the server anew for each call. What the next one needs is
// what the last one said: a person copies it.
func TestInspector_board(t *testing.T) {
	for _, era := range eras {
		if era.name == "auto" {
			continue // ends in the same conversation as modern
		}
		t.Run(era.name, func(t *testing.T) {
			t.Parallel()
			d := &desk{era: era.name, revision: era.revision, repository: harness.Repository(t, "web")}

			var created struct{ ID, Title, Description, Status string }
			text := d.call(t, "create_task", nil, "title=Add a login page", "description=With e-mail and password.")
			if err := json.Unmarshal([]byte(text), &created); err != nil {
				t.Fatalf("create_task answered %s: %v", text, err)
			}
			if created.ID != "web-1" || created.Status != "pending" || created.Title != "Add a login page" || created.Description != "With e-mail and password." {
				t.Errorf("create_task = %+v, want web-1, pending, as it was described", created)
			}

			var given handout
			text = d.call(t, "get_next_task", &given)
			for _, part := range []string{"web-1 is yours", given.Claim.Claim, "Add a login page", "With e-mail and password.", `report_task_done {"claim":"` + given.Claim.Claim + `"`} {
				if part == "" || !strings.Contains(text, part) {
					t.Errorf("the hand-out does not say %q:\n%s", part, text)
				}
			}

			// The same worker, in another process: the same claim.
			var again handout
			text = d.call(t, "get_next_task", &again, "worker="+given.Claim.Worker)
			if again.Outcome != "again" || again.Claim != given.Claim {
				t.Errorf("get_next_task with the worker = %+v, want again what it holds, %+v", again, given.Claim)
			}
			if !strings.Contains(text, "web-1 is still yours") {
				t.Errorf("get_next_task with the worker says %q", text)
			}

			text = d.call(t, "report_task_done", nil, "claim="+given.Claim.Claim, "summary=The page is there.")
			if !strings.Contains(text, "web-1 is done.") {
				t.Errorf("report_task_done says %q", text)
			}
			if text = d.call(t, "get_task", nil, "task=web-1"); !strings.Contains(text, "done") || !strings.Contains(text, "The page is there.") {
				t.Errorf("get_task says %q, want done and the summary", text)
			}
			if text = d.call(t, "get_next_task", nil); !strings.Contains(text, "The only task is done.") {
				t.Errorf("get_next_task after it says %q", text)
			}
		})
	}
}

// A desk is where somebody calls tools by hand, one process for each call.
type desk struct {
	era, revision string
	repository    string
}

// A handout is what programs read of get_next_task.
type handout struct {
	Outcome string
	Claim   struct{ Claim, Task, Worker string }
}

// call calls a tool and gives its text; facts, if it is not nil, is what the result
// has for programs.
func (d *desk) call(t *testing.T, tool string, facts any, args ...string) string {
	t.Helper()
	argv, rec := programs.Server(t, harness.Bossman)
	argv = append([]string{packages.Bin("mcp-inspector"), "--cli"}, append(argv, "mcp")...)
	argv = append(argv, "--protocol-era", d.era, "--format", "json", "--connect-timeout", "60000", "--method", "tools/call", "--tool-name", tool)
	if len(args) > 0 {
		argv = append(append(argv, "--tool-arg"), args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := harness.Command(ctx, filepath.Dir(d.repository), argv...)
	cmd.Dir = d.repository
	out := harness.Run(t, cmd)
	if out.Code != 0 {
		t.Fatalf("%s: exit code %d, want 0", tool, out.Code)
	}
	var got struct {
		Result struct {
			Meta    map[string]json.RawMessage `json:"_meta"`
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil || len(got.Result.Content) != 1 {
		t.Fatalf("%s: stdout is not a result with one text: %v", tool, err)
	}
	if facts != nil {
		if err := json.Unmarshal(got.Result.Meta["dev.bossman/result"], facts); err != nil {
			t.Fatalf("%s: %v in %s", tool, err, got.Result.Meta)
		}
	}
	spoke(t, rec, d.revision, "tools/call")
	ended(t, rec, rec.Called(t, tool))
	return got.Result.Content[0].Text
}
