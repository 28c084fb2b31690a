package land

import (
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// Each agent changes the same line. One that is told of a conflict merges the target, and keeps both.
const conflictAgent = `
n=${BOSSMAN_TASK#web-}
if ! git merge -q main > /dev/null 2>&1; then
	git checkout -q --theirs list && sed -i "1s/\$/ $n/" list
elif ! grep -qw "$n" list; then
	sed -i "1s/\$/ $n/" list
fi
git add -A
git commit -qm "add $n"
bossman done --summary "added $n"
`

// Five branches that conflict pairwise all land, each after one rework at most, and no person is needed.
func TestConflicts(t *testing.T) {
	y := newYard(t, map[string]string{"list": "numbers:\n", ".bossman/config.toml": "project = \"web\"\n[check]\ncommand = [\"sh\", \"-c\", \"! grep -q '<<<<' list\"]\n"})
	y.plan([]string{"add 1", "add 2", "add 3", "add 4", "add 5"})
	y.run("project", "set", "--land", "main")
	// All begin from the same commit: nothing lands until all are reported.
	y.run(append([]string{"work", "-n", "5", "--until-empty"}, y.agent(conflictAgent)...)...)
	said := y.run(append([]string{"work", "-n", "5", "--land", "--until-empty"}, y.agent(conflictAgent)...)...)
	y.reworked(said)
}

// The same if they are reported from the newest to the oldest while others land: a task that has resolved its conflict
// lands before older ones that have waited for it.
func TestConflicts_newestFirst(t *testing.T) {
	y := newYard(t, map[string]string{"list": "numbers:\n", ".bossman/config.toml": "project = \"web\"\n[check]\ncommand = [\"sh\", \"-c\", \"! grep -q '<<<<' list\"]\n"})
	y.plan([]string{"add 1", "add 2", "add 3", "add 4", "add 5"})
	y.run("project", "set", "--land", "main")
	y.reworked(y.run(append([]string{"work", "-n", "5", "--land", "--until-empty"}, y.agent(`
case $BOSSMAN_CLAIM in
*/1.*) n=${BOSSMAN_TASK#web-}; sed -i "1s/\$/ $n/" list; git commit -qam "add $n"; sleep $((6 - n)); exec bossman done --summary "added $n" ;;
esac
sleep 4
`+conflictAgent)...)...))
}

// reworked checks that five tasks have landed with four reworks at most. said is what the run has said.
func (y *yard) reworked(said string) {
	y.Helper()
	t, b := y.T, y.board()
	reworks := 0
	for _, d := range y.tasks(b, 5) {
		if d.Task.Status != board.Done || d.Task.Failures > 0 || len(d.Questions) > 0 {
			t.Errorf("%v is %s, with %d failures and %d questions", d.Task.ID, d.Task.Status, d.Task.Failures, len(d.Questions))
		}
		reworks += len(d.Attempts) - 1
	}
	if list := strings.Fields(y.git("show", "main:list")); len(list) != 6 {
		t.Errorf("the target has %q", list)
	}
	if reworks > 4 {
		t.Errorf("%d reworks, want four at most", reworks)
	}
	t.Logf("%d reworks", reworks)
	if t.Failed() {
		t.Log(said)
	}
}

// A task whose agents do not resolve a conflict asks a person, at the third one.
func TestConflicts_person(t *testing.T) {
	y := newYard(t, map[string]string{"list": "numbers:\n", ".bossman/config.toml": "project = \"web\"\n[check]\ncommand = [\"true\"]\n"})
	y.plan([]string{"add 1"})
	y.run("project", "set", "--land", "main")
	stubborn := y.agent(`
echo mine > list
git commit -qam mine || git commit -q --allow-empty -m again
bossman done --summary mine
`)
	y.run(append([]string{"work", "--until-empty"}, stubborn...)...)
	y.git("commit", "-q", "--allow-empty", "-m", "before")
	write(t, y.dir+"/list", "theirs\n")
	y.git("commit", "-qam", "theirs")
	said := y.run(append([]string{"work", "--land", "--until-empty"}, stubborn...)...)
	d := y.tasks(y.board(), 1)[0]
	if d.Task.Status != board.Waiting || len(d.Questions) != 1 || d.Task.Failures > 0 {
		t.Errorf("%v is %s, with %d failures and %d questions\n%s", d.Task.ID, d.Task.Status, d.Task.Failures, len(d.Questions), said)
	}
	if inbox := y.run("inbox"); !strings.Contains(inbox, "list") || !strings.Contains(inbox, "conflict") {
		t.Errorf("the inbox does not say what is in conflict:\n%s", inbox)
	}
}
