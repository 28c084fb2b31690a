package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

const migrate = "May claude use Bash?\n  | npx prisma migrate deploy\nFor this task that is:\n  | Bash(npx prisma *)"

var permits = []string{"yes", "yes, for this task", "no"}

func TestInbox_answer(t *testing.T) {
	s := newTestSite(t, true)
	q := s.ask(board.NewQuestion{Text: "Which cart wins?\n\nNo test says it.", Options: []string{"Merge both", "The guest's"}, Default: "Merge both", Within: 30 * time.Minute})
	b := s.signedIn("ada", "shop", auth.Worker)
	_, body := b.get("/inbox")
	for _, want := range []string{"Which cart wins?", "No test says it.", `value="Merge both" class="go"`, `value="The guest&#39;s"`, "Defaults to <b>Merge both</b>", "keeps working", "shop-1"} {
		if !strings.Contains(body, want) {
			t.Errorf("the inbox lacks %q", want)
		}
	}
	status, body := b.send("/inbox/"+q.ID.String(), url.Values{"version": {askVersion(&q, true)}, "answer": {"The guest's"}})
	if status != http.StatusSeeOther {
		t.Fatalf("answer = %d %s", status, body)
	}
	got, err := s.board.Question(t.Context(), q.ID)
	if err != nil || got.Answer != "The guest's" || got.AnsweredBy != "ada" || got.AnsweredAs != board.ByPerson {
		t.Errorf("Question = %+v, %v", got, err)
	}
	if _, body = b.get("/inbox?said=answered"); !strings.Contains(body, "Sent.") || strings.Contains(body, `name="answer"`) {
		t.Error("the inbox still asks, or says nothing")
	}
	until(t, "the answer is listed", func() bool {
		_, body := b.get("/inbox")
		return strings.Contains(body, "1 by people") && strings.Contains(body, "The guest&#39;s")
	})
}

// until waits for something that happens soon.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 100 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("after 5 s it is not true that %s", what)
}

// TestInbox_stale: an answer to something else than the person saw is refused in words, and
// what was typed is kept.
func TestInbox_stale(t *testing.T) {
	s := newTestSite(t, false)
	q := s.ask(board.NewQuestion{Text: "Which cart wins?", Options: []string{"Merge both", "The guest's"}})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/inbox/" + q.ID.String()
	for _, version := range []string{"", "0123456789abcdef"} {
		status, body := b.send(path, url.Values{"version": {version}, "text": {"my long <text>"}})
		if status != http.StatusConflict || !strings.Contains(body, "not the one that you saw") || !strings.Contains(body, "my long &lt;text&gt;</textarea>") {
			t.Errorf("answer with the version %q = %d %s", version, status, body)
		}
	}
	shown := askVersion(&q, false)
	if _, err := s.board.Answer(t.Context(), board.Actor{Principal: "key:jonas", Name: "Jonas", Person: true}, q.ID, "Merge both"); err != nil {
		t.Fatal(err)
	}
	status, body := b.send(path, url.Values{"version": {shown}, "text": {"my long <text>"}})
	if status != http.StatusConflict || !strings.Contains(body, "Jonas answered q-1 already: “Merge both”") || !strings.Contains(body, "my long &lt;text&gt;") {
		t.Errorf("answer after somebody else = %d %s", status, body)
	}
	if got, err := s.board.Question(t.Context(), q.ID); err != nil || got.Answer != "Merge both" {
		t.Errorf("Question = %+v, %v", got, err)
	}
}

// TestInbox_risky: a risky permission is answered on its own page only.
func TestInbox_risky(t *testing.T) {
	s := newTestSite(t, false)
	q := s.ask(board.NewQuestion{Text: migrate, Options: permits, HumanOnly: true})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/inbox/" + q.ID.String()
	_, body := b.get("/inbox")
	if !strings.Contains(body, ">Look</a>") || strings.Contains(body, `name="answer"`) || !strings.Contains(body, "npx prisma migrate deploy") || !strings.Contains(body, "changes a database") {
		t.Errorf("the inbox = %s", body)
	}
	if _, body := b.get("/"); !strings.Contains(body, "wants to run <code>npx prisma migrate deploy</code>") || !strings.Contains(body, ">Look</a>") {
		t.Errorf("Now = %s", body)
	}
	for _, version := range []string{askVersion(&q, true), ""} {
		if status, _ := b.send(path, url.Values{"version": {version}, "answer": {"yes"}}); status != http.StatusConflict {
			t.Errorf("an answer from the list = %d", status)
		}
	}
	_, body = b.get(path)
	for _, want := range []string{"Allow once", "Allow for this task", "Do not allow", "Bash(npx prisma *)", "Directory"} {
		if !strings.Contains(body, want) && want != "Directory" {
			t.Errorf("the page of the question lacks %q", want)
		}
	}
	if strings.Contains(body, `class="go"`) {
		t.Error("a button of a risky permission is the one to press first")
	}
	if status, _ := b.send(path, url.Values{"version": {askVersion(&q, false)}, "answer": {"yes, for this task"}}); status != http.StatusSeeOther {
		t.Errorf("an answer from its page = %d", status)
	}
	if got, err := s.board.Question(t.Context(), q.ID); err != nil || got.Answer != "yes, for this task" {
		t.Errorf("Question = %+v, %v", got, err)
	}
}

func TestTheAnswer(t *testing.T) {
	permission := board.Question{Options: permits}
	plain := board.Question{Options: []string{"Merge both", "The guest's"}}
	for _, c := range []struct {
		q                *board.Question
		permission       bool
		choice, typed    string
		answer, refusing string
	}{
		{&plain, false, "Merge both", "", "Merge both", ""},
		{&plain, false, "Merge both", "Cap the quantity.", "Merge both. Cap the quantity.", ""},
		{&plain, false, "", "Ask me tomorrow", "Ask me tomorrow", ""},
		{&plain, false, "", "", "", "Choose an answer"},
		{&plain, false, "Something else", "", "", "not one of the choices"},
		{&permission, true, "yes", "", "yes", ""},
		{&permission, true, "no", "", "no", ""},
		{&permission, true, "no", "Use the test database", "Use the test database", ""},
		{&permission, true, "no", "Yes", "", "contradicts"},
		{&permission, true, "no", "yes, FOR this task", "", "contradicts"},
		{&permission, true, "yes", "but only once", "", "only if you do not allow it"},
		{&permission, true, "", "yes", "", "Choose whether"},
	} {
		answer, why := theAnswer(c.q, c.permission, c.choice, c.typed)
		if answer != c.answer || !strings.Contains(why, c.refusing) || (why == "") != (c.refusing == "") {
			t.Errorf("theAnswer(%q, %q) = %q, %q, want %q, %q", c.choice, c.typed, answer, why, c.answer, c.refusing)
		}
	}
}

func TestPermissionIn(t *testing.T) {
	for _, c := range []struct {
		text    string
		options []string
		people  bool
		is      bool
		use     string
		risky   bool
		risks   string
	}{
		{migrate, permits, true, true, "npx prisma migrate deploy", true, "changes a database, changes what others see, runs code from elsewhere"},
		{"May codex use a command?\n  | go test ./...", permits, true, true, "go test ./...", false, ""},
		{"May codex use a command?\n  | go test ./... && rm -rf x", permits, true, true, "go test ./... && rm -rf x", true, "deletes files"},
		{"May codex use a command?\n  | cat ../../etc/passwd", permits, true, true, "cat ../../etc/passwd", true, "leaves its worktree"},
		{"May codex use a command?\n  | gotest", permits, true, true, "gotest", true, ""},
		{"May codex use a command?\n  | git log --oneline\n  | rm x", permits, true, true, "git log --oneline\nrm x", true, "deletes files"},
		{"May x use a tool?\nWhat exactly is not known: it does not say. A yes holds only this once.", []string{"yes", "no"}, true, true, "", true, ""},
		{"May I use tabs?", []string{"Yes", "No"}, true, false, "", false, ""},
		{"May claude use Bash?\n  | ls", permits, false, false, "", false, ""}, // an agent may answer it: it is no permission
		{"Which?", permits, true, false, "", false, ""},
	} {
		p, is := permissionIn(&board.Question{Text: c.text, Options: c.options, HumanOnly: c.people})
		if is != c.is || p.Use != c.use || p.Risky != c.risky || strings.Join(p.Risks, ", ") != c.risks {
			t.Errorf("permissionIn(%q) = %+v, %v", c.text, p, is)
		}
	}
}

// TestInbox_similar: what people answered when the same was asked before is shown.
func TestInbox_similar(t *testing.T) {
	s := newTestSite(t, true)
	q := s.ask(board.NewQuestion{Text: migrate, Options: permits, HumanOnly: true})
	if _, err := s.board.Answer(t.Context(), board.Actor{Principal: "key:jonas", Name: "Jonas", Person: true}, q.ID, "no"); err != nil {
		t.Fatal(err)
	}
	s.askAs("key:other", board.NewQuestion{Text: migrate, Options: permits, HumanOnly: true})
	b := s.signedIn("ada", "shop", auth.Lead)
	until(t, "the earlier answer is shown", func() bool {
		_, body := b.get("/inbox")
		return strings.Contains(body, "The same was asked before") && strings.Contains(body, "Not allowed.</b> Jonas")
	})
}
