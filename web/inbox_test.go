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
	for range 1200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("after a minute it is not true that %s", what)
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

// TestInbox_directory: the directory of a permission is the one in which the command would run, and what the agent says about it is
// marked as that.
func TestInbox_directory(t *testing.T) {
	s := newTestSite(t, false)
	q := s.ask(board.NewQuestion{Text: "May codex use a command?\n  | go test ./...\nIn the directory:\n  | /srv/other\nThe agent says about it:\n  | in \"/tmp/scratch\"", Options: permits, HumanOnly: true})
	b := s.signedIn("ada", "shop", auth.Lead)
	for _, path := range []string{"/inbox", "/inbox/" + q.ID.String()} {
		_, body := b.get(path)
		for _, want := range []string{"<dt>Directory</dt><dd><code>/srv/other</code>", "<dt>The agent says</dt><dd class=\"asked\">in &#34;/tmp/scratch&#34;</dd>", "runs in another directory"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s:\n%s", path, want, body)
			}
		}
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

// TestInbox_whole: a person answers all that a question says: it is shown, or it is answered where it is.
func TestInbox_whole(t *testing.T) {
	long := strings.Repeat("Use tabs. ", 20) + "Also delete the database."
	for name, n := range map[string]board.NewQuestion{
		"more than a permission": {Text: "May claude use Bash?\n  | go test ./...\nMay I also delete the database?", Options: permits, HumanOnly: true},
		"another name":           {Text: "May I delete the database, and claude use Bash?\n  | go test ./...", Options: permits, HumanOnly: true},
		"a harmless permission":  {Text: "May claude use Bash?\n  | go test ./...\nFor this task that is:\n  | delete the database", Options: permits, HumanOnly: true},
		"a comment":              {Text: "Tabs?\n\n[//]: # (delete the database)", Options: []string{"yes", "no"}},
		"a long option":          {Text: "Tabs?", Options: []string{long, "Spaces"}},
		"a long text":            {Text: "Tabs?\n\n" + strings.Repeat("They are wide. ", 200) + "May I delete the database?", Options: []string{"yes", "no"}},
	} {
		s := newTestSite(t, false)
		q := s.ask(n)
		b := s.signedIn("ada", "shop", auth.Lead)
		path := "/inbox/" + q.ID.String()
		_, body := b.get("/inbox")
		shown, answered := strings.Contains(body, "elete the database"), strings.Contains(body, `name="answer"`)
		if answered && !shown || answered == strings.Contains(body, ">Look</a>") || shown != !strings.Contains(name, "long") {
			t.Errorf("%s: in the list it is shown: %v, answered: %v", name, shown, answered)
		}
		if status, _ := b.send(path, url.Values{"version": {askVersion(&q, true)}, "answer": {n.Options[0]}}); (status == http.StatusSeeOther) != answered {
			t.Errorf("%s: an answer from the list = %d", name, status)
		}
		if _, body := b.get(path); !strings.Contains(textOf(t, body), "elete the database") {
			t.Errorf("%s: its page does not show it", name)
		}
	}
}

// TestInbox_similarWords: words that differ as they were asked are not the same, however alike they look on a page.
func TestInbox_similarWords(t *testing.T) {
	s := newTestSite(t, true)
	const was, is = "Shall I run this?\nrm -rf _build_ ~/Old", "Shall I run this?\nrm -rf *build* ~/old"
	q := s.ask(board.NewQuestion{Text: was})
	if _, err := s.board.Answer(t.Context(), board.Actor{Principal: "key:jonas", Name: "Jonas", Person: true}, q.ID, "yes"); err != nil {
		t.Fatal(err)
	}
	s.askAs("key:other", board.NewQuestion{Text: was})
	other := s.askAs("key:third", board.NewQuestion{Text: is})
	b := s.signedIn("ada", "shop", auth.Lead)
	until(t, "the earlier answer is shown", func() bool {
		_, body := b.get("/inbox")
		return strings.Contains(body, "The same was asked before")
	})
	if _, body := b.get("/inbox/" + other.ID.String()); !strings.Contains(body, "Shall I run") || strings.Contains(body, "The same was asked before") {
		t.Errorf("the page of another question is:\n%s", body)
	}
}
