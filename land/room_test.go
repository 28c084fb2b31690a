package land

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLand_room: what somebody has made in the worktree of the lander is moved away and not cleaned.
func TestLand_room(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": "1\n"})
	room := y.o.Repo.Room()
	aside := func() []string {
		list, _ := filepath.Glob(room + ".aside-*")
		return list
	}
	y.task("one", "next", map[string]string{"b": "1\n"})
	y.land()
	y.task("two", "next", map[string]string{"c": "1\n"})
	y.land()
	if list := aside(); len(list) > 0 {
		t.Fatalf("it was moved away as it was left: %q", list)
	}
	for n, work := range []func(){
		func() {
			y.write(map[string]string{filepath.Join("..", filepath.Base(y.dir)+".worktrees", "bossman-land", "new"): "hours\n"})
		},
		func() {
			y.write(map[string]string{filepath.Join("..", filepath.Base(y.dir)+".worktrees", "bossman-land", "new"): "hours\n"})
			y.git("-C", room, "add", "new")
			y.git("-C", room, "commit", "-qm", "new")
		},
		func() { y.git("-C", room, "switch", "-qc", "fix") },
	} {
		work()
		id := y.task("more", "next", map[string]string{"c": string(rune('A'+n)) + "\n"})
		y.land()
		y.status(id, "done")
		list := aside()
		if len(list) != n+1 {
			t.Fatalf("case %d: moved away %q", n, list)
		}
		if text, err := os.ReadFile(filepath.Join(list[n], "new")); n < 2 && (err != nil || string(text) != "hours\n") {
			t.Errorf("case %d: %q, %v", n, text, err)
		}
	}
}

// TestLand_roomLeft: the worktree of a lander of a clone that was deleted is moved away. Of any other directory it is said what to do.
func TestLand_roomLeft(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": "1\n"})
	room := y.o.Repo.Room()
	if err := os.MkdirAll(room, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(room, "mine"), []byte("hours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := y.task("one", "next", map[string]string{"b": "1\n"})
	y.land()
	if n := len(y.events); n == 0 || y.events[n-1].Kind != Stopped || !strings.HasSuffix(y.events[n-1].Text, "no worktree is made there; move it elsewhere, and it is made anew") {
		t.Errorf("with a person's directory: %+v", y.events)
	}
	if err := os.WriteFile(filepath.Join(room, ".git"), []byte("gitdir: "+filepath.Join(t.TempDir(), "gone")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	y.land()
	y.status(id, "done")
	list, _ := filepath.Glob(filepath.Join(room+".aside-*", "mine"))
	if len(list) != 1 {
		t.Errorf("moved away: %q", list)
	}
}

// TestLand_note: what agents put in place of the lander's note is neither read nor written.
func TestLand_note(t *testing.T) {
	y := newYard(t, "if test -f swap; then sh ./swap; fi", map[string]string{"a": "1\n"})
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	y.task("first", "next", map[string]string{"b": "1\n"})
	y.land()
	note := func() string {
		return filepath.Join(y.git("-C", y.o.Repo.Room(), "rev-parse", "--absolute-git-dir"), leftNote)
	}
	if _, err := os.Lstat(note()); err != nil {
		t.Fatal(err)
	}
	for n, how := range []string{"ln -s " + victim, "ln -s " + victim + "-new", "ln -s /dev/zero", "mkfifo"} {
		note := note()
		if out, err := exec.Command("sh", "-c", "rm -f "+note+" && "+how+" "+note).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", how, err, out)
		}
		id := y.task(how, "next", map[string]string{"c": string(rune('A'+n)) + "\n"})
		y.land()
		y.status(id, "done")
	}
	swap := y.task("while it is checked", "next", map[string]string{"swap": "rm -f " + note() + " && ln -s " + victim + " " + note() + "\n"})
	y.land()
	y.status(swap, "done")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if _, err := os.Lstat(victim + "-new"); err == nil {
		t.Error("a file was made through a link")
	}
}
