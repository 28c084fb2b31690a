package land

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// A later board says that it is some time later.
type later struct {
	*board.Board
	by time.Duration
}

func (b later) Get(ctx context.Context, id board.ID, events int) (board.Dossier, error) {
	d, err := b.Board.Get(ctx, id, events)
	d.Now = d.Now.Add(b.by)
	return d, err
}

// The states of a task are deleted 30 days after it has ended, here and at the remote repository, and no
// others.
func TestPrune(t *testing.T) {
	const day = 24 * time.Hour
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.share(one)
	y.land()
	tip := y.status(one, board.Done).Doc.Result.Tip.Commit
	open, _, err := y.board.Create(t.Context(), y.actor, board.NewTask{Project: "web", Title: "two"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"web-1/1", git.SharedRef("web-1/1", tip), "web-1/1-end", open.ID.String() + "/1", "web-99/1", "api-1/1"} {
		y.git("-C", y.dir, "push", "-q", "-f", "origin", tip+":refs/bossman/"+ref)
		y.git("-C", y.dir, "update-ref", "refs/bossman/"+ref, tip)
	}
	y.git("-C", y.dir, "pack-refs", "--all")
	refs := func(dir string) string {
		return y.git("-C", dir, "for-each-ref", "--format=%(refname)", "refs/bossman")
	}
	all, rest := refs(y.dir), "refs/bossman/api-1/1\nrefs/bossman/web-2/1\nrefs/bossman/web-99/1"
	note := filepath.Join(y.dir, ".git", "bossman", pruneNote)
	for _, x := range []struct {
		after time.Duration
		age   time.Duration // of the note
		want  string
	}{{29 * day, 2 * day, all}, {31 * day, day - time.Hour, all}, {31 * day, 2 * day, rest}} {
		at := time.Now().Add(-x.age)
		if err := os.Chtimes(note, at, at); err != nil {
			t.Fatal(err)
		}
		y.o.Board = later{y.board, x.after}
		y.land()
		for _, dir := range []string{y.dir, origin} {
			if got := refs(dir); got != x.want {
				t.Errorf("%v after its end, and %v after it was looked at: %s has %q, want %q", x.after, x.age, dir, got, x.want)
			}
		}
	}
}

// A second board of the same repository that has a project of the same name has tasks of the same names. It
// deletes what it recorded itself, and leaves the work of the first one under the same refs.
func TestPrune_otherBoard(t *testing.T) {
	y, origin := newRemoteYard(t, "", map[string]string{"a": "1\n"})
	first := map[string]string{} // the work of the first board, by its refs
	for n, name := range []string{"web-1/1", "web-1/1-end", "web-1/2", "web-2/1", "web-2/1-before-1", "web-2/x", "web-2/1x"} {
		title := "first\n\n" + git.ClaimTrailer + ": " + name + ".aaaaa"
		first["refs/bossman/"+name] = y.commit("main", title, map[string]string{"first": strconv.Itoa(n)})
	}
	one := y.task("one", "main", map[string]string{"one": "1\n"})
	y.share(one)
	y.land()
	y.task("two", "main", map[string]string{"two": "1\n"})
	y.land()
	own := map[string]string{}
	for name, id := range map[string]string{"web-1/1-unmerged-1": "web-1", "web-2/1-end": "web-2"} {
		id, err := board.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		claim := y.status(id, board.Done).Attempts[0].Handle
		own["refs/bossman/"+name] = y.commit("main", "own\n\n"+git.ClaimTrailer+": "+claim.String(), map[string]string{"own": name})
	}
	for _, refs := range []map[string]string{first, own} {
		for ref, commit := range refs {
			y.git("-C", y.dir, "update-ref", ref, commit)
			y.git("-C", y.dir, "push", "-q", "-f", "origin", commit+":"+ref)
		}
	}
	at := time.Now().Add(-2 * pruneTime)
	if err := os.Chtimes(filepath.Join(y.dir, ".git", "bossman", pruneNote), at, at); err != nil {
		t.Fatal(err)
	}
	y.o.Board = later{y.board, keepStates + time.Hour}
	y.land()
	for _, dir := range []string{y.dir, origin} {
		got := map[string]string{}
		for line := range strings.Lines(y.git("-C", dir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/bossman")) {
			ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
			got[ref] = commit
		}
		if !maps.Equal(got, first) {
			t.Errorf("%s has %v, want %v", dir, got, first)
		}
	}
}
