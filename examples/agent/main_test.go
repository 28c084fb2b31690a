package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/mcp"
)

// The test's own program is also the servers that the agent starts.
func TestMain(m *testing.M) {
	switch os.Getenv("AGENT_TEST_SERVER") {
	case "":
		os.Exit(m.Run())
	case "weather":
		serve(weather())
	case "math":
		serve(maths())
	}
}

func serve(s *mcp.Server) {
	if err := s.Serve(context.Background(), mcp.Stdio(nil)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type place struct {
	Location string `json:"location" jsonschema:"City name or zip code"`
}

// weather has one tool on each page of its list.
func weather() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	mcp.AddTool(s, mcp.Tool{Name: "get_weather", Description: "Get current weather information for a location"}, func(_ context.Context, _ *mcp.Call, p place) (string, error) {
		return "Current weather in " + p.Location + ":\nTemperature: 72°F", nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "radar", Description: "A picture"}, func(context.Context, *mcp.Call, struct{}) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{{Type: "image", MIMEType: "image/png", Data: []byte("png")}}}, nil
	})
	mcp.AddTool(s, mcp.Tool{Name: "about", Description: "About this server"}, about("weather"))
	return s
}

func maths() *mcp.Server {
	s := mcp.NewServer(mcp.Implementation{Name: "math", Version: "1"}, nil)
	mcp.AddTool(s, mcp.Tool{Name: "about", Description: "About this server"}, about("math"))
	mcp.AddTool(s, mcp.Tool{Name: "divide", Description: "Divide by zero"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "", &mcp.ToolError{Text: "division by zero"}
	})
	mcp.AddTool(s, mcp.Tool{Name: "environment", Description: "What the entry sets"}, func(context.Context, *mcp.Call, struct{}) (string, error) {
		return os.Getenv("PRECISION"), nil
	})
	return s
}

func about(text string) func(context.Context, *mcp.Call, struct{}) (string, error) {
	return func(context.Context, *mcp.Call, struct{}) (string, error) { return text, nil }
}

// write writes a configuration file with the two servers, one that does not exist and
// one over HTTP.
func write(t *testing.T, name, format string) string {
	t.Helper()
	program, err := json.Marshal(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(format, "PROGRAM", string(program))), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	claude = `{"mcpServers": {
	"weather": {"command": PROGRAM, "env": {"AGENT_TEST_SERVER": "weather"}},
	"math": {"command": PROGRAM, "env": {"AGENT_TEST_SERVER": "math", "PRECISION": "${DIGITS}"}},
	"gone": {"command": "no-such-program"},
	"far": {"type": "http", "url": "http://127.0.0.1:1/mcp"}
}}`
	codex = `[mcp_servers.weather]
command = PROGRAM
env = { AGENT_TEST_SERVER = "weather" }
`
)

func TestAgent(t *testing.T) {
	t.Setenv("DIGITS", "17")
	file := write(t, ".mcp.json", claude)
	for _, tt := range []struct {
		name      string
		args      []string
		want, err string
	}{
		{"list", nil, "math/about\tAbout this server\nmath/divide\tDivide by zero\nmath/environment\tWhat the entry sets\n" +
			"weather/about\tAbout this server\nweather/get_weather\tGet current weather information for a location\nweather/radar\tA picture\n", ""},
		{"text", []string{"get_weather", `{"location":"New York"}`}, "Current weather in New York:\nTemperature: 72°F\n", ""},
		{"image", []string{"radar"}, "[image, image/png, 3 bytes]\n", ""},
		{"of one server", []string{"weather/about"}, "weather\n", ""},
		{"of another", []string{"math/about"}, "math\n", ""},
		{"of several", []string{"about"}, "", `several servers have a tool "about": say which, math/about or weather/about`},
		{"unknown", []string{"nope"}, "", `no server has a tool "nope"`},
		{"failing", []string{"divide"}, "division by zero\n", "divide failed"},
		{"variables", []string{"environment"}, "17\n", ""},
		{"invalid arguments", []string{"get_weather", `{}`}, "invalid arguments: \"location\" is missing\n", "get_weather failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, log bytes.Buffer
			err := run(t.Context(), &out, &log, "claude", file, tt.args)
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if out.String() != tt.want {
				t.Errorf("got\n%swant\n%s", out.String(), tt.want)
			}
			// The two that do not work are reported, and hold up nobody.
			for _, want := range []string{"server gone: ", "server far: is not a program"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("log %q, want %q in it", log.String(), want)
				}
			}
		})
	}
}

func TestAgent_formats(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, &out, "codex", write(t, "config.toml", codex), []string{"about"}); err != nil || out.String() != "weather\n" {
		t.Errorf("codex: %q, %v", out.String(), err)
	}
	if err := run(t.Context(), &out, &out, "emacs", "x", nil); err == nil || err.Error() != `unknown client "emacs"` {
		t.Errorf("emacs: %v", err)
	}
	t.Setenv("DIGITS", "")
	os.Unsetenv("DIGITS")
	if err := run(t.Context(), &out, &out, "claude", write(t, ".mcp.json", claude), nil); err == nil || !strings.Contains(err.Error(), "DIGITS") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
