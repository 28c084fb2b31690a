package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
	"github.com/go-json-experiment/json"
)

// TestStates_oneName: a state has the same name wherever people, programs and models meet it.
func TestStates_oneName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := boardOfStates(t, filepath.Join(dir, ".bossman", "board.db"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("bossman", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "CLAUDE_PROJECT_DIR=", "BOSSMAN_BOARD="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("bossman %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	agents, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	list, status := run("task", "list", "--all"), run("status")
	var listed struct{ Tasks []struct{ ID, State string } }
	parse(t, run("task", "list", "--all", "--json"), &listed)
	inJSON := map[string]string{}
	for _, task := range listed.Tasks {
		inJSON[task.ID] = task.State
	}
	var counted struct{ Counts map[string]int }
	parse(t, run("status", "--json"), &counted)
	resource := run("client", "read", "bossman://board", "--", "bossman", "mcp", "--board", dir)
	tool := run("client", "call", "list_tasks", "status=all", "--", "bossman", "mcp", "--board", dir)
	for _, state := range board.States {
		id, words := ids[state], regexp.QuoteMeta(state.String())
		for face, c := range map[string]struct{ text, want string }{
			"task list":      {list, `(?m)^` + id + ` +` + words + `  +`},
			"task show":      {run("task", "show", id), `(?m)^` + words + ` · `},
			"task why":       {run("task", "why", id), `^` + id + `  .*\n  ` + words + `\n`},
			"--state":        {run("task", "list", "--state", string(state)), `(?m)^` + id + ` `},
			"status":         {status, `(?m)(^|· )1 ` + words + `( ·|$)`},
			"the board":      {resource, `[:,] 1 ` + words + `[,.]`},
			"a task":         {run("client", "read", "bossman://tasks/"+id, "--", "bossman", "mcp", "--board", dir), `(?m)^` + words + `, priority`},
			"list_tasks":     {tool, `(?m)^` + id + ` ` + words + `:`},
			"docs/agents.md": {string(agents), `(?m)^\| \x60` + string(state) + `\x60 \|`},
		} {
			if !regexp.MustCompile(c.want).MatchString(c.text) {
				t.Errorf("%s does not call the state %q (%s):\n%s", face, state, c.want, c.text)
			}
		}
		if inJSON[id] != string(state) {
			t.Errorf("task list --json calls the state %q of %s %q", state, id, inJSON[id])
		}
		if counted.Counts[string(state)] != 1 {
			t.Errorf("status --json counts %v, want 1 %s", counted.Counts, state)
		}
	}
	for name := range counted.Counts {
		if name != "total" && !strings.Contains(fmt.Sprint(board.States), strings.ReplaceAll(name, "_", " ")) {
			t.Errorf("status --json counts %q, which is no state", name)
		}
	}
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// boardOfStates makes a board with one task in each state, and returns their ids.
func boardOfStates(t *testing.T, path string) map[board.State]string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	b := board.New(store, &board.Options{Home: &board.Project{Slug: "web"}})
	ids := map[board.State]string{}
	for _, state := range board.States {
		task, _, err := b.Create(t.Context(), board.Actor{Principal: "local", Name: "ada"}, board.NewTask{Project: "web", Title: "Do it", Priority: board.Normal}, "")
		if err != nil {
			t.Fatal(err)
		}
		ids[state] = task.ID.String()
		task.Status = state.Status()
		switch state {
		case board.StateBlocked:
			task.OpenBlockers = 1
		case board.StateDraft:
			task.Hold = true
		case board.StateReserved:
			task.ReservedFor, task.NotBefore = board.WorkerID{Principal: "local", Name: "otter-7k"}, time.Now().Add(time.Hour)
		case board.StateCoolingDown:
			task.NotBefore = time.Now().Add(time.Hour)
		}
		if task.Status.Terminal() {
			task.EndedAt = time.Now()
		}
		seq := task.Seq
		task.Seq++
		err = store.Write(t.Context(), func(tx board.Tx) error {
			if err := tx.UpdateTask(task, seq); err != nil {
				return err
			}
			if w := task.ReservedFor; !w.IsZero() { // which is connected
				if err := tx.PutWorker(board.Worker{WorkerID: w, Owner: "key", LastSeen: time.Now()}); err != nil {
					return err
				}
			}
			return tx.Append(board.Event{Task: task.ID, Seq: task.Seq, Kind: board.EventEdited, From: board.Pending, To: task.Status})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}
