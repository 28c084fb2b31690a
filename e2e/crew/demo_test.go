package crew

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
	"github.com/bossman-dev/bossman/e2e/internal/model"
)

// A chore is a task of the demonstration, and what an agent does for it.
type chore struct {
	title, file, test string
	notes             []string
}

var chores = []chore{
	{"Rate-limit the login form", "auth/limit.go", "auth/limit_test.go", []string{"Five tries a minute for each address", "Further tries get a 429"}},
	{"Speed up the search page", "search/index.go", "search/index_test.go", []string{"The query scans every row", "An index makes it 40 times faster"}},
	{"Keep the dark theme", "theme/theme.go", "theme/theme_test.go", []string{"It is lost with the session", "It is in the profile now"}},
	{"Resize avatars on upload", "media/avatar.go", "media/avatar_test.go", []string{"Some are 8 MB", "256 pixels are enough"}},
	{"Export invoices as CSV", "billing/csv.go", "billing/csv_test.go", []string{"One line for each item"}},
	{"Escape names in e-mails", "mail/name.go", "mail/name_test.go", []string{"Only the subject was escaped"}},
	{"Retry failed webhooks", "hooks/retry.go", "hooks/retry_test.go", []string{"Five times, within an hour"}},
	{"Fix the sign-up link", "web/signup.go", "web/signup_test.go", []string{"It led to the old domain"}},
}

// hotfix is the number of the task that is added while the others are worked on.
const hotfix = 8

// guarded is a command that agents have to ask for.
const guarded = "make migrate"

// A demo is an office that is filmed. Of the first four jobs, one of Claude Code's is killed, and
// Codex's asks for a permission. The others end when Codex has taken over what was killed.
type demo struct {
	*office
	doomed, asker, heir *job
	resumed             chan struct{} // closed when Codex may take the task over
	taken               chan struct{} // closed when it has
	saw                 string        // what it found there
}

// TestDemo films bossman work for the README, and writes the film to BOSSMAN_DEMO.
func TestDemo(t *testing.T) {
	path := os.Getenv("BOSSMAN_DEMO")
	if path == "" {
		t.Skip("BOSSMAN_DEMO names no file for the film")
	}
	f := available(t, form{agents: small.agents, tasks: len(chores)})
	if f.played {
		t.Fatal("the film needs Claude Code and Codex")
	}
	d := &demo{office: newOffice(t, shortHome(t), f), resumed: make(chan struct{}), taken: make(chan struct{})}
	d.decide = d.step
	d.furnish(t)
	c := d.camera(t)
	d.play(t, c)
	film := c.stop(t)
	d.proveFilm(t)
	if still, at := film.Longest(); still > 4*time.Second {
		t.Errorf("nothing happens for %v at %v of the film", still, at)
	}
	svg := film.SVG()
	t.Logf("%s: %v, %d bytes", path, film.Length(), len(svg))
	if len(svg) > 300_000 || film.Length() > 65*time.Second {
		t.Errorf("the film has %d bytes and takes %v, want at most 300000 and 65s", len(svg), film.Length())
	}
	if !t.Failed() {
		write(t, path, string(svg), 0o644)
	}
}

// shortHome makes a scratch home folder whose name is short enough for the film.
func shortHome(t *testing.T) string {
	t.Helper()
	for n := 1; ; n++ {
		dir := filepath.Join(os.TempDir(), "ada"+strings.TrimPrefix(strconv.Itoa(n), "1"))
		if err := os.Mkdir(dir, 0o700); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		} else if !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// furnish makes the repository, the tasks and the agents.
func (d *demo) furnish(t *testing.T) {
	t.Helper()
	write(t, filepath.Join(d.dir, "Makefile"), "%:\n\t@echo $@: done\n", 0o644)
	for _, c := range chores {
		write(t, filepath.Join(d.dir, filepath.Dir(c.file), "doc.go"), "package "+filepath.Dir(c.file)+"\n", 0o644)
	}
	harness.Git(t, d.dir, "add", ".")
	harness.Git(t, d.dir, "commit", "-q", "-m", "The shop")
	for _, c := range chores[:hotfix-1] {
		d.cli(t, "task", "add", c.title)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// With exec, what is killed is the agent itself.
	for _, agent := range []string{"claude", "codex"} {
		write(t, filepath.Join(d.home, "bin", agent), fmt.Sprintf("#!/bin/sh\nexport ANTHROPIC_API_KEY=dummy ANTHROPIC_CUSTOM_HEADERS=\"%s: $BOSSMAN_CLAIM\"\nexec %s \"$@\"\n",
			claimHeader, filepath.Join(harness.Dir("agents"), "node_modules", ".bin", agent)), 0o700)
	}
	write(t, filepath.Join(d.home, "bin", "agent.sh"), fmt.Sprintf("#!/bin/sh\n%s=%s exec %s\n", programVariable, d.url, self), 0o700)
}

// play is what people do.
func (d *demo) play(t *testing.T, c *camera) {
	t.Helper()
	const read = 1500 * time.Millisecond // is how long it takes to read a little
	c.enter(t, person, "bossman task list")
	c.await(t, person, chores[hotfix-2].title)
	c.rest(read)
	c.enter(t, crewPane, "bossman work -n 4 --agent claude,codex,command --until-empty -- agent.sh")

	c.await(t, crewPane, "asks q-1")
	c.clear(t, person)
	c.enter(t, person, "bossman inbox")
	c.await(t, person, guarded)
	c.rest(2 * read)
	c.enter(t, person, `bossman answer q-1 "yes"`)
	c.rest(read)

	c.enter(t, person, fmt.Sprintf("bossman task add %q --priority high", chores[hotfix-1].title))
	c.rest(read)
	var j *job
	select {
	case j = <-d.killed:
	case <-time.After(patience):
		t.Fatal("no agent is to be killed")
	}
	pid, err := j.pid()
	if err != nil {
		t.Fatal(err)
	}
	c.enter(t, person, fmt.Sprintf("kill -9 %d    # the claude of %s", pid, j.task))
	c.await(t, crewPane, j.task+" failed")
	c.await(t, crewPane, fmt.Sprintf("web-%d begins", hotfix))
	close(d.resumed)
	c.await(t, crewPane, j.task+" goes on")
	c.rest(read)
	c.clear(t, person)
	c.enter(t, person, "bossman task list")

	c.await(t, crewPane, fmt.Sprintf("git merge bossman/web-%d", hotfix))
	c.rest(2 * read)
	c.clear(t, person)
	c.zoom(t, person)
	c.enter(t, person, "bossman task show "+j.task)
	c.await(t, person, "History")
	c.rest(read)
}

// step is step n of a job.
func (d *demo) step(j *job, n int, q model.Request) step {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := j.attempt == "1" && !closed(d.taken)
	switch {
	case n > 0:
	case j.attempt == "2" && d.heir == nil:
		d.heir = j
		close(d.taken)
	case d.doomed == nil && j.kind == key:
		d.doomed, j.fault = j, launcherKilled
	case d.asker == nil && j.kind == codex:
		d.asker = j
	}
	c := chores[j.number()-1]
	var list []step
	add := func(think time.Duration, s step) {
		s.think = think
		list = append(list, s)
	}
	const short, long = time.Second, 2 * time.Second
	switch j {
	case d.doomed:
		add(short, j.edit(c.file, c.title))
		add(long, j.say(c.notes[0]))
		add(0, step{hold: true, kill: true})
	case d.heir:
		if n == 1 {
			d.saw = q.Results[len(q.Results)-1]
		}
		add(short, j.run("cat "+c.file))
		add(long, j.say(filepath.Base(c.file)+" is there; its test is missing"))
		add(long, j.edit(c.test, c.title))
		add(long, j.finish())
	case d.asker:
		add(short, j.edit(c.file, c.title))
		add(long, j.say(c.notes[0]))
		add(short, j.guarded())
		add(long, j.edit(c.test, c.title))
		add(short, j.say(c.notes[1]))
		add(long, j.finish())
		list[len(list)-1].until = d.resumed
	default:
		add(short, j.edit(c.file, c.title))
		add(long, j.say(c.notes[0]))
		add(long, j.edit(c.test, c.title))
		add(long, j.finish())
		if first {
			list[3].until = d.taken
			if j.kind == key { // not all at once
				list[3].think += long
			}
		}
	}
	if n < len(list) {
		return list[n]
	}
	return step{}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// number is the number of the job's task.
func (j *job) number() (n int) {
	_, _ = fmt.Sscanf(j.task, "web-%d", &n)
	return n
}

// edit writes a file about something.
func (j *job) edit(file, about string) step {
	if j.kind == key {
		return step{tool: "Write", input: map[string]any{"file_path": file, "content": "package " + filepath.Dir(file) + "\n\n// " + about + ".\n"}}
	}
	return j.run(fmt.Sprintf("echo '// %s.' >> %s", about, file))
}

// guarded runs a command that people have to allow.
func (j *job) guarded() step {
	s := j.run(guarded)
	if j.kind == codex {
		s.input = map[string]any{"cmd": guarded, "sandbox_permissions": "require_escalated", "justification": "the new table has to be there"}
	}
	return s
}

func (j *job) say(note string) step {
	if j.kind == command {
		return j.run(fmt.Sprintf("bossman note %q", note))
	}
	return j.call("report_progress", map[string]any{"note": note})
}

func (j *job) finish() step {
	notes := chores[j.number()-1].notes
	summary := notes[len(notes)-1] + "; there is a test."
	if j.kind == command {
		return j.run(fmt.Sprintf("bossman done -m %q", summary))
	}
	return j.call("report_task_done", map[string]any{"summary": summary})
}

// proveFilm shows that what is seen in the film is what happened.
func (d *demo) proveFilm(t *testing.T) {
	t.Helper()
	for n := range chores {
		var task struct {
			Status   string
			Attempts []struct {
				Cause, Reason string
				Run           struct{ Agent string }
			}
		}
		id := fmt.Sprintf("web-%d", n+1)
		if err := json.Unmarshal([]byte(d.cli(t, "task", "show", id, "--json")), &task); err != nil {
			t.Fatal(err)
		}
		if task.Status != "done" {
			t.Errorf("%s is %s, want done", id, task.Status)
		}
		if d.doomed == nil || d.doomed.task != id {
			continue
		}
		a := task.Attempts
		if len(a) != 2 || a[0].Run.Agent != "claude" || !strings.HasPrefix(a[0].Reason, ends[launcherKilled].reason) || a[1].Run.Agent != "codex" || a[1].Cause != "done" {
			t.Errorf("%s was worked on in %+v, want Claude Code killed and Codex done", id, a)
		}
		if !strings.Contains(d.saw, chores[n].title) {
			t.Errorf("Codex found %q in %s, want what Claude Code wrote", d.saw, chores[n].file)
		}
	}
}
