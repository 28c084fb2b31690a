//go:build unix

package check_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
)

// TestInspector_Lying: what lay about when a task was taken is not its work, unless an earlier attempt at it has left that.
func TestInspector_Lying(t *testing.T) {
	for name, x := range map[string]struct {
		first, report, between, later, want string
		place                               bool   // the first attempt was here
		slot                                string // what is mixed in a worktree of its own
	}{
		"new":                              {later: "echo a > new", want: "left [] mixed []"},
		"as it was":                        {first: "echo a > mine; echo b >> one", later: "echo c > new; touch mine", want: "left [mine one] mixed []"},
		"changed since":                    {first: "echo b >> one", later: "echo c >> one", want: "left [] mixed [one]"},
		"never in git":                     {first: "echo a > mine", later: "echo b >> mine", want: "left [mine] mixed []"},
		"added":                            {first: "echo a > mine", later: "echo b >> mine; git add mine", want: "left [] mixed [mine]"},
		"committed":                        {first: "echo a > mine; echo b >> one", later: "echo c > new; git add -A; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [mine one]"},
		"staged before":                    {first: "echo b >> one; git add one", later: "echo c > new; git add new; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [one]"},
		"deleted":                          {first: "rm one", want: "left [one] mixed []"},
		"restored":                         {first: "rm one", later: "git restore one", want: "left [] mixed []"},
		"a name with spaces":               {first: "echo a > 'my file, %41'", want: "left [my file, %41] mixed []"},
		"reported by an earlier attempt":   {report: "echo a > two", between: "true", want: "left [] mixed []"},
		"besides what was reported":        {report: "echo a > two", between: "echo b > mine", want: "left [mine] mixed []"},
		"changed since it was reported":    {report: "echo a > two", between: "true", later: "echo b >> two", want: "left [] mixed []"},
		"left by an attempt that died":     {between: "echo a > two", place: true, want: "left [] mixed []"},
		"made after one that died":         {between: "echo a > two", want: "left [two] mixed []"},
		"taken over after it was reported": {report: "echo a >> one", between: "git restore one; echo mine > one", want: "left [] mixed [one]"},
		"ignored then":                     {first: "echo .env > .git/info/exclude; echo node_modules/ >> .git/info/exclude; echo a > .env; mkdir node_modules; echo a > node_modules/a", later: ": > .git/info/exclude; echo b >> .env; echo b > node_modules/b; echo c > new", want: "left [.env node_modules/a node_modules/b] mixed []"},
		"hidden then":                      {first: "git update-index --assume-unchanged one; echo secret > one", later: "echo c > new", want: "left [one] mixed []"},
		"hidden then, and shown":           {first: "git update-index --skip-worktree one; echo secret > one", later: "git update-index --no-skip-worktree one; echo c > new", want: "left [one] mixed []"},
		"hidden since":                     {later: "git update-index --skip-worktree one; echo a > one", want: "left [] mixed []"},
		"ignored then, and staged":         {first: "echo .env > .git/info/exclude; echo a > .env", later: ": > .git/info/exclude; git add -A", want: "left [.env] mixed []"},
		"ignored then, and committed":      {first: "echo .env > .git/info/exclude; echo a > .env", later: ": > .git/info/exclude; git add -A; git -c user.name=a -c user.email=a@b commit -qm all; echo b >> .env", want: "left [] mixed [.env]", slot: "[.env]"},
		"ignored then, and in a commit":    {first: "echo .env > .git/info/exclude; echo a > .env", later: ": > .git/info/exclude; git add -A; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [.env]", slot: "[.env]"},
		"staged in part before":            {first: "echo b >> one; git add one; echo c >> one", later: "echo c > new; git add new; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [one]"},
		"new, and staged in part before":   {first: "echo b > mine; git add mine; echo c >> mine", later: "echo c > new; git add new; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [mine]"},
		"staged before, and taken back":    {first: "cp one was; echo b >> one; git add one; cat was > one; rm was", later: "echo c > new; git add new; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [one]"},
		"taken from the index before":      {first: "git rm -q --cached one", later: "echo c > new; git add new; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [one]"},
		"hidden then, and committed":       {first: "git update-index --skip-worktree one; echo secret > one", later: "git update-index --no-skip-worktree one; git add -A; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [one]"},
		"moved":                            {first: "echo mine > mine", later: "mkdir s; mv mine s; git add -A; git -c user.name=a -c user.email=a@b commit -qm all", want: "left [] mixed [s/mine]"},
		"committed by an earlier attempt":  {first: "echo a > mine", report: "git add -A; git -c user.name=a -c user.email=a@b commit -qm all", between: "true", want: "left [] mixed [mine]"},
		"ignored before one that died":     {first: "echo .env > .git/info/exclude; echo a > .env", between: ": > .git/info/exclude; echo a > two", place: true, want: "left [.env] mixed []"},
		"before one that died, and since":  {first: "echo a > mine", between: "echo a > two", place: true, want: "left [mine] mixed []"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			sh := func(script string) {
				t.Helper()
				cmd := exec.Command("sh", "-ec", script)
				cmd.Dir = repo.Root
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", script, err, out)
				}
			}
			sh("test -e one || { echo one > one; git add one; git -c user.name=a -c user.email=a@b commit -qm one; }")
			i := &check.Inspector{Dir: repo.Root, Common: repo.Common, Notes: t.TempDir(), InForce: func(string) (*check.Check, string, error) { return nil, "", nil }}
			id := board.ID{Project: "web", No: 1}
			h := board.Handle{Task: id, Attempt: 1, Nonce: "k7f2q"}
			w := board.Work{Task: id, Worker: "otter", First: h, Claim: h}
			begin := func() {
				t.Helper()
				if err := i.Begin(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
			sh(x.first)
			begin()
			sh(x.report)
			w.Place = i.Here(t.Context())
			if x.report != "" {
				if _, _, err := i.Store(t.Context(), w, "", "t", "s"); err != nil {
					t.Fatal(err)
				}
			}
			if x.between != "" {
				sh(x.between)
				a := board.Attempt{Handle: h}
				if x.place {
					a.Where = w.Place
				}
				w.Attempts, w.Claim = []board.Attempt{a}, board.Handle{Task: id, Attempt: 2, Nonce: "aaaaa"}
				begin()
			}
			sh(x.later)
			got, err := i.Lying(t.Context(), w)
			if s := strings.TrimSpace(fmt.Sprintf("left %v mixed %v", got.LeftOut, got.Mixed)); err != nil || s != x.want {
				t.Errorf("Lying = %s, %v; want %s", s, err, x.want)
			}
			w.Slot = true
			if got, err := i.Lying(t.Context(), w); err != nil || got.Count() > 0 || fmt.Sprint(got.Mixed) != cmp.Or(x.slot, "[]") {
				t.Errorf("in a worktree of its own, Lying = %+v, %v", got, err)
			}
		})
	}
}
