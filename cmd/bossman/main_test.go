package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// Scripts mostly wait: for disks, for processes that end, and for each other.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"bossman": main,
		"agent":   func() { os.Exit(agent()) },
		"fixture": func() { os.Exit(fixture()) },
	})
}

// scripts are the scripts to run; race_test.go chooses fewer.
var scripts []string

// TestScript runs the command line as a user would, with real boards and real git
// repositories. `agent` speaks to `bossman mcp`; `exits CODE` looks at the exit code
// of a command; `listening ADDR` waits for a server. The programs `add` and `features`
// are servers of this module, and `fixture` is one that misbehaves. `silent` makes a board
// of some time ago, and `older` one of an older version.
func TestScript(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	programs := buildServers(t)
	if scripts == nil {
		scripts, _ = filepath.Glob("testdata/script/*.txtar")
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for _, kv := range [][2]string{
				{"HOME", home},
				{"XDG_CONFIG_HOME", filepath.Join(home, ".config")},
				{"PATH", env.Getenv("PATH") + string(filepath.ListSeparator) + programs.dir},
				{"ADDR", freeAddress(t)},
				{"UNSHARE", unshareFlag},
				{"GORACE", os.Getenv("GORACE")},
				{"GIT_CONFIG_NOSYSTEM", "1"},
				{"GIT_AUTHOR_NAME", "a"},
				{"GIT_AUTHOR_EMAIL", "a@example.org"},
				{"GIT_COMMITTER_NAME", "a"},
				{"GIT_COMMITTER_EMAIL", "a@example.org"},
			} {
				env.Setenv(kv[0], kv[1])
			}
			if strings.HasPrefix(filepath.Base(env.WorkDir), "script-client") {
				if err := programs.wait(); err != nil {
					return err
				}
			}
			return os.MkdirAll(home, 0o755)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root": // a script may give files to another user
				return os.Geteuid() == 0, nil
			case "sandbox": // a script may make a directory read-only for a command, in a mount namespace of its own
				return exec.Command("unshare", unshareFlag, "mount", "--bind", t.TempDir(), t.TempDir()).Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "listening": listening, "older": older, "serve": serveScript, "revoke": revoke, "silent": silent, "inert": inert,
		},
	})
}

// unshareFlag is the flag of unshare with which this user gets a mount namespace.
var unshareFlag = map[bool]string{true: "-m", false: "-rm"}[os.Getuid() == 0]

// exits runs a command and checks its exit code: exits 3 bossman task show web-9.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v: %v", args[1:], err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("%v exits with %d, want %s", args[1:], code, args[0])
	}
}

// inert checks that nothing in the last output acts on a terminal, but for our own styles.
func inert(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stdout")
	text = strings.ReplaceAll(text, "\r\x1b[K", "\n") // our own progress
	text = regexp.MustCompile("\x1b\\[(?:0|1|2|31|32|33|36)m").ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "")
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && visible.Hidden(r) || r == utf8.RuneError }); i >= 0 {
		ts.Fatalf("not inert: %.80q", text[max(0, i-40):])
	}
}

// serveScript starts bossman serve with arguments in the background, and sets URL to
// where it is, PID to its process and SPARE to its key for this run, if it has one. It is ended with the
// script, and has to end well.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	cmd := exec.Command("bossman", append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Setenv("PID", strconv.Itoa(cmd.Process.Pid))
	ended := make(chan error, 1)
	ready := make(chan string, 2)
	var said strings.Builder // until ended
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var line struct {
				Address string `json:"address"`
			}
			if key := regexp.MustCompile(`bossman_local_[a-z0-9]+`).FindString(lines.Text()); key != "" {
				ready <- key
			} else if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
				ready <- "http://" + line.Address
			}
			said.WriteString("[serve] " + lines.Text() + "\n")
		}
		close(ready)
		ended <- cmd.Wait()
	}()
	for line := range ready {
		if strings.HasPrefix(line, "http") {
			ts.Setenv("URL", line)
			break
		}
		ts.Setenv("SPARE", line)
	}
	if ts.Getenv("URL") == "" {
		err := <-ended
		ts.Fatalf("bossman serve has ended: %v\n%s", err, said.String())
	}
	ts.Defer(func() {
		ts.Check(cmd.Process.Signal(os.Interrupt))
		err := <-ended
		ts.Logf("%s", said.String())
		if err != nil {
			ts.Fatalf("bossman serve ended with %v", err)
		}
	})
}

// revoke ends the key that is in a file.
func revoke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: revoke FILE")
	}
	ts.Check(ts.Exec("bossman", "key", "revoke", strings.TrimSpace(ts.ReadFile(args[0]))))
}

// agent calls tools of `bossman mcp`, one a line of its standard input: the name and
// the arguments. A line that begins with $ is run in a shell. $CLAIM, $TASK, $COMMIT and
// $QUESTION stand for what was seen last. It prints
// what the tools say. With FORM set it is a client with forms: it prints what a form says
// and fills it in with FORM.
func agent() int {
	cmd := exec.Command("bossman", append([]string{"mcp"}, os.Args[1:]...)...)
	if os.Getenv("WRAPPED") != "" { // as a client that marks its children and starts servers in a shell
		cmd = exec.Command("sh", "-c", "bossman mcp; exit $?")
		cmd.Env = append(os.Environ(), "CLAUDECODE=1")
	}
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	replies := bufio.NewReader(out)
	id := 0
	call := func(method, params string) (string, bool) {
		id++
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			line, err := replies.ReadBytes('\n')
			if err != nil {
				fmt.Fprintln(os.Stderr, "bossman mcp ended:", err)
				return "", false
			}
			var reply struct {
				ID     *int   `json:"id"`
				Method string `json:"method"`
				Params struct {
					Message string `json:"message"`
				} `json:"params"`
				Result struct {
					Content []struct {
						Text string `json:"text"`
					} `json:"content"`
				} `json:"result"`
				Error *struct {
					Message string `json:"message"`
				} `json:"error"`
			}
			if err := json.Unmarshal(line, &reply); err != nil {
				fmt.Fprintf(os.Stderr, "not a message: %s\n", line)
				return "", false
			}
			if reply.Method == "elicitation/create" {
				fmt.Println("FORM " + reply.Params.Message)
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":%s}}`+"\n", *reply.ID, os.Getenv("FORM"))
				continue
			}
			if reply.ID == nil || *reply.ID != id || reply.Method != "" {
				continue
			}
			var text []string
			for _, c := range reply.Result.Content {
				text = append(text, c.Text)
			}
			if reply.Error != nil {
				text = append(text, "error: "+reply.Error.Message)
			}
			return strings.Join(text, "\n"), true
		}
	}
	capabilities := `{}`
	if os.Getenv("FORM") != "" {
		capabilities = `{"elicitation":{}}`
	}
	if _, ok := call("initialize", `{"protocolVersion":"2025-06-18","capabilities":`+capabilities+`,"clientInfo":{"name":"agent","version":"1"}}`); !ok {
		return 1
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	seen := map[string]*regexp.Regexp{
		"$CLAIM": regexp.MustCompile(`[a-z0-9]+-\d+/\d+\.[a-z0-9]{5}`), "$TASK": regexp.MustCompile(`[a-z0-9]+-\d+`),
		"$COMMIT":   regexp.MustCompile(`\b[0-9a-f]{40}\b`),
		"$QUESTION": regexp.MustCompile(`q-\d+`), "$WORKER": regexp.MustCompile(`worker "([a-z]+-[a-z0-9]{3})"`),
	}
	values := map[string]string{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		tool, args, _ := strings.Cut(lines.Text(), " ")
		if tool == "" {
			continue
		}
		for name, value := range values {
			args = strings.ReplaceAll(args, name, value)
		}
		if tool == "$" { // what the agent does in its shell
			out, err := exec.Command("sh", "-c", args).CombinedOutput()
			fmt.Printf("%s", out)
			if err != nil {
				fmt.Println(err)
			}
			if m := seen["$COMMIT"].FindString(string(out)); m != "" {
				values["$COMMIT"] = m
			}
			continue
		}
		text, ok := call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
		if !ok {
			return 1
		}
		fmt.Println(text)
		for name, re := range seen {
			if m := re.FindStringSubmatch(text); m != nil {
				values[name] = m[len(m)-1]
			}
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "bossman mcp:", err)
		return 1
	}
	return 0
}
