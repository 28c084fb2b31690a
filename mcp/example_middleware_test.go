package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"regexp"
	"slices"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

var errQuota = errors.New("quota exceeded")

// newNotes returns a server with one tool, for the examples.
func newNotes() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	type args struct {
		Text string `json:"text" jsonschema:"the note"`
	}
	mcp.AddTool(s, mcp.Tool{Name: "note", Description: "Keep a note."},
		func(_ context.Context, _ *mcp.Call, in args) (string, error) {
			if len(in.Text) > 40 {
				return "", mcp.Errorf("the note is too long: %w", errQuota)
			}
			return "noted: " + in.Text + " (token sk-server)", nil
		})
	return s
}

// call serves s to a client in this process, and calls its tool.
func call(s *mcp.Server, texts ...string) {
	ctx := context.Background()
	here, there := jsonrpc.Pipe(jsonrpc.Limits{})
	go s.Serve(ctx, there)
	c, err := mcp.Connect(ctx, here, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, text := range texts {
		res, err := c.Call(ctx, "note", map[string]string{"text": text}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Text())
	}
}

// Middleware that keeps secrets from the tools, and from the model.
func ExampleServer_Use_redaction() {
	s := newNotes()
	secret := regexp.MustCompile(`sk-[a-z0-9]+`)
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			if args := r.Arguments(); args != nil {
				if err := r.SetArguments(secret.ReplaceAll(args, []byte("[secret]"))); err != nil {
					return nil, err
				}
			}
			res, err := next(ctx, r)
			t, ok := res.(*mcp.ToolResult)
			if !ok {
				return res, err
			}
			clean := *t
			clean.Content = slices.Clone(t.Content)
			for i := range clean.Content {
				clean.Content[i].Text = secret.ReplaceAllString(clean.Content[i].Text, "[secret]")
			}
			clean.StructuredContent = secret.ReplaceAll(t.StructuredContent, []byte("[secret]"))
			return &clean, err
		}
	})
	call(s, "my key is sk-12345")
	// Output:
	// noted: my key is [secret] (token [secret])
}

// Middleware that records who called what, and how it ended.
func ExampleServer_Use_audit() {
	s := newNotes()
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, r)
			target := r.Target()
			if !target.Writes {
				return res, err
			}
			failure := err
			if t, ok := res.(*mcp.ToolResult); ok {
				failure = t.Err() // what the handler returned, not what the model is shown
			}
			outcome := "done"
			switch {
			case errors.Is(failure, errQuota):
				outcome = "refused"
			case failure != nil:
				outcome = "failed"
			}
			fmt.Printf("audit: %s %s %s: %s\n", r.Principal.ID, target.Name, r.Arguments(), outcome)
			return res, err
		}
	})
	call(s, "buy milk", "this note is longer than anybody would want to read")
	// Output:
	// audit: local note {"text":"buy milk"}: done
	// noted: buy milk (token sk-server)
	// audit: local note {"text":"this note is longer than anybody would want to read"}: refused
	// the note is too long: quota exceeded
}

// Middleware that counts calls. A Target has only names that the server knows, so
// a client cannot make the number of counters grow.
func ExampleServer_Use_counting() {
	s := newNotes()
	calls, failures := map[mcp.Target]int{}, map[mcp.Target]int{} // a real program uses its metrics package
	s.Use(func(next mcp.Handler) mcp.Handler {
		return func(ctx context.Context, r *mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, r)
			calls[r.Target()]++
			if t, ok := res.(*mcp.ToolResult); err != nil || ok && t.Err() != nil {
				failures[r.Target()]++
			}
			return res, err
		}
	})
	call(s, "buy milk", "this note is longer than anybody would want to read")
	for target, n := range calls {
		if target.Kind == mcp.KindTool {
			fmt.Printf("%s: %d calls, %d failed\n", target.Name, n, failures[target])
		}
	}
	// Output:
	// noted: buy milk (token sk-server)
	// the note is too long: quota exceeded
	// note: 2 calls, 1 failed
}
