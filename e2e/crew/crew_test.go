// Package crew lets bossman work run Claude Code, Codex and a program on a board, beside each other
// and with a scripted model, while agents are killed, forget to report, meet limits, hang, and ask
// people. In the end all tasks are done, and the board says what happened.
//
// The agents are large: without BOSSMAN_E2E_AGENTS=1 the test installs none. If they are not there, or
// cannot be installed, players stand in for them, with recordings of what the agents said (testdata),
// and the test says so. With BOSSMAN_CREW=1 there are more tasks and more faults, and the agents have to be there.
package crew

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// patience bounds the whole.
const patience = 10 * time.Minute

// programVariable makes the test's own program the agent of the slots with a command: it has where
// its model is, and lingeringVariable where it is said which jobs linger.
const (
	programVariable   = "CREW_MODEL"
	lingeringVariable = "CREW_LINGERING"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(programVariable); url != "" {
		var err error
		if agent := os.Getenv(playerVariable); agent != "" {
			err = play(agent, url)
		} else {
			err = program(url, os.Getenv(lingeringVariable))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A form is how many tasks there are, and with which faults. So that each fault meets a job, the
// tasks are more than the faults by all slots but one. If it is played, players stand in for the agents.
type form struct {
	agents string
	tasks  int
	faults map[kind][]fault
	played bool
}

const slots = 6

var (
	small = form{agents: "claude,codex,command", tasks: 12, faults: map[kind][]fault{
		oauth:   {limited, asks},
		key:     {lingers, unreported},
		codex:   {silent, refused},
		command: {straysKilled},
	}}
	full = form{agents: "claude,codex,command", tasks: 40, faults: map[kind][]fault{
		oauth:   {agentKilled, limited, allowed, unreported, silent, asks},
		key:     {straysKilled, unreported, limited, allowedForTask, lingers, waits},
		codex:   {launcherKilled, limited, refused, silent, unreported, lingers, parks, agentKilled},
		command: {straysKilled, unreported, unreported},
	}}
)

func TestCrew(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	f := small
	if os.Getenv("BOSSMAN_CREW") != "" {
		f = full
	}
	if os.Getenv(recordVariable) != "" {
		f = recorded
	}
	o := newOffice(t, harness.Home(t), available(t, f))
	began := time.Now()
	o.work(t)
	t.Logf("%d tasks, %d attempts, %.0f s", o.tasks, len(o.plan.jobs), time.Since(began).Seconds())
	o.prove(t)
	if dir := os.Getenv(recordVariable); dir != "" && !t.Failed() {
		o.keepRecordings(t, dir)
	}
}

// available is a form that is played if its agents are not installed.
func available(t *testing.T, f form) form {
	t.Helper()
	for _, dir := range []string{harness.Dir("clients"), harness.Dir("agents")} {
		err := errors.New("set BOSSMAN_E2E_AGENTS=1 to install them")
		if os.Getenv("BOSSMAN_E2E_AGENTS") != "" {
			_, err = harness.Install(t.Context(), dir)
		}
		if err == nil || harness.Installed(dir) {
			continue
		}
		if os.Getenv("BOSSMAN_CREW")+os.Getenv(recordVariable) != "" {
			t.Fatal(err)
		}
		t.Logf("Claude Code and Codex are not installed: recordings of them are played. %v", err)
		f.played = true
		break
	}
	return f
}

// An office is a repository with a board, a home of its own around it, and a model.
type office struct {
	form
	dir, home string
	bossman   string
	url       string // of the model
	plan      *plan
	decide    func(j *job, n int, q model.Request) step // step n of a job, which is locked
	killed    chan *job                                 // whose agent is to be killed
	lingering string                                    // a directory with the names of tasks whose agents linger
	stray     string                                    // a file that processes hold open that left their groups

	mu      sync.Mutex
	fetches map[string]int // by task
	strays  []string       // requests that nobody expects
}

func newOffice(t *testing.T, home string, f form) *office {
	t.Helper()
	dir := harness.RepositoryIn(t, home, "web")
	o := &office{form: f, dir: dir, home: filepath.Dir(dir), plan: newPlan(maps.Clone(f.faults)), killed: make(chan *job, f.tasks), fetches: map[string]int{}}
	o.decide = func(j *job, n int, q model.Request) step { return j.decideLocked(n, q, o) }
	o.bossman = filepath.Join(o.home, "bin", "bossman")
	o.lingering, o.stray = filepath.Join(o.home, "lingering"), filepath.Join(o.home, "stray")
	if err := errors.Join(os.Mkdir(o.lingering, 0o700), os.WriteFile(o.stray, nil, 0o600), harness.BuildProgram(o.bossman, harness.Bossman)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /program", o.programs)
	mux.HandleFunc("GET /recording", o.recordings)
	mux.HandleFunc("GET /fetched/{task}", func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.fetches[r.PathValue("task")]++
		_, _ = fmt.Fprintln(w, fetched)
	})
	mux.Handle("/", model.Handler(o.next, func(w http.ResponseWriter, r *http.Request) {
		o.unexpected(r)
		http.NotFound(w, r)
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	o.url = server.URL
	for _, agent := range []string{"claude", "codex"} {
		write(t, filepath.Join(o.home, "bin", agent), launcher(o.start(t, agent), o.lingering), 0o700)
	}
	write(t, filepath.Join(o.home, ".codex", "config.toml"), fmt.Sprintf("model = \"gpt-5\"\nmodel_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = %q\n"+
		"wire_api = \"responses\"\nenv_http_headers = { %q = \"BOSSMAN_CLAIM\" }\n", o.url+"/v1", claimHeader), 0o600)
	return o
}

// start is the command that starts an agent, its player, or its recording.
func (o *office) start(t *testing.T, agent string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(harness.Dir("agents"), "node_modules", ".bin", agent)
	switch {
	case o.played:
		return playerVariable + "=" + agent + " " + self
	case os.Getenv(recordVariable) != "":
		return o.record(t, path)
	}
	return path
}

// unexpected notes a request that no job makes.
func (o *office) unexpected(r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.strays = append(o.strays, r.Method+" "+r.URL.Path)
}

// next is what a model does next.
func (o *office) next(w http.ResponseWriter, q model.Request) (move model.Move, ok bool) {
	claim := q.HTTP.Header.Get(claimHeader)
	if claim == "" {
		o.unexpected(q.HTTP)
		return model.Move{Text: "What is the task?"}, true
	}
	j := o.plan.job(claim, kindOf(q.HTTP))
	s := j.next(q, o)
	s.pause(q.HTTP.Context())
	switch {
	case s.limit:
		o.mark(j, "limit")
		limit(w, j.kind)
		return move, false
	case s.wait:
		w.Header().Set("Retry-After", strconv.Itoa(int(waitTime.Seconds())))
		http.Error(w, rateLimited, http.StatusTooManyRequests)
		return move, false
	case s.hold:
		o.mark(j, "hold")
		if s.kill {
			o.killed <- j
		}
		<-q.HTTP.Context().Done()
		return move, false
	}
	j.mu.Lock()
	j.charged++
	j.mu.Unlock()
	o.mark(j, s.tool)
	name, offered := q.Find(s.tool)
	if s.tool == "" || !offered {
		return model.Move{Text: "That is all."}, true
	}
	input, err := json.Marshal(s.input)
	if err != nil {
		panic(err)
	}
	return model.Move{Tool: name, Input: input, ID: "call_" + strconv.Itoa(len(q.Results)+1)}, true
}

// kindOf is the kind of agent that a request comes from.
func kindOf(r *http.Request) kind {
	if k := r.Header.Get(kindHeader); k != "" {
		return kind(k)
	}
	switch {
	case r.URL.Path == "/v1/responses":
		return codex
	case r.Header.Get("X-Api-Key") != "":
		return key
	}
	return oauth
}

const (
	// limitTime is how long a limit of usage lasts, and waitTime how long a model lets an agent wait.
	limitTime = 4 * time.Second
	waitTime  = 7 * time.Second

	rateLimited = `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit."}}`
)

// limit answers that the account has reached its limit. With a key, nobody says until when.
func limit(w http.ResponseWriter, k kind) {
	reset := strconv.FormatInt(time.Now().Add(limitTime).Unix(), 10)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	body := rateLimited
	switch k {
	case codex:
		h.Set("X-Codex-Primary-Used-Percent", "100")
		h.Set("X-Codex-Primary-Window-Minutes", "300")
		h.Set("X-Codex-Primary-Reset-At", reset)
		body = `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_at":` + reset + `}}`
	case oauth:
		for name, value := range map[string]string{
			"Status": "rejected", "Reset": reset, "Representative-Claim": "five_hour", "5h-Status": "rejected", "5h-Reset": reset, "5h-Utilization": "1.0", "Overage-Status": "rejected",
		} {
			h.Set("Anthropic-Ratelimit-Unified-"+name, value)
		}
		fallthrough
	default:
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = fmt.Fprint(w, body)
}

// work fills the board and lets bossman work empty it.
func (o *office) work(t *testing.T) {
	t.Helper()
	for n := range o.tasks {
		o.cli(t, "task", "add", fmt.Sprintf("Task %d", n+1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { o.people(t, ctx) })
	wg.Go(func() {
		for {
			select {
			case j := <-o.killed:
				if err := j.kill(); err != nil {
					t.Error(err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	cmd := o.runner(t, ctx, "-n", strconv.Itoa(slots), "--until-empty",
		"--max-silence", harness.Bound(4*time.Second).String(), "--max-exit", harness.Bound(time.Second).String(), "--limit-pause", limitTime.String())
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	err := cmd.Run()
	cancel()
	wg.Wait()
	if err != nil {
		t.Errorf("bossman work: %v", err)
	}
}

// runner is bossman work with the office's agents, not started.
func (o *office) runner(t *testing.T, ctx context.Context, flags ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{o.bossman, "work", "--agent", o.agents}, flags...)
	cmd := harness.Command(ctx, o.home, append(args, "--", self)...)
	cmd.Dir = o.dir
	cmd.Env = append(
		cmd.Env, "PATH="+strings.Join([]string{filepath.Join(o.home, "bin"), harness.Dir("clients", "node_modules", ".bin"), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"ANTHROPIC_BASE_URL="+o.url, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		programVariable+"="+o.url, lingeringVariable+"="+o.lingering,
	)
	return cmd
}

// people answer what is asked, until ctx ends.
func (o *office) people(t *testing.T, ctx context.Context) {
	cmd := harness.Command(ctx, o.home, o.bossman, "inbox", "--watch", "--json")
	cmd.Dir = o.dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		_ = cmd.Wait()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e struct{ Kind, ID, Task string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Errorf("the inbox says %q: %v", lines.Text(), err)
		}
		if e.Kind != "question" {
			continue
		}
		j := o.plan.first(e.Task)
		wg.Go(func() {
			if j.fault == parks { // not so soon that it would not be parked
				select {
				case <-j.parked:
				case <-ctx.Done():
				}
			}
			o.cli(t, "answer", e.ID, cmp.Or(answers[j.fault], "yes"))
		})
	}
}

// cli runs bossman as a person does.
func (o *office) cli(t *testing.T, args ...string) string {
	t.Helper()
	cmd := harness.Command(t.Context(), o.home, append([]string{o.bossman}, args...)...)
	cmd.Dir = o.dir
	cmd.Env = append(cmd.Env, "BOSSMAN_PERSON=1")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("bossman %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}
