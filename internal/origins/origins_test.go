// Package origins replays the conversations of the five designs that Bossman grew from,
// one file a design, with the programs as a user runs them. docs/origins.md says where
// each name of the designs lives; its commands are run here, too.
package origins

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// bin has the programs bossman, add, moonphase and agent.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "origins"); err != nil {
		panic(err)
	}
	// The programs must not see the settings of whoever runs the tests.
	home := filepath.Join(bin, "home")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator),
		"../../cmd/bossman", "../../examples/add", "../../examples/moonphase", "../../examples/agent")
	out, err := build.CombinedOutput()
	if err == nil {
		err = os.Mkdir(home, 0o755)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// command returns a program of bin that runs in a directory.
func command(t *testing.T, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...)
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// environment is that of a person at a machine of their own: no agent, no settings.
func environment() []string {
	home := filepath.Join(bin, "home")
	return []string{
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=" + filepath.Join(home, ".local"),
		"GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
	}
}

// project returns the directory of a new project, web.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "web")
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git init: %v %s", err, out)
	}
	return dir
}

// A server is a program that is spoken to over standard input and output.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    chan string // lines; closed at the end
	mu     sync.Mutex
	stderr bytes.Buffer
}

func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(b)
}

func start(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, out: make(chan string, 100)}
	cmd.Stderr = s
	var err error
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		defer close(s.out)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if line != "" {
				s.out <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// send sends a message. It may be written on several lines, as in a document.
func (s *server) send(message string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, oneLine(s.t, message)+"\n"); err != nil {
		s.t.Fatalf("send %s: %v", message, err)
	}
}

// line returns the next line of the server.
func (s *server) line() string {
	s.t.Helper()
	select {
	case line, ok := <-s.out:
		if !ok {
			s.t.Fatalf("the server has ended; stderr %s", s.stderr.String())
		}
		return line
	case <-time.After(30 * time.Second):
		s.t.Fatal("no answer in 30 s")
	}
	return ""
}

// ask sends a request. The answer must have what want has.
func (s *server) ask(request, want string) string {
	s.t.Helper()
	s.send(request)
	got := s.line()
	match(s.t, request, got, want)
	return got
}

// end closes the server's input and returns what it wrote to stderr. It must answer
// nothing more, and end well.
func (s *server) end() string {
	s.t.Helper()
	if err := s.in.Close(); err != nil {
		s.t.Error(err)
	}
	for line := range s.out {
		s.t.Errorf("at the end: %s", line)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("after the end of input: %v", err)
	}
	return s.stderr.String()
}

// oneLine removes the line breaks of a message; what is not JSON stays as it is.
func oneLine(t *testing.T, message string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(message) {
		b.WriteString(strings.TrimSpace(line))
	}
	return b.String()
}

// match reports an error unless got has all that want has: members of objects, items of
// arrays in order, and equal values. "…" in want stands for any value.
func match(t *testing.T, what, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%s\n got %s: %v", what, got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want %s: %v", want, err)
	}
	if at := differs(g, w, ""); at != "" {
		t.Errorf("%.300s\n got %.1000s\nwant %.1000s\n     at %s", what, got, want, at)
	}
}

// differs returns where got lacks what want has, or "".
func differs(got, want any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at + "/"
		}
		for name, v := range w {
			value, there := g[name]
			if !there {
				return at + "/" + name
			}
			if d := differs(value, v, at+"/"+name); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at + "/[]"
		}
		for i := range w {
			if d := differs(g[i], w[i], fmt.Sprintf("%s/%d", at, i)); d != "" {
				return d
			}
		}
		return ""
	}
	if want != "…" && !reflect.DeepEqual(got, want) {
		return at + "/"
	}
	return ""
}
