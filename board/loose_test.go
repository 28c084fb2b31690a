package board

import "testing"

func TestResult_NotCommitted(t *testing.T) {
	tip := Tip{Commit: "0123456789abcdef", Tree: "t", Base: "b"}
	inside := Loose{Inside: []string{"lib"}}
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{}, ""},
		{Result{Uncommitted: 2}, "2 files, which no branch has"},
		{Result{Uncommitted: 1, Tip: tip}, "1 file, which is in commit 0123456789ab"},
		{Result{Uncommitted: 1, Tip: tip, Landed: "c"}, ""},
		{Result{Uncommitted: 2, Tip: tip, Loose: inside}, `2 files: what is in "lib" is in no commit here, all else in commit 0123456789ab`},
		{Result{Uncommitted: 1, Tip: tip, NoChanges: true, Loose: inside}, `what is in "lib", which no commit here has`},
		{Result{Uncommitted: 2, Tip: tip, Landed: "c", Loose: inside}, `what is in "lib", which no commit here has`},
		{Result{Uncommitted: 5, Tip: tip, NoChanges: true, Loose: Loose{Inside: []string{"a", "b", "c", "d", "e"}}}, `what is in "a", "b", "c", 2 more, which no commit here has`},
	} {
		if got := c.r.NotCommitted(); got != c.want {
			t.Errorf("NotCommitted of %+v = %q, want %q", c.r, got, c.want)
		}
	}
}
