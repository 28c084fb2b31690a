package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// The suite calls the first tool of the list without arguments.
func TestTools_firstNeedsNoArguments(t *testing.T) {
	mcptest.EachRevision(t, newServer(), nil, func(t *testing.T, c *mcp.Client) {
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if res, err := c.Call(t.Context(), tool.Name, nil, nil); err != nil || res.IsError {
				t.Errorf("Call(%s) = %+v, %v, want an answer", tool.Name, res, err)
			}
			break
		}
	})
}

// A tool that asks comes to the same answer whichever way its questions travel.
func TestAsking_sameInEveryRevision(t *testing.T) {
	want := map[string]string{
		"test_elicitation_sep1034_defaults":          `Elicitation completed: action=accept, content={"name":"ada","color":"blue","ok":true,"confirm":true,"age":30,"score":95.5,"status":"active","verified":true}`,
		"test_input_required_result_capabilities":    "The client answered 3 questions.",
		"test_input_required_result_elicitation":     "Hello, ada!",
		"test_input_required_result_list_roots":      "The client has 1 roots.",
		"test_input_required_result_multi_round":     "ada likes blue.",
		"test_input_required_result_multiple_inputs": "Paris ada, you have 1 roots.",
		"test_input_required_result_request_state":   "state-ok",
		"test_input_required_result_sampling":        "Paris",
		"test_input_required_result_tampered_state":  "state-ok",
		"test_missing_capability":                    "Paris",
		"test_streaming_elicitation":                 "Hello, ada!",
		"confirm_delete":                             "notes.txt was deleted.",
		"multi_input":                                "ada said true.",
	}
	for _, r := range []mcp.Revision{mcp.R20250618, mcp.R20251125, mcp.R20260728} {
		for _, tasks := range []bool{false, true} {
			name := r.String()
			if tasks {
				name += " with tasks"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { askAll(t, r, tasks, want) })
			})
		}
	}
}

func askAll(t *testing.T, r mcp.Revision, tasks bool, want map[string]string) {
	s := newServer()
	t.Cleanup(s.Close)
	c := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: mcp.ClientOptions{Elicit: elicit, Sample: sample, Roots: roots, Tasks: tasks}})
	for tool, want := range want {
		args := map[string]string{}
		if tool == "confirm_delete" {
			args["filename"] = "notes.txt"
		}
		res, err := c.Call(t.Context(), tool, args, nil)
		if err != nil {
			t.Errorf("Call(%s): %v", tool, err)
			continue
		}
		if got := res.Content[0].Text; got != want || res.IsError {
			t.Errorf("Call(%s) = %q, want %q", tool, got, want)
		}
	}
}

func TestPrompts_complete(t *testing.T) {
	c := mcptest.Connect(t, newServer(), nil)
	got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/prompt", Name: promptWithArguments}, Argument: mcp.CompleteArgument{Name: "arg1", Value: "par"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"paris", "park", "party"}; !slices.Equal(got.Values, want) {
		t.Errorf("Complete(par) = %v, want %v", got.Values, want)
	}
}

// elicit fills in every form of these tests with the same words. A form says
// nothing of the fields that are not its own.
func elicit(_ context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"ada","color":"blue","ok":true,"confirm":true}`)}, nil
}

func sample(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
	return &mcp.SampleResult{Role: "assistant", Content: mcp.Blocks{mcp.Text("Paris")}, Model: "scripted"}, nil
}

func roots(context.Context) ([]mcp.Root, error) {
	return []mcp.Root{{URI: "file:///srv/project"}}, nil
}
