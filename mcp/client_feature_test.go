package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/mcptest"
)

// Changes are told in every revision.
func TestListen_everyRevision(t *testing.T) {
	for _, r := range mcp.Revisions() {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
				text := "one"
				s.AddResource(mcp.Resource{URI: "note://1", Name: "note"}, func(context.Context, *mcp.Call) (*mcp.ResourceResult, error) {
					return &mcp.ResourceResult{Contents: []mcp.ResourceContents{{Text: text}}}, nil
				})
				add := func(name string) {
					mcp.AddTool(s, mcp.Tool{Name: name, Description: "A tool."}, func(context.Context, *mcp.Call, struct{}) (string, error) { return "", nil })
				}
				add("a")
				c := mcptest.Connect(t, s, &mcptest.Options{Revision: r})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				seen := map[string]int{}
				for e, err := range c.Listen(ctx, mcp.EventFilter{Tools: true, ResourceURIs: []string{"note://1"}}) {
					if err != nil {
						t.Fatal(err)
					}
					seen[string(e.Kind)+e.Name]++
					switch {
					case len(seen) == 2 && seen["tools"] == 1:
						add("b")
					case seen["tools"] == 2 && seen["resourcenote://1"] == 1:
						text = "two"
						s.ResourceUpdated("note://1")
					}
					if seen["resourcenote://1"] == 2 {
						break
					}
				}
				if got, err := c.Read(t.Context(), "note://1", nil); err != nil || got.Text() != "two" || ctx.Err() != nil {
					t.Errorf("Read = %v, %v after %v, want two", got, err, seen)
				}
				if _, err := c.Read(t.Context(), "note://2", nil); !errors.Is(err, mcp.ErrNotFound) {
					t.Errorf("Read(note://2) = %v, want ErrNotFound", err)
				}
			})
		})
	}
}

// A task that was no longer followed is taken up by its id, and can be cancelled.
func TestTask_takenUpLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
		t.Cleanup(s.Close)
		mcp.AddTool(s, mcp.Tool{Name: "slow", Description: "Take an hour, nearly.", Tasks: mcp.TaskOptional},
			func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.AsTask(c, func(ctx context.Context, _ *mcp.Call) (string, error) {
					select {
					case <-time.After(30 * time.Minute):
						return "done", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
			})
		c := mcptest.Connect(t, s, &mcptest.Options{Client: mcp.ClientOptions{Tasks: true}})
		begin := func() string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			kept := ""
			_, err := c.Call(ctx, "slow", nil, &mcp.CallOptions{OnTask: func(id string) { kept = id }})
			if e, ok := errors.AsType[*mcp.TaskError](err); !ok || e.ID != kept || kept == "" {
				t.Fatalf("Call = %v, want the id %q", err, kept)
			}
			return kept
		}
		if res, err := c.WaitTask(t.Context(), begin(), nil); err != nil || res.Text() != "done" {
			t.Errorf("Task = %v, %v, want done", res, err)
		}
		id := begin()
		if err := c.CancelTask(t.Context(), id); err != nil {
			t.Errorf("CancelTask = %v", err)
		}
		if _, err := c.WaitTask(t.Context(), id, nil); err == nil {
			t.Error("Task after CancelTask = nil, want an error")
		}
		if _, err := c.WaitTask(t.Context(), "unknown", nil); err == nil {
			t.Error("Task(unknown) = nil, want an error")
		}
	})
}

// A person who thinks for long does not run into the server's timeout.
func TestElicit_takesItsTime(t *testing.T) {
	for _, r := range []mcp.Revision{mcp.R20250618, mcp.LatestRevision} {
		synctest.Test(t, func(t *testing.T) {
			s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
			mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
				return mcp.Ask[string](c, "name", "Who?")
			})
			c := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: mcp.ClientOptions{Elicit: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				time.Sleep(5 * time.Minute)
				return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
			}}})
			if got, err := mcp.CallAs[string](t.Context(), c, "ask", nil, nil); err != nil || got != "Ada" {
				t.Errorf("in %s: CallAs = %q, %v", r, got, err)
			}
		})
	}
}

// What goes wrong in a handler is told to the operator, and to the server only that
// something did.
func TestElicit_goesWrong(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "t", Version: "1"}, nil)
	t.Cleanup(s.Close)
	mcp.AddTool(s, mcp.Tool{Name: "ask", Description: "Ask."}, func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return mcp.Ask[string](c, "name", "Who?")
	})
	for name, elicit := range map[string]func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error){
		"no display": func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("no display")
		},
		"the action":       func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{}, nil },
		"returned nothing": func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
	} {
		for _, r := range []mcp.Revision{mcp.R20251125, mcp.LatestRevision} {
			var logs bytes.Buffer
			c := mcptest.Connect(t, s, &mcptest.Options{Revision: r, Client: mcp.ClientOptions{Elicit: elicit, Logger: slog.New(slog.NewTextHandler(&logs, nil))}})
			res, err := c.Call(t.Context(), "ask", nil, nil)
			if err == nil && !res.IsError {
				t.Errorf("%s in %s: Call = %+v", name, r, res)
			}
			_ = c.Close()
			if !strings.Contains(logs.String()+fmt.Sprint(err), name) {
				t.Errorf("%s in %s: Call = %v, and logged %q", name, r, err, logs.String())
			}
		}
	}
}
