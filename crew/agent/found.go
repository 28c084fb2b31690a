package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
)

// A Found is an agent that is in the PATH.
type Found struct {
	Name  string // for bossman work --agent
	Title string
	Path  string
	// Version is empty if it could not be found out; Err says why.
	Version string
	Err     error
	// Login is whether the agent has an account or a key to work with, By what says so.
	Login Login
	By    string
	// LoginCommand is how a person logs in.
	LoginCommand string
}

// A Login is whether an agent is logged in.
type Login string

const (
	LoggedIn     Login = "logged in"
	LoggedOut    Login = "not logged in"
	LoginUnknown Login = "" // it cannot be told
)

// FindOptions are where Find looks.
type FindOptions struct {
	Home   string
	Getenv func(string) string
	// Programs are those that may be run, and which they may run; nil: all in the PATH.
	Programs Programs
}

// Programs finds programs that are no part of a project.
type Programs interface {
	// Look returns the path of the first one of a name in the PATH.
	Look(name string) (string, error)
	// List returns a PATH without directories in which none is run.
	List(path string) string
}

// Find returns the agents in the PATH, with what their own files say about them. It uses no network. If the files of an
// agent say nothing of its version or its login, it runs the agent to print that, in an empty directory and for a few
// seconds at most.
func Find(ctx context.Context, o FindOptions) []Found {
	found := make([]*Found, len(products))
	var wg sync.WaitGroup
	for i, p := range products {
		wg.Go(func() { found[i] = p.find(ctx, o) })
	}
	wg.Wait()
	var list []Found
	for _, f := range found {
		if f != nil {
			list = append(list, *f)
		}
	}
	return list
}

// A product is an agent as its vendor installs it.
type product struct {
	name, title  string
	module       string // its package of npm
	loginCommand string
	keys         []string // variables with a key, or that select another way to log in
	login        func(l *looker) (Login, string)
}

var products = []product{
	{
		name: "claude", title: "Claude Code", module: "@anthropic-ai/claude-code", loginCommand: "claude auth login",
		keys: claudeKeys, login: claudeLogin,
	},
	{name: "codex", title: "Codex", module: "@openai/codex", loginCommand: "codex login", keys: []string{"CODEX_API_KEY"}, login: codexLogin},
	{
		name: "gemini", title: "Gemini CLI", module: "@google/gemini-cli", loginCommand: "gemini, and choose how to sign in; or set GEMINI_API_KEY",
		keys:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"},
		login: geminiLogin,
	},
	{name: "opencode", title: "opencode", module: "opencode-ai", loginCommand: "opencode auth login", login: opencodeLogin},
	{
		name: "copilot", title: "Copilot CLI", module: "@github/copilot", loginCommand: "copilot, then /login",
		keys: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}, login: copilotLogin,
	},
}

// find returns nil if the product is not in the PATH.
func (p *product) find(ctx context.Context, o FindOptions) *Found {
	path, err := exec.LookPath(p.name)
	if err != nil {
		return nil
	}
	f := &Found{Name: p.name, Title: p.title, Path: path, LoginCommand: p.loginCommand}
	l := &looker{FindOptions: o, ctx: ctx, path: path, real: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		l.real = real
	}
	if f.Version = l.packaged(p.module); f.Version == "" {
		out, err := l.run("--version")
		if f.Version, f.Err = versionNumber.FindString(out), err; f.Version == "" && err == nil {
			f.Err = errors.New("it does not say which version it is")
		}
	}
	for _, name := range p.keys {
		if o.Getenv(name) != "" {
			f.Login, f.By = LoggedIn, name
			return f
		}
	}
	if o.Home != "" {
		f.Login, f.By = p.login(l)
	}
	return f
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?[\w.+-]{0,40}`)

// A looker looks at one program.
type looker struct {
	FindOptions
	ctx        context.Context
	path, real string
}

// maxOwn bounds a file of an agent.
const maxOwn = 16 << 20

// text reads a file of the user's.
func (l *looker) text(path ...string) ([]byte, error) {
	name := filepath.Join(path...)
	info, err := os.Stat(name) // before opening, which would wait for a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxOwn || info.Size() == 0 {
		return nil, errors.New("not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxOwn))
}

// read reads a JSON file of the user's, and reports whether it could.
func (l *looker) read(v any, path ...string) bool {
	text, err := l.text(path...)
	return err == nil && json.Unmarshal(text, v) == nil
}

// packaged returns the version in the package.json of a program that npm installed, or empty.
func (l *looker) packaged(module string) string {
	dir := filepath.Dir(l.real)
	for range 4 {
		var p struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		}
		if l.read(&p, dir, "package.json") && p.Name == module {
			return versionNumber.FindString(p.Version)
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

const (
	// runTime is how long an agent may take to print something about itself.
	runTime = 8 * time.Second
	// maxPrinted is how much of that is read.
	maxPrinted = 64 << 10
)

// run runs the program, and returns what it prints.
func (l *looker) run(args ...string) (string, error) {
	if l.Programs != nil {
		if path, err := l.Programs.Look(filepath.Base(l.path)); err != nil || path != l.path {
			return "", errors.New("it is in the project, and was not run")
		}
	}
	dir, err := os.MkdirTemp("", "bossman-doctor-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out := &limitedBuffer{}
	cmd := exec.Command(l.path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	for _, kv := range os.Environ() {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "PWD", "OLDPWD":
		case "PATH": // it may run an interpreter
			if l.Programs != nil {
				value = l.Programs.List(value)
			}
			cmd.Env = append(cmd.Env, "PATH="+value)
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	tree, err := proc.Start(cmd)
	if err != nil {
		return "", err
	}
	end := time.NewTimer(runTime)
	defer end.Stop()
	select {
	case <-tree.Done():
	case <-l.ctx.Done():
		err = l.ctx.Err()
	case <-end.C:
		err = errors.New("it did not answer within " + runTime.String())
	}
	tree.End(time.Second)
	if failed := tree.Wait(); err == nil {
		err = failed
	}
	return out.String(), err
}

// A limitedBuffer keeps the beginning of what is written to it.
type limitedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p[:min(len(p), maxPrinted-len(b.text))]...)
	return len(p), nil
}

func (b *limitedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
