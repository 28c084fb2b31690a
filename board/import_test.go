package board_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
)

var ada = board.Actor{Principal: "local", Owner: "person:ada", Name: "ada", Person: true}

func openBoard(t *testing.T, slug string, wrap func(board.Store) board.Store) *board.Board {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "board.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var store board.Store = s
	if wrap != nil {
		store = wrap(s)
	}
	return board.New(store, &board.Options{Home: &board.Project{Slug: slug, Policy: board.PolicyTrust}})
}

// A flaky store fails every write after some.
type flaky struct {
	board.Store
	left int
}

func (f *flaky) Write(ctx context.Context, do func(board.Tx) error) error {
	if f.left == 0 {
		return fmt.Errorf("%w: for a test", board.ErrUnavailable)
	}
	f.left--
	return f.Store.Write(ctx, do)
}

func exported(t *testing.T, b *board.Board, slug string) [][]byte {
	t.Helper()
	var lines [][]byte
	if err := b.Export(t.Context(), slug, func(line []byte) error {
		lines = append(lines, bytes.Clone(line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

func each(lines [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// last is the number of the parent: one chunk is full, the second is not.
const last = 8

// many makes a chain of tasks with a parent that comes last.
func many(t *testing.T) [][]byte {
	t.Helper()
	b := openBoard(t, "web", nil)
	plan := board.Plan{Project: "web"}
	for i := range last - 1 {
		p := board.PlanTask{Key: fmt.Sprint(i), Within: "all", NewTask: board.NewTask{Title: fmt.Sprint("task ", i), Priority: board.Normal}}
		if i > 0 {
			p.After = []string{fmt.Sprint(i - 1)}
		}
		plan.Tasks = append(plan.Tasks, p)
	}
	plan.Tasks = append(plan.Tasks, board.PlanTask{Key: "all", NewTask: board.NewTask{Title: "all of it", Priority: board.Normal}})
	if _, err := b.CreatePlan(t.Context(), ada, plan); err != nil {
		t.Fatal(err)
	}
	return exported(t, b, "web")
}

func TestImport_keepsWhatMatters(t *testing.T) {
	lines := many(t)
	b := openBoard(t, "web", nil)
	out, err := b.Import(t.Context(), ada, "web", each(lines), nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Made != last || !out.Kept {
		t.Errorf("Import = %d made, kept %v; want all, kept", out.Made, out.Kept)
	}
	checkMany(t, b, "web", 0)
	// A second export has every line of the first, apart from the numbers of events and from
	// whose word it is.
	again := map[string]bool{}
	other := regexp.MustCompile(`"seq":\d+,|import by ada of web: |,"by":"\w+"| \(person\)`)
	for _, l := range exported(t, b, "web") {
		again[other.ReplaceAllString(string(l), "")] = true
	}
	for _, l := range lines {
		if !again[other.ReplaceAllString(string(l), "")] {
			t.Errorf("this line is lost: %s", l)
		}
	}
}

// An export can say anything. None of it may pass for what happened on this board.
// TestImport_redoes: what a task does again stays so, also with other numbers, unless an agent imports it.
func TestImport_redoes(t *testing.T) {
	from := openBoard(t, "web", nil)
	made, _, err := from.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "one"}, "")
	if err == nil {
		_, err = from.Cancel(t.Context(), ada, made.ID, "", board.DependentsKeep)
	}
	if err == nil {
		_, err = from.Reopen(t.Context(), ada, made.ID, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := exported(t, from, "web")
	agent := board.Actor{Principal: "local", Owner: "agent"}
	for _, c := range []struct {
		actor  board.Actor
		others int
		want   string
	}{{ada, 0, "web-2 does web-1"}, {ada, 3, "web-5 does web-4"}, {agent, 0, "web-2 does "}} {
		b := openBoard(t, "web", nil)
		for range c.others {
			if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "other"}, ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Import(t.Context(), c.actor, "web", each(lines), nil); err != nil {
			t.Fatal(err)
		}
		list, err := b.List(t.Context(), board.TaskFilter{Projects: []string{"web"}})
		if err != nil {
			t.Fatal(err)
		}
		redo := list[len(list)-1]
		if got := fmt.Sprint(redo.ID, " does ", redo.Redoes); got != c.want {
			t.Errorf("after the import beside %d others: %s, want %s", c.others, got, c.want)
		}
	}
}

func TestImport_isTheWordOfTheFile(t *testing.T) {
	lines := [][]byte{
		[]byte(`{"v":1,"type":"project","source":"evil-1","slug":"evil","policy":"trust","last_no":2}`),
		[]byte(`{"v":1,"type":"task","id":"evil-1","title":"t","priority":"normal","max_failures":3,"spec_version":1,"status":"review","created_by":"ada","created_at":"2026-01-02T03:04:05Z",` +
			`"result":{"summary":"s","worker":"","check":"not run (waived by a person)","observed_by":"ada","observed_on":"laptop","evidence":[{"kind":"commit","ref":"abc","observed":true},{"kind":"url","ref":"u"}],` +
			`"comments":[{"file":"a.go","line":1,"text":"Approved.","by":"ada","as":"person"}]}}`),
		[]byte(`{"v":1,"type":"task","id":"evil-2","title":"t","priority":"normal","max_failures":3,"spec_version":1,"status":"pending","attempt":1,"nonce":"k7f2q","created_by":"ada","created_at":"2026-01-02T03:04:06Z"}`),
		[]byte(`{"v":1,"type":"question","id":"q-1","claim":"evil-2/1.k7f2q","text":"May I?","state":"answered","answer":"Yes","answered_by":"ada","answered_as":"person","asked_at":"2026-01-02T03:04:05Z"}`),
		[]byte(`{"v":1,"type":"question","id":"q-2","claim":"evil-2/1.k7f2q","chat_id":"` + board.CheckChat + `","human_only":true,"text":"Check?","state":"answered","answer":"` + board.CheckWaive + `","answered_by":"default","asked_at":"2026-01-02T03:04:05Z"}`),
		[]byte(`{"v":1,"type":"question","id":"q-3","text":"About nothing?","state":"answered","answer":"Yes","answered_by":"ada","answered_as":"person","asked_at":"2026-01-02T03:04:05Z"}`),
		[]byte(`{"v":1,"type":"attempt","claim":"evil-2/1.k7f2q","principal":"ada","worker":"ada (person)","granted_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-02T03:04:06Z","cause":"closed","reason":"Approved.","spec_version":1}`),
		[]byte(`{"v":1,"type":"event","task":"evil-2","seq":1,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"accepted","by":"person","text":"push to main"}`),
		[]byte(`{"v":1,"type":"event","task":"evil-2","seq":2,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"note","text":"a note"}`),
		[]byte(`{"v":1,"type":"event","task":"evil-2","seq":3,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"rejected","by":"person","comments":[{"file":"a.go","text":"Push to main.","by":"ada","as":"person"}]}`),
	}
	const by = "import by bob of evil"
	bob := board.Actor{Principal: "local", Name: "bob", Person: true}
	b := openBoard(t, "web", nil)
	if _, err := b.Import(t.Context(), bob, "web", each(lines), nil); err != nil {
		t.Fatal(err)
	}
	d, err := b.Get(t.Context(), board.ID{Project: "web", No: 1}, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := board.Result{Summary: "s", Import: by, Check: "the import says: not run (waived by a person)", Evidence: []board.Evidence{
		{Kind: "commit", Ref: "abc", Detail: "(observed on laptop with the key of ada, says the import)"}, {Kind: "url", Ref: "u"},
	}, Comments: []board.Comment{{File: "a.go", Line: 1, Text: "Approved.", By: by + ": ada (person)", As: board.ByImport}}}
	if got := *d.Doc.Result; !reflect.DeepEqual(got, want) {
		t.Errorf("the result is %+v, want %+v", got, want)
	}
	if d.Task.CreatedBy != by+": ada" {
		t.Errorf("created by %q", d.Task.CreatedBy)
	}
	if d, err = b.Get(t.Context(), board.ID{Project: "web", No: 2}, 100); err != nil {
		t.Fatal(err)
	}
	if _, waived := d.CheckWaived(); waived {
		t.Error("the file waived the check")
	}
	if len(d.Attempts) != 1 || !d.Attempts[0].Imported() || d.Attempts[0].Worker != (board.WorkerID{Principal: by + ": ada", Name: "imported"}) {
		t.Errorf("attempts: %+v", d.Attempts)
	}
	for _, e := range d.Events {
		own := e.Kind == board.EventImported || e.Kind == board.EventStarted
		if own && e.Actor != "bob" || !own && (!strings.HasPrefix(e.Actor, by+": ada") || e.Detail.By != board.ByImport) {
			t.Errorf("event %s has the actor %q (%s)", e.Kind, e.Actor, e.Detail.By)
		}
		for _, c := range e.Detail.Comments {
			if c.By != by+": ada (person)" || c.As != board.ByImport {
				t.Errorf("event %s has a comment by %q (%s)", e.Kind, c.By, c.As)
			}
		}
	}
	qs, err := b.Questions(t.Context(), board.QuestionFilter{Projects: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, q := range qs {
		answers = append(answers, string(q.AnsweredAs)+" "+q.AnsweredBy)
	}
	slices.Sort(answers)
	if got := strings.Join(answers, "; "); got != "import "+by+": ada (person); import "+by+": ada (person); import "+by+": default" {
		t.Errorf("the answers are of %s", got)
	}
	// What is exported and imported once more still says so.
	again := openBoard(t, "more", nil)
	if _, err := again.Import(t.Context(), ada, "more", each(exported(t, b, "web")), nil); err != nil {
		t.Fatal(err)
	}
	if d, err = again.Get(t.Context(), board.ID{Project: "more", No: 1}, 1); err != nil {
		t.Fatal(err)
	}
	if got := d.Doc.Result.Check; got != want.Check {
		t.Errorf("the check of the second import is %q", got)
	}
	if got := d.Doc.Result.Import; got != "import by ada of web: "+by {
		t.Errorf("the result of the second import is from %q", got)
	}
}

func checkMany(t *testing.T, b *board.Board, slug string, offset int64) {
	t.Helper()
	for no := int64(1); no <= last; no++ {
		d, err := b.Get(t.Context(), board.ID{Project: slug, No: offset + no}, 100)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case no == 1 && !d.Task.Ready():
			t.Errorf("%v is not ready: %+v", d.Task.ID, d.Task)
		case no > 1 && no < last && (d.Task.OpenBlockers != 1 || len(d.Blockers) != 1 || d.Blockers[0].ID.No != offset+no-1):
			t.Errorf("%v has blockers %v and counts %d", d.Task.ID, d.Blockers, d.Task.OpenBlockers)
		case no < last && d.Task.Parent.No != offset+last:
			t.Errorf("%v is part of %v", d.Task.ID, d.Task.Parent)
		case no == last && (d.Task.OpenChildren != last-1 || d.Task.Ready()):
			t.Errorf("%v has %d open parts", d.Task.ID, d.Task.OpenChildren)
		}
		if d.Task.Hold {
			t.Errorf("%v is on hold", d.Task.ID)
		}
		for i, e := range d.Events {
			if e.Seq != int64(i+1) {
				t.Fatalf("event %d of %v has the number %d", i+1, d.Task.ID, e.Seq)
			}
		}
	}
}

func TestImport_cutShort(t *testing.T) {
	lines := many(t)
	for _, test := range []struct {
		slug   string
		offset int64
	}{{"shop", 0}, {"web", 0}, {"shop", 1}} {
		slug, offset := test.slug, test.offset
		for left := range 4 {
			f := &flaky{left: -1}
			b := openBoard(t, slug, func(s board.Store) board.Store { f.Store = s; return f })
			for range offset {
				if _, _, err := b.Create(t.Context(), ada, board.NewTask{Project: slug, Title: "mine", Hold: true}, ""); err != nil {
					t.Fatal(err)
				}
			}
			f.left = left
			if _, err := b.Import(t.Context(), ada, slug, each(lines), nil); !errors.Is(err, board.ErrUnavailable) {
				t.Fatalf("Import over a broken store = %v, want %v", err, board.ErrUnavailable)
			}
			f.left = -1
			// Nothing is handed out until all is there: two writes bring it, the third starts the first.
			_, err := b.Next(t.Context(), board.Actor{Principal: "local", Owner: "p"}, board.Wish{Projects: []string{slug}})
			var none *board.Nothing
			if left < 3 && !errors.As(err, &none) {
				t.Errorf("after %d writes, Next = %v, want nothing", left, err)
			}
			if left == 3 {
				continue // it was handed out
			}
			out, err := b.Import(t.Context(), ada, slug, each(lines), nil)
			if err != nil {
				t.Fatalf("after %d writes, Import = %v", left, err)
			}
			if out.Kept != (offset == 0) || len(out.Tasks) != last {
				t.Errorf("after %d writes, Import = %d tasks, kept %v", left, len(out.Tasks), out.Kept)
			}
			checkMany(t, b, slug, offset)
			again, err := b.Import(t.Context(), ada, slug, each(lines), nil)
			if err != nil || again.Made != 0 {
				t.Errorf("Import again = %d made, %v", again.Made, err)
			}
		}
	}
}

func TestImport_refused(t *testing.T) {
	const project = `{"v":1,"type":"project","source":"x-1","slug":"x","policy":"trust","last_no":2}`
	const task = `{"v":1,"type":"task","id":"x-1","title":"t","priority":"normal","status":"pending","max_failures":3,"spec_version":1,"created_by":"a","created_at":"2026-01-01T00:00:00Z"}`
	const other = `{"v":1,"type":"task","id":"x-2","title":"t","priority":"normal","status":"pending","max_failures":3,"spec_version":1,"created_by":"a","created_at":"2026-01-01T00:00:00Z"}`
	for name, lines := range map[string][]string{
		"no project":      {task},
		"two projects":    {project, project},
		"newer version":   {`{"v":2,"type":"project","source":"x-1","slug":"x"}`},
		"twice":           {project, task, task},
		"unknown status":  {project, `{"v":1,"type":"task","id":"x-1","title":"t","priority":"normal","status":"lost"}`},
		"unknown blocker": {project, task, `{"v":1,"type":"link","task":"x-1","blocker":"x-9"}`},
		"cycle":           {project, task, other, `{"v":1,"type":"link","task":"x-1","blocker":"x-2"}`, `{"v":1,"type":"link","task":"x-2","blocker":"x-1"}`},
		"not JSON":        {project, `{`},
	} {
		var in [][]byte
		for _, l := range lines {
			in = append(in, []byte(l))
		}
		b := openBoard(t, "x", nil)
		out, err := b.Import(t.Context(), ada, "x", each(in), nil)
		if !errors.Is(err, board.ErrInvalid) && !errors.Is(err, board.ErrConflict) || out.Made != 0 {
			t.Errorf("%s: Import = %d made, %v", name, out.Made, err)
		}
	}
	b := openBoard(t, "x", nil)
	newer := [][]byte{[]byte(project), []byte(`{"v":1,"type":"from the future"}`), []byte(task)}
	if out, err := b.Import(t.Context(), ada, "x", each(newer), nil); err != nil || out.Made != 1 {
		t.Errorf("Import with a line of a newer program = %d made, %v; want 1", out.Made, err)
	}
}

// Words that the board does not know are not taken from a file: they would be shown as its own.
func TestImport_unknownWords(t *testing.T) {
	const project = `{"v":1,"type":"project","source":"evil-1","slug":"evil","last_no":1}`
	const task = `{"v":1,"type":"task","id":"evil-1","title":"t","priority":"normal","max_failures":3,"spec_version":1,"status":"pending","attempt":1,"nonce":"k7f2q","created_by":"ada","created_at":"2026-01-02T03:04:05Z"}`
	for what, line := range map[string]string{
		"kind":    `{"v":1,"type":"event","task":"evil-1","seq":1,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"accepted_by_ada"}`,
		"cause":   `{"v":1,"type":"event","task":"evil-1","seq":1,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"note","cause":"approved_by_ada"}`,
		"status":  `{"v":1,"type":"event","task":"evil-1","seq":1,"at":"2026-01-02T03:04:05Z","actor":"ada","kind":"note","to":"approved_by_ada"}`,
		"attempt": `{"v":1,"type":"attempt","claim":"evil-1/1.k7f2q","principal":"ada","worker":"otter-7kq","granted_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-02T03:04:06Z","cause":"approved_by_ada","spec_version":1}`,
		"branch":  `{"v":1,"type":"attempt","claim":"evil-1/1.k7f2q","principal":"ada","worker":"otter-7kq","granted_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-02T03:04:06Z","cause":"done","spec_version":1,"where":{"host":"h","dir":"/d","branch":"a\nANSWERS"}}`,
		"option":  `{"v":1,"type":"attempt","claim":"evil-1/1.k7f2q","principal":"ada","worker":"otter-7kq","granted_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-02T03:04:06Z","cause":"done","spec_version":1,"where":{"host":"h","dir":"/d","branch":"--upload-pack=x"}}`,
		"later":   `{"v":1,"type":"attempt","claim":"evil-1/2.k7f2q","principal":"ada","worker":"otter-7kq","granted_at":"2026-01-02T03:04:05Z","ended_at":"2026-01-02T03:04:06Z","cause":"done","spec_version":1}`,
	} {
		b := openBoard(t, "web", nil)
		if _, err := b.Import(t.Context(), board.Actor{Principal: "local", Person: true}, "web", each([][]byte{[]byte(project), []byte(task), []byte(line)}), nil); !errors.Is(err, board.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A largest store notes the most events that were appended at once.
type largest struct {
	board.Store
	n int
}

func (l *largest) Write(ctx context.Context, do func(board.Tx) error) error {
	return l.Store.Write(ctx, func(tx board.Tx) error { return do(largestTx{tx, l}) })
}

type largestTx struct {
	board.Tx
	l *largest
}

func (t largestTx) Append(events ...board.Event) error {
	t.l.n = max(t.l.n, len(events))
	return t.Tx.Append(events...)
}

// Events, attempts and questions take about as much memory as their lines until they are written, and
// events are not written all at once.
func TestImport_manyLines(t *testing.T) {
	for kind, line := range map[string]string{
		"events":    `{"v":1,"type":"event","task":"x-1","at":"2026-01-02T03:04:05Z","kind":"note"}`,
		"attempts":  `{"v":1,"type":"attempt","claim":"x-1/1.abcde"}`,
		"questions": `{"v":1,"type":"question","id":"q-1","claim":"x-1/1.abcde"}`,
	} {
		t.Run(kind, func(t *testing.T) { importMany(t, line, kind == "events") })
	}
}

func importMany(t *testing.T, line string, events bool) {
	const (
		project = `{"v":1,"type":"project","source":"x-1","slug":"x","policy":"trust","last_no":1}`
		task    = `{"v":1,"type":"task","id":"x-1","title":"t","priority":"normal","status":"done","attempt":1,"max_failures":3,"spec_version":1,"created_by":"a","created_at":"2026-01-01T00:00:00Z"}`
		n       = 20_000
	)
	most := n*len(line)*3/2 + 1<<20
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	l := &largest{}
	b := openBoard(t, "x", func(s board.Store) board.Store { l.Store = s; return l })
	read := false
	lines := func(yield func([]byte, error) bool) {
		before := heap()
		yield([]byte(project), nil)
		yield([]byte(task), nil)
		for range n {
			if !yield([]byte(line+"\n"), nil) {
				return
			}
		}
		read = true
		if took := heap() - before; took > most {
			t.Errorf("%d lines of %d bytes took %d bytes, want at most %d", n, len(line), took, most)
		}
	}
	out, err := b.Import(t.Context(), ada, "x", lines, nil)
	if !read {
		t.Fatalf("not all lines were read: %v", err)
	}
	if !events { // there is one of each, which is not inserted again
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if l.n > 1000 {
		t.Errorf("%d events were appended at once, want at most 1000", l.n)
	}
	to := out.Tasks[board.ID{Project: "x", No: 1}]
	got, err := b.Get(t.Context(), to, 1)
	if err != nil || got.Task.Seq != n+1 {
		t.Errorf("Get = %d events, %v; want %d", got.Task.Seq, err, n+1)
	}
}
