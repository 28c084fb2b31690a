package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// Eras are the Inspector's three ways to connect and the revision each should
// end up with.
var eras = []struct{ name, revision string }{{"legacy", legacy}, {"auto", modern}, {"modern", modern}}

func TestInspector_add(t *testing.T) {
	for _, era := range eras {
		t.Run(era.name, func(t *testing.T) {
			t.Run("tools/list", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct{ Tools []struct{ Name string } }](t, pipe(harness.AddServer), era.name, "--method", "tools/list")
				if len(got.Tools) != 1 || got.Tools[0].Name != "add" {
					t.Errorf("tools = %+v, want add", got.Tools)
				}
				spoke(t, rec, era.revision, "tools/list")
			})
			t.Run("tools/call", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct {
					StructuredContent struct{ Result float64 }
					Content           []struct{ Type, Text string }
				}](t, pipe(harness.AddServer), era.name, "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3")
				if got.StructuredContent.Result != 5 {
					t.Errorf("sum = %v, want 5", got.StructuredContent.Result)
				}
				if len(got.Content) == 0 || got.Content[0].Type != "text" || !strings.Contains(got.Content[0].Text, "5") {
					t.Errorf("content = %+v, want a text with the sum", got.Content)
				}
				spoke(t, rec, era.revision, "tools/call")
			})
			t.Run("unknown tool", func(t *testing.T) {
				t.Parallel()
				out, _ := inspector(t, pipe(harness.AddServer), era.name, "--method", "tools/call", "--tool-name", "no_such_tool")
				if out.Code != 5 {
					t.Errorf("exit code = %d, want 5", out.Code)
				}
			})
			t.Run("load", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct{ Requests, OK, ToolErrors, Errors int }](t, pipe(harness.AddServer), era.name,
					"--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3",
					"--load", "--load-requests", "500", "--load-concurrency", "8")
				if got.Requests != 500 || got.OK != 500 {
					t.Errorf("load = %+v, want 500 requests, all of them fine", got)
				}
				spoke(t, rec, era.revision, "tools/call")
			})
		})
	}
}

// Strict mode reports what other clients and models may not understand in a
// tool's schema; even a warning is too much.
func TestInspector_strict(t *testing.T) {
	for _, server := range []string{harness.AddServer, harness.FeaturesServer, harness.Bossman} {
		for _, era := range eras {
			t.Run(server[strings.LastIndex(server, "/")+1:]+"/"+era.name, func(t *testing.T) {
				t.Parallel()
				out, _ := inspector(t, pipe(server), era.name, "--method", "tools/list", "--strict")
				var got struct {
					SchemaFindings []struct {
						ToolName string
						Findings []struct{ Rule, Schema, Path, Issue string }
					}
				}
				if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
					t.Fatalf("stdout is not JSON: %v", err)
				}
				if out.Code != 0 {
					t.Errorf("exit code %d, want 0", out.Code)
				}
				for _, tool := range got.SchemaFindings {
					for _, f := range tool.Findings {
						// Its fields of type any can be anything.
						if tool.ToolName == "test_types" && f.Rule == "untyped-schema" {
							continue
						}
						t.Errorf("%s, %s, %s: %s", tool.ToolName, f.Schema, f.Path, f.Issue)
					}
				}
			})
		}
	}
}

func TestInspector_features(t *testing.T) {
	inspectFeatures(t, pipe(harness.FeaturesServer))
}

func inspectFeatures(t *testing.T, server server) {
	t.Helper()
	for _, era := range eras {
		t.Run(era.name, func(t *testing.T) {
			t.Run("resources/list", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct{ Resources []struct{ URI string } }](t, server, era.name, "--method", "resources/list")
				for _, want := range []string{"test://static-text", "test://static-binary", "test://watched-resource"} {
					if !slices.ContainsFunc(got.Resources, func(r struct{ URI string }) bool { return r.URI == want }) {
						t.Errorf("resources = %v, want %s among them", got.Resources, want)
					}
				}
				spoke(t, rec, era.revision, "resources/list")
			})
			t.Run("resources/read", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct {
					Contents []struct{ URI, MIMEType, Text string }
				}](t, server, era.name,
					"--method", "resources/read", "--uri", "test://static-text")
				want := "[{test://static-text text/plain This is the content of the static text resource.}]"
				if fmt.Sprint(got.Contents) != want {
					t.Errorf("contents = %v, want %s", got.Contents, want)
				}
				spoke(t, rec, era.revision, "resources/read")
			})
			t.Run("every type", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct {
					IsError           bool
					StructuredContent struct {
						Style string
						Steps int
						Tree  []struct{ Text string }
					}
				}](t, server, era.name, "--method", "tools/call", "--tool-name", "test_types",
					"--tool-arg", "text=abc", "maybe=null", "steps=7", `tree=[{"text":"leaf","maybe":1}]`)
				if v := got.StructuredContent; got.IsError || v.Style != "ink" || v.Steps != 7 || len(v.Tree) != 1 || v.Tree[0].Text != "leaf" {
					t.Errorf("test_types = %+v", got)
				}
				spoke(t, rec, era.revision, "tools/call")
			})
			t.Run("unknown resource", func(t *testing.T) {
				t.Parallel()
				out, _ := inspector(t, server, era.name, "--method", "resources/read", "--uri", "test://no-such-resource")
				if out.Code == 0 {
					t.Error("exit code = 0, want an error")
				}
			})
			t.Run("prompts/list", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct{ Prompts []struct{ Name string } }](t, server, era.name, "--method", "prompts/list")
				if len(got.Prompts) < 5 {
					t.Errorf("prompts = %v, want five or more", got.Prompts)
				}
				spoke(t, rec, era.revision, "prompts/list")
			})
			t.Run("prompts/get", func(t *testing.T) {
				t.Parallel()
				got, rec := inspect[struct {
					Messages []struct{ Content struct{ Text string } }
				}](t, server, era.name, "--method", "prompts/get",
					"--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=hello", "arg2=world")
				want := "[{{Prompt with arguments: arg1='hello', arg2='world'}}]"
				if fmt.Sprint(got.Messages) != want {
					t.Errorf("messages = %v, want %s", got.Messages, want)
				}
				spoke(t, rec, era.revision, "prompts/get")
			})
		})
	}
	// The Inspector declares the Tasks extension, so a slow tool becomes a task
	// and the Inspector asks for it until it is done.
	t.Run("task", func(t *testing.T) {
		t.Parallel()
		got, rec := inspect[struct{ IsError bool }](t, server, "modern",
			"--method", "tools/call", "--tool-name", "slow_compute", "--tool-arg", "seconds=1")
		if got.IsError {
			t.Error("slow_compute failed")
		}
		spoke(t, rec, modern, "tasks/get")
	})
}

// inspect runs the Inspector and takes its result apart.
func inspect[Result any](t *testing.T, server server, era string, args ...string) (Result, *harness.Record) {
	t.Helper()
	out, rec := inspector(t, server, era, args...)
	if out.Code != 0 {
		t.Fatalf("exit code = %d, want 0", out.Code)
	}
	var got struct{ Result *Result }
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil || got.Result == nil {
		t.Fatalf("stdout has no result: %v", err)
	}
	return *got.Result, rec
}

func inspector(t *testing.T, server server, era string, args ...string) (harness.Output, *harness.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv, rec := server(t)
	argv = append([]string{packages.Bin("mcp-inspector"), "--cli"}, argv...)
	if len(argv) == 3 { // an address instead of a command
		argv = append(argv, "--transport", "http")
	}
	argv = append(argv, "--protocol-era", era, "--format", "json", "--connect-timeout", "60000")
	argv = append(argv, args...)
	return harness.Run(t, harness.Command(ctx, harness.Home(t), argv...)), rec
}

// spoke shows that the last request of a method was asked in a revision and
// answered, and that the handshake was that revision's.
func spoke(t *testing.T, rec *harness.Record, revision, method string) {
	t.Helper()
	greeting := map[string]string{legacy: "initialize", modern: "server/discover"}[revision]
	var greeted, found bool
	for _, e := range rec.Exchanges(t) {
		switch e.Method {
		case "initialize", "server/discover":
			if e.Method != greeting {
				t.Errorf("the client sent %s, want %s and nothing else in %s", e.Method, greeting, revision)
			}
			greeted = true
		case method:
			found = true
			if e.Result == nil || e.Revision != revision {
				t.Errorf("%s in revision %q was answered %s%s, want a result in %s", method, e.Revision, e.Result, e.Error, revision)
			}
		}
	}
	if !greeted || !found {
		t.Errorf("the client sent %v, want %s and %s", rec.Methods(t), greeting, method)
	}
}
