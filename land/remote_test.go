package land

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// newRemoteYard makes a yard whose project lands on the branch main of a bare repository, origin.
func newRemoteYard(t *testing.T, line string, files map[string]string) (y *yard, origin string) {
	t.Helper()
	y = newYard(t, line, files)
	origin = filepath.Join(filepath.Dir(y.dir), "origin.git")
	y.git("clone", "-q", "--bare", y.dir, origin)
	y.git("-C", y.dir, "remote", "add", "origin", origin)
	if err := y.board.SetLand(t.Context(), y.actor, "web", "origin/main"); err != nil {
		t.Fatal(err)
	}
	y.o.Target = board.Target{Kind: board.TargetRemote, Remote: "origin", Branch: "main"}
	y.o.Accept = acceptsOrigin
	return y, origin
}

// acceptsOrigin accepts the addresses of origin.
func acceptsOrigin(command string) bool {
	return strings.HasPrefix(command, "remote.origin.url=") || strings.HasPrefix(command, "remote.origin.pushurl=")
}

// laptop makes the next runs land from another clone of origin.
func (y *yard) laptop(origin string) {
	y.Helper()
	dir := filepath.Join(y.TempDir(), "web")
	y.git("clone", "-q", "--no-local", origin, dir) // else it would have all objects
	repo, err := git.Find(dir)
	if err != nil {
		y.Fatal(err)
	}
	y.o.Repo = repo
}

// sh runs a line of a shell in a directory.
func sh(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// share pushes the commit of a queued task as a report does.
func (y *yard) share(id board.ID) {
	y.Helper()
	d := y.status(id, board.Landing)
	y.git("-C", y.dir, "push", "-q", "origin", d.Doc.Result.Tip.Commit+":"+git.SharedRef(git.StateRefs(id.String())+"1", d.Doc.Result.Tip.Commit))
}

// Work lands at the remote repository, also from a clone that it was not made in. No branch of the
// clone moves but the remote-tracking one.
func TestLand_remote(t *testing.T) {
	y, origin := newRemoteYard(t, "test -f a", map[string]string{"a": "1\n"})
	before := y.git("-C", y.dir, "rev-parse", "main")
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	y.tells("landed web-1")
	y.status(one, board.Done)
	if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "one\nfirst" {
		t.Errorf("origin has %q", got)
	}
	if got := y.git("-C", y.dir, "rev-parse", "main"); got != before {
		t.Error("the local main has moved")
	}

	two := y.task("two", "main", map[string]string{"two": "1\n"})
	y.laptop(origin)
	y.land()
	y.tells("waits web-2")
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if why := line.Lander.Note.Waits[0].Why; !strings.Contains(why, `nor at "origin" as refs/bossman/web-2/1`) {
		t.Errorf("it waits: %s", why)
	}
	y.share(two)
	y.land()
	y.tells("landed web-2")
	if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "two\none\nfirst" {
		t.Errorf("origin has %q", got)
	}
}

// Somebody pushes between the check and the push of the lander: it begins again, and forces nothing.
func TestLand_remoteMoved(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	id := y.task("one", "main", map[string]string{"one": "1\n"})
	theirs := y.commit("main", "theirs", map[string]string{"theirs": "1\n"})
	hook := "#!/bin/sh\n[ -e " + origin + "/pushed ] && exit 0\ntouch " + origin + "/pushed\nexec git push -q " + origin + " " + theirs + ":refs/heads/main\n"
	if err := os.WriteFile(filepath.Join(y.dir, ".git", "hooks", "pre-push"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	y.o.Accept = func(command string) bool { return acceptsOrigin(command) || strings.HasPrefix(command, "hook ") }
	y.land()
	y.tells("moved", "landed web-1")
	y.status(id, board.Done)
	if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "one\ntheirs\nfirst" {
		t.Errorf("origin has %q", got)
	}
	intents, err := y.board.Intents(t.Context(), board.IntentFilter{Project: "web"})
	if err != nil || len(intents) != 2 || intents[1].State != board.IntentDropped || intents[0].Old != theirs {
		t.Errorf("the intents are %+v, %v", intents, err)
	}
}

// The queue stops, and no intent stays open, if the server or a hook refuses a push. It stops with
// an open intent if nobody knows whether the push arrived.
func TestLand_remoteStops(t *testing.T) {
	for name, x := range map[string]struct {
		harm, mend string // in the directory of origin
		says       string
	}{
		"refused":     {`printf '#!/bin/sh\necho not now >&2\nexit 1\n' > hooks/pre-receive; chmod +x hooks/pre-receive`, "rm hooks/pre-receive", "not now"},
		"locked":      {"touch refs/heads/main.lock", "rm refs/heads/main.lock", "main"},
		"unreachable": {"mv HEAD HEAD.away", "mv HEAD.away HEAD", "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
			id := y.task("one", "main", map[string]string{"one": "1\n"})
			sh(t, origin, x.harm)
			y.land()
			if n := len(y.events); n == 0 || y.events[n-1].Kind != Stopped || !strings.Contains(y.events[n-1].Text, x.says) {
				t.Errorf("it reported %+v", y.events)
			}
			y.events = nil
			line, err := y.board.Line(t.Context(), "web")
			if err != nil || line.Open != nil || line.Lander.Note.Stopped == "" {
				t.Errorf("the queue is %+v, %v", line, err)
			}
			sh(t, origin, x.mend)
			y.land()
			y.tells("landed web-1")
			y.status(id, board.Done)
		})
	}
}

// A lander died after its intent: the next one, in another clone, asks the remote repository.
func TestLand_remoteSettles(t *testing.T) {
	for _, pushed := range []bool{false, true} {
		y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
		id := y.task("one", "main", map[string]string{"one": "1\n"})
		y.share(id)
		tip := y.status(id, board.Landing).Doc.Result.Tip
		y.dies("origin/main", tip.Base, tip.Commit, board.Item{Task: id, Attempt: 1, Tip: tip.Commit})
		want := []string{"landed web-1"}
		if pushed {
			y.git("-C", y.dir, "push", "-q", "origin", tip.Commit+":refs/heads/main")
			want = nil
		}
		y.laptop(origin)
		y.land()
		y.tells(want...)
		y.status(id, board.Done)
		if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "one\nfirst" {
			t.Errorf("pushed %v: origin has %q", pushed, got)
		}
	}
}

// Commands of the clone's own configuration do not run before a person has accepted them.
func TestLand_remoteUntrusted(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	y.o.Accept = nil
	canary := filepath.Join(t.TempDir(), "ran")
	y.git("-C", y.dir, "config", "remote.origin.uploadpack", "touch "+canary+"; git-upload-pack")
	y.task("one", "main", map[string]string{"one": "1\n"})
	y.land()
	y.tells("stopped")
	line, err := y.board.Line(t.Context(), "web")
	if err != nil || !strings.Contains(line.Lander.Note.Stopped, "bossman trust") {
		t.Errorf("the queue is %+v, %v", line, err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Fatal("it ran")
	}
	list, err := y.o.Repo.RemoteCommands(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y.o.Accept = func(command string) bool { return slices.Contains(list, command) }
	y.land()
	y.tells("landed web-1")
	if got := y.git("-C", origin, "log", "-1", "--format=%s", "main"); got != "one" {
		t.Errorf("origin has %q", got)
	}
}

// Pushes go to another repository than fetches come from: nothing is taken for landed that is not where it is
// fetched from, and nothing more is pushed.
func TestLand_remoteElsewhere(t *testing.T) {
	for name, settle := range map[string]func(y *yard, origin, fork string){
		"one address": func(y *yard, _, _ string) { y.git("-C", y.dir, "config", "--unset", "remote.origin.pushurl") },
		"a mirror":    func(y *yard, origin, fork string) { y.git("-C", fork, "push", "-q", origin, "main") },
	} {
		t.Run(name, func(t *testing.T) {
			y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
			fork := filepath.Join(filepath.Dir(y.dir), "fork.git")
			y.git("clone", "-q", "--bare", origin, fork)
			y.git("-C", y.dir, "config", "remote.origin.pushurl", fork)
			one := y.task("one", "main", map[string]string{"one": "1\n"})
			two := y.task("two", "main", map[string]string{"two": "1\n"})
			pushed := ""
			for range 2 {
				y.land()
				y.tells("stopped")
				y.status(one, board.Landing)
				y.status(two, board.Landing)
				line, err := y.board.Line(t.Context(), "web")
				if err != nil || !strings.Contains(line.Lander.Note.Stopped, "pushes go to "+fork+", and fetches come from "+origin) {
					t.Errorf("the queue is %+v, %v", line, err)
				}
				if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "first" {
					t.Errorf("origin has %q", got)
				}
				now := y.git("-C", fork, "rev-parse", "main")
				if pushed != "" && now != pushed {
					t.Error("it was pushed again")
				}
				pushed = now
			}
			settle(y, origin, fork)
			y.land()
			y.status(one, board.Done)
			y.status(two, board.Done)
			if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "two\none\nfirst" {
				t.Errorf("origin has %q", got)
			}
		})
	}
}

// With a target in a clone, only that clone can land: another one says on which machine the work is.
func TestLand_elsewhere(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	if err := y.board.SetLand(t.Context(), y.actor, "web", "main"); err != nil {
		t.Fatal(err)
	}
	y.o.Target = board.Target{Kind: board.TargetLocal, Branch: "main"}
	y.at = board.Where{Host: "ada-laptop", Dir: "/home/ada/web"}
	id := y.task("one", "main", map[string]string{"one": "1\n"})
	y.share(id) // which nobody fetches
	y.laptop(origin)
	y.land()
	y.tells("waits web-1")
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if why := line.Lander.Note.Waits[0].Why; !strings.HasSuffix(why, `is not in this clone: run bossman land on "ada-laptop", in "/home/ada/web"`) {
		t.Errorf("it waits: %s", why)
	}
}

// Work of another task that was reported from another clone, and was rejected, does not land along: what was reported
// is at the remote repository.
func TestLand_remoteIncludes(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	bobs := y.task("bob's", "main", map[string]string{"bob": "1\n"})
	y.share(bobs)
	bob := y.status(bobs, board.Landing).Doc.Result.Tip.Commit
	if _, err := y.board.Return(t.Context(), person, bobs, board.Return{Attempt: 1, Kind: board.ReturnAsked, Text: "never"}); err != nil {
		t.Fatal(err)
	}
	if _, err := y.board.Cancel(t.Context(), person, bobs, "never", board.DependentsKeep); err != nil {
		t.Fatal(err)
	}
	carls := y.task("carl's", bob, map[string]string{"carl": "1\n"})
	y.share(carls)
	y.laptop(origin)
	y.land()
	y.tells("waits " + carls.String())
	line, err := y.board.Line(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	if why := line.Lander.Note.Waits[0].Why; !strings.Contains(why, "includes commit "+git.Short(bob)+" of web-1") {
		t.Errorf("it waits: %s", why)
	}
	if got := y.git("-C", origin, "log", "--format=%s", "main"); got != "first" {
		t.Errorf("origin has %q", got)
	}
}
