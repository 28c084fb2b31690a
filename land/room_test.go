package land

import (
	"os"
	"path/filepath"
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
			y.write(map[string]string{filepath.Join("..", filepath.Base(y.dir)+".worktrees", "land", "new"): "hours\n"})
		},
		func() {
			y.write(map[string]string{filepath.Join("..", filepath.Base(y.dir)+".worktrees", "land", "new"): "hours\n"})
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
