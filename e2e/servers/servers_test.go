// Package servers speaks with our client to servers that others have written.
package servers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
)

var packages harness.Packages

func TestMain(m *testing.M) {
	if argv := os.Getenv("BOSSMAN_E2E_PARENT"); argv != "" {
		parent(strings.Split(argv, "\n"))
		return
	}
	var err error
	if packages, err = harness.Install(context.Background(), harness.Dir("servers")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// parent starts a server, says in which process group, and waits to be killed.
func parent(argv []string) {
	c := command(argv...)
	group := 0
	c.OnStart = func(p *os.Process) { group = p.Pid }
	if _, err := c.Connect(context.Background(), nil); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(group)
	select {}
}

// command is a server that is started with the pinned Node.
func command(argv ...string) *mcp.Command {
	return &mcp.Command{
		Args: argv,
		Env: []string{
			"PATH=" + harness.Dir("servers", "node_modules", ".bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
			"npm_config_update_notifier=false",
		},
		Logger: slog.New(slog.DiscardHandler),
	}
}

func options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Elicit: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: []byte(`{"name":"Ada"}`)}, nil
		},
		Sample: func(context.Context, *mcp.SampleParams) (*mcp.SampleResult, error) {
			return &mcp.SampleResult{Role: "assistant", Content: mcp.Blocks{mcp.Text("as a model would say")}, Model: "none"}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///tmp", Name: "tmp"}}, nil },
	}
}

func connect(t *testing.T, c *mcp.Command) *mcp.Client {
	t.Helper()
	client, err := c.Connect(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return client
}

func dial(t *testing.T, url string) *mcp.Client {
	t.Helper()
	c, err := streamable.Connect(t.Context(), url, &streamable.ClientOptions{Logger: slog.New(slog.DiscardHandler)}, options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return c
}

// listen starts a server that serves by HTTP, and waits until it says where, on
// either of its streams.
func listen(t *testing.T, says string, argv ...string) string {
	t.Helper()
	c := command(argv...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(mcp.DefaultEnv(), c.Env...)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = r.Close()
	})
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the server did not say %q", says)
		}
		if strings.Contains(line, says) {
			go func() { _, _ = io.Copy(io.Discard, in) }()
			return strings.TrimSpace(line)
		}
	}
}

func tools(t *testing.T, c *mcp.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(tool.InputSchema) == 0 {
			t.Errorf("tool %s has no schema", tool.Name)
		}
		names = append(names, tool.Name)
	}
	return names
}

func call(t *testing.T, c *mcp.Client, tool string, args any) string {
	t.Helper()
	res, err := c.Call(t.Context(), tool, args, nil)
	if err != nil || res.IsError {
		t.Errorf("Call(%s) = %+v, %v", tool, res, err)
		return ""
	}
	return res.Text()
}

// everything tries all that the reference server has.
func everything(t *testing.T, c *mcp.Client) {
	if names := tools(t, c); !slices.Contains(names, "get-sum") {
		t.Errorf("tools are %v", names)
	}
	if got := call(t, c, "get-sum", map[string]any{"a": 2, "b": 3}); !strings.Contains(got, "5") {
		t.Errorf("get-sum = %q", got)
	}
	res, err := c.Call(t.Context(), "get-tiny-image", nil, nil)
	if err != nil || !slices.ContainsFunc(res.Content, func(b mcp.Content) bool { return b.Type == "image" && len(b.Data) > 100 }) {
		t.Errorf("get-tiny-image = %v, %v", res, err)
	}
	steps := 0
	long := map[string]any{"duration": 1, "steps": 4}
	if _, err := c.Call(t.Context(), "trigger-long-running-operation", long, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }}); err != nil || steps < 3 {
		t.Errorf("a long call: %v after %d steps", err, steps)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, "trigger-long-running-operation", map[string]any{"duration": 60, "steps": 5}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call given up = %v", err)
	}
	if got := call(t, c, "trigger-elicitation-request", nil); !strings.Contains(got, "Ada") {
		t.Errorf("elicitation: %q", got)
	}
	if got := call(t, c, "trigger-sampling-request", map[string]any{"prompt": "x"}); !strings.Contains(got, "as a model would say") {
		t.Errorf("sampling: %q", got)
	}
	if got := call(t, c, "get-roots-list", nil); !strings.Contains(got, "file:///tmp") {
		t.Errorf("roots: %q", got)
	}
	for _, uri := range []string{"demo://resource/dynamic/text/1", "demo://resource/dynamic/blob/1"} {
		if got, err := c.Read(t.Context(), uri, nil); err != nil || len(got.Contents) != 1 || got.Text() == "" && len(got.Contents[0].Blob) == 0 {
			t.Errorf("Read(%s) = %v, %v", uri, got, err)
		}
	}
	if got, err := c.Prompt(t.Context(), "args-prompt", map[string]string{"city": "Paris"}, nil); err != nil || len(got.Messages) == 0 || !strings.Contains(got.Messages[0].Content.Text, "Paris") {
		t.Errorf("Prompt = %v, %v", got, err)
	}
	done, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.CompleteRef{Type: "ref/prompt", Name: "completable-prompt"}, Argument: mcp.CompleteArgument{Name: "department", Value: "E"}}, nil)
	if err != nil || !slices.Contains(done.Values, "Engineering") {
		t.Errorf("Complete = %v, %v", done, err)
	}
}

func TestEverything(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		everything(t, connect(t, command(packages.Bin("mcp-server-everything"))))
	})
	t.Run("HTTP", func(t *testing.T) {
		// A port that is free now may be taken when the server starts.
		url := listen(t, "http://127.0.0.1:", "/usr/bin/env", "PORT=0", packages.Bin("node"), "--import", harness.Dir("servers", "port.mjs"),
			packages.Bin("mcp-server-everything"), "streamableHttp")
		everything(t, dial(t, url))
	})
}

func TestFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "note.txt")
	c := command(packages.Bin("mcp-server-filesystem"), dir)
	o := options()
	o.Roots = nil // which would take the place of the argument
	client, err := c.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call(t, client, "write_file", map[string]any{"path": name, "content": "hello"})
	if got := call(t, client, "read_text_file", map[string]any{"path": name}); !strings.Contains(got, "hello") {
		t.Errorf("read_text_file = %q", got)
	}
	if res, err := client.Call(t.Context(), "read_text_file", map[string]any{"path": "/etc/passwd"}, nil); err != nil || !res.IsError {
		t.Errorf("outside: %v, %v", res, err)
	}
}

func TestMemory(t *testing.T) {
	c := command(packages.Bin("mcp-server-memory"))
	c.Env = append(c.Env, "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.jsonl"))
	client := connect(t, c)
	call(t, client, "create_entities", map[string]any{"entities": []map[string]any{{"name": "Ada", "entityType": "person", "observations": []string{"writes programs"}}}})
	if got := call(t, client, "search_nodes", map[string]any{"query": "Ada"}); !strings.Contains(got, "writes programs") {
		t.Errorf("search_nodes = %q", got)
	}
}

// A server of the newest revision, on both transports.
func TestModern(t *testing.T) {
	check := func(t *testing.T, c *mcp.Client) {
		if c.Revision() != mcp.LatestRevision {
			t.Errorf("speaks %s, want the newest", c.Revision())
		}
		if got := call(t, c, "add", map[string]any{"a": 2, "b": 3}); got != "5" {
			t.Errorf("add = %q", got)
		}
		if got := call(t, c, "greet", nil); got != "Hello, Ada!" {
			t.Errorf("greet = %q", got)
		}
		steps := 0
		if _, err := c.Call(t.Context(), "slow", map[string]any{"seconds": 0.5}, &mcp.CallOptions{Progress: func(context.Context, mcp.Progress) { steps++ }}); err != nil || steps != 5 {
			t.Errorf("slow: %v after %d steps, want 5", err, steps)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := c.Call(ctx, "slow", map[string]any{"seconds": 60}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call given up = %v", err)
		}
		if got, err := c.Read(t.Context(), "note://1", nil); err != nil || got.Text() != "a note" {
			t.Errorf("Read = %v, %v", got, err)
		}
		if _, err := c.Read(t.Context(), "note://2", nil); !errors.Is(err, mcp.ErrNotFound) {
			t.Errorf("Read of nothing = %v, want ErrNotFound", err)
		}
		if got, err := c.Prompt(t.Context(), "hello", map[string]string{"who": "Ada"}, nil); err != nil || got.Messages[0].Content.Text != "Hello, Ada" {
			t.Errorf("Prompt = %v, %v", got, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for e, err := range c.Listen(ctx, mcp.EventFilter{Tools: true}) {
			if err != nil || e.Kind != mcp.EventTools {
				t.Errorf("Listen = %v, %v", e, err)
			}
			break
		}
		if ctx.Err() != nil {
			t.Error("Listen was not acknowledged")
		}
	}
	t.Run("stdio", func(t *testing.T) {
		check(t, connect(t, command(packages.Bin("node"), harness.Dir("servers", "modern.mjs"))))
	})
	t.Run("HTTP", func(t *testing.T) {
		check(t, dial(t, listen(t, "http://", packages.Bin("node"), harness.Dir("servers", "modern.mjs"), "http")))
	})
}

// npx starts a shell, which starts the server: all of them go.
var npx = []string{"npx", "--no-install", "mcp-server-everything"}

func inServers(argv ...string) *mcp.Command {
	c := command(argv...)
	c.Dir = harness.Dir("servers")
	return c
}

func TestNpx_closeLeavesNothing(t *testing.T) {
	group := 0
	command := inServers(npx...)
	command.OnStart = func(p *os.Process) { group = p.Pid }
	c, err := command.Connect(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(alive(group)); n < 2 {
		t.Errorf("only %d processes in the group: this shows nothing", n)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if left := alive(group); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

func TestNpx_diesWithUs(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOSSMAN_E2E_PARENT="+strings.Join(npx, "\n"))
	cmd.Dir = harness.Dir("servers")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	group, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || len(alive(group)) < 2 {
		t.Fatalf("the parent said %q, %v; there are %v", line, err, alive(group))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	time.Sleep(2 * time.Second)
	if left := alive(group); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// alive lists what runs in a process group.
func alive(group int) (left []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, rest, _ := bytes.Cut(b, []byte(") "))
		f := strings.Fields(string(rest)) // state, parent, group, …
		if len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			left = append(left, string(b[:min(50, len(b))]))
		}
	}
	return left
}
