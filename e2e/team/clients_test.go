package team

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/teamserver"
)

// Clients as people install them plan, work, ask and report: directly, with a key in a
// header, and through bossman mcp on a laptop that has logged in. Each has a project.
func TestClients(t *testing.T) {
	t.Parallel()
	team := teamserver.Start(t, bossman, 3)
	for _, c := range []struct{ name, revision string }{
		{"v1", "2025-11-25"}, {"legacy", "2025-11-25"}, {"auto", "2026-07-28"}, {"pin", "2026-07-28"},
	} {
		t.Run("sdk/"+c.name, func(t *testing.T) {
			key := newProject(t, team, "h"+c.name)
			url, rec := (&harness.Service{URL: team.MCP()}).Front(t, 0)
			sdkWorks(t, harness.Home(t), key, "h"+c.name, c.name, url)
			if got := rec.Revision(t); got != c.revision {
				t.Errorf("revision %s was spoken, want %s", got, c.revision)
			}
		})
	}
	t.Run("sdk/laptop", func(t *testing.T) {
		laptop := team.Laptop(t, newProject(t, team, "laptop"), "laptop")
		sdkWorks(t, laptop.Dir, "", "laptop", "v1", bossman, "mcp")
	})
	for _, era := range []string{"legacy", "modern"} {
		t.Run("inspector/"+era, func(t *testing.T) {
			key := newProject(t, team, "i"+era)
			inspectorWorks(t, "i"+era, func(args ...string) *exec.Cmd {
				argv := append([]string{packages.Bin("mcp-inspector"), "--cli", team.MCP(), "--transport", "http", "--header", "X-Api-Token: " + key, "--protocol-era", era}, args...)
				return harness.Command(t.Context(), harness.Home(t), argv...)
			})
		})
	}
	t.Run("inspector/laptop", func(t *testing.T) {
		laptop := team.Laptop(t, newProject(t, team, "ilaptop"), "ilaptop")
		inspectorWorks(t, "ilaptop", func(args ...string) *exec.Cmd {
			argv := append([]string{packages.Bin("mcp-inspector"), "--cli", bossman, "mcp", "--protocol-era", "modern"}, args...)
			cmd := harness.Command(t.Context(), laptop.Home, argv...)
			cmd.Dir = laptop.Dir
			return cmd
		})
	})
	if n := team.Refused(); n > 0 {
		t.Errorf("%d requests failed at the balancer, want none", n)
	}
}

// newProject makes a project, and a person's key for it.
func newProject(t *testing.T, team *teamserver.Team, slug string) string {
	t.Helper()
	team.Operate(t, "project", "create", slug)
	return team.Key(t, "--project", slug, "--role", "lead", "--person", "ada")
}

// sdkWorks runs the script of an SDK, at an address or with a command.
func sdkWorks(t *testing.T, dir, key, project, mode string, server ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	argv := append([]string{packages.Bin("node"), filepath.Join(packages.Dir, "board.mjs"), mode}, server...)
	cmd := harness.Command(ctx, filepath.Dir(dir), argv...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "BOSSMAN_E2E_KEY="+key)
	res := harness.Run(t, cmd)
	var out struct {
		Asked, Tools                                                 []string
		Handout, Again, Progress, Answer, Done, Next, Done2, Nothing string
	}
	if err := json.Unmarshal([]byte(res.Stdout), &out); err != nil || res.Code != 0 {
		t.Fatalf("board.mjs %s: exit code %d, %v", mode, res.Code, err)
	}
	if !slices.Contains(out.Tools, "create_plan") || len(out.Tools) < 16 {
		t.Errorf("tools = %v, want all", out.Tools)
	}
	says(t, out.Handout, project+"-1 is yours", "Make the tables")
	if out.Again != "again" {
		t.Errorf("get_next_task with the worker = %q, want again", out.Again)
	}
	says(t, out.Progress, "Noted.")
	if len(out.Asked) != 1 {
		t.Errorf("the person was asked %q, want once", out.Asked)
	}
	says(t, out.Answer, "green", "You still hold")
	says(t, out.Done, project+"-1 is done.", "This unblocked "+project+"-2")
	says(t, out.Next, project+"-2 is yours", "Add a login page")
	says(t, out.Done2, project+"-2 is done.")
	says(t, out.Nothing, "All 2 tasks are done.")
}

// inspectorWorks calls tools by hand, one connection for each call.
func inspectorWorks(t *testing.T, project string, command func(args ...string) *exec.Cmd) {
	t.Helper()
	tool := func(name string, facts any, args ...string) string {
		t.Helper()
		argv := []string{"--format", "json", "--connect-timeout", "60000", "--method", "tools/call", "--tool-name", name}
		if len(args) > 0 {
			argv = append(append(argv, "--tool-arg"), args...)
		}
		out := harness.Run(t, command(argv...))
		var got struct {
			Result struct {
				Meta    map[string]json.RawMessage `json:"_meta"`
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil || out.Code != 0 || len(got.Result.Content) == 0 {
			t.Fatalf("%s: exit code %d, %v", name, out.Code, err)
		}
		if facts != nil {
			if err := json.Unmarshal(got.Result.Meta["dev.bossman/result"], facts); err != nil {
				t.Fatal(err)
			}
		}
		return got.Result.Content[0].Text
	}
	begun := time.Now()
	tool("create_task", nil, "title=Add a login page", "description=With e-mail and password.")
	var given struct{ Claim claim }
	says(t, tool("get_next_task", &given), project+"-1 is yours", "With e-mail and password.")
	says(t, tool("report_task_done", nil, "claim="+given.Claim.Claim, "summary=The page is there."), project+"-1 is done.")
	says(t, tool("get_task", nil, "task="+project+"-1"), "done", "The page is there.")
	t.Logf("four calls in %v", time.Since(begun).Round(time.Millisecond))
}
