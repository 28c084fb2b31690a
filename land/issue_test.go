package land

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// tracker has the issues of acme, and fails to tell one of them.
type tracker struct {
	fails string
	told  []board.Issue
}

func (t *tracker) Has(url string) bool { return strings.Contains(url, "/acme/") }

func (t *tracker) Tell(_ context.Context, i board.Issue) error {
	if i.URL == t.fails {
		return &PullError{Said: "no answer"}
	}
	t.told = append(t.told, i)
	return nil
}

// TestLand_issues: issues are told once of the commit that is theirs. One that cannot be told holds up neither the
// others nor what lands.
func TestLand_issues(t *testing.T) {
	y := newYard(t, "true", map[string]string{"a": "1"})
	tr := &tracker{fails: "https://github.com/acme/web/issues/1"}
	y.o.Issues = tr
	urls := []string{tr.fails, "https://github.com/acme/web/issues/2", "https://github.com/other/web/issues/3"}
	for i, url := range urls {
		key := string(rune('b' + i))
		made, err := y.board.CreatePlan(t.Context(), y.actor, board.Plan{Project: "web", Tasks: []board.PlanTask{{
			Key: key, Item: url, Author: "bob", NewTask: board.NewTask{Title: "make " + key},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := y.board.Update(t.Context(), board.Actor{Principal: "ada", Person: true}, made.Tasks[0].ID, board.Edit{Hold: new(false)}); err != nil {
			t.Fatal(err)
		}
		y.report("main", map[string]string{key: "1"})
	}
	waits := func(want int) {
		t.Helper()
		in, err := y.board.Inbox(t.Context(), "web")
		if err != nil || len(in.Landing) != want {
			t.Errorf("the inbox has %+v, %v", in.Landing, err)
		}
	}
	y.land()
	y.tells("landed web-1", "landed web-2", "landed web-3", "untold web-1", "told web-2")
	waits(1)
	y.land()
	y.tells("untold web-1")
	tr.fails = ""
	y.land()
	y.tells("told web-1")
	waits(0)
	y.land()
	y.tells()
	var got []string
	for _, i := range tr.told {
		got = append(got, i.URL+" "+y.git("-C", y.dir, "log", "-1", "--format=%s", i.Commit))
	}
	if want := []string{urls[1] + " make c", urls[0] + " make b"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
