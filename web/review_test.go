package web

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

var (
	reviewTip  = board.Tip{Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40), Base: strings.Repeat("c", 40)}
	testPerson = board.Actor{Principal: "key:boss", Owner: "key:boss", Name: "boss", Person: true}
)

// plainDiff is a diff of one file.
func plainDiff() board.Diff {
	return board.Diff{Base: reviewTip.Base, Tip: reviewTip.Commit, Files: []board.FileDiff{{
		Path: "src/cart/total.ts", Kind: "M", Added: 2, Removed: 1,
		Patch: "@@ -10,3 +10,4 @@ function total\n \tconst lines = cart.lines;\n-\treturn round(sum(lines));\n+\tconst net = sum(lines);\n+\treturn roundLine(sum(lines));\n }\n",
	}}}
}

// work takes the next task of the shop and reports it as done.
func (s *testSite) work(worker string, r board.Report) board.Outcome {
	s.t.Helper()
	agent := board.Actor{Principal: "key:" + worker, Owner: "p-" + worker}
	h, err := s.board.Next(s.t.Context(), agent, board.Wish{Projects: []string{"shop"}})
	if err != nil {
		s.t.Fatal(err)
	}
	agent.Worker = h.Claim.Worker.Name
	if r.Summary == "" {
		r.Summary = "It rounds per line."
	}
	r.Tip = reviewTip
	out, err := s.board.Done(s.t.Context(), agent, h.Claim.Handle, r)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// inReview puts a task with some work into review.
func (s *testSite) inReview(r board.Report) board.ID {
	s.t.Helper()
	t, _, err := s.board.Create(s.t.Context(), testPerson, board.NewTask{Project: "shop", Title: "Round per line", Acceptance: "A test shows it."}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	if out := s.work("crew", r); out.Status != board.InReview {
		s.t.Fatalf("the task is %v", out.Status)
	}
	return t.ID
}

// hidden returns the value of the hidden field of a page.
func hidden(t *testing.T, body, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="`+name+`" value="`)
	if !ok {
		t.Fatalf("the page has no field %s", name)
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func (s *testSite) status(id board.ID) board.Task {
	s.t.Helper()
	d, err := s.board.Get(s.t.Context(), id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return d.Task
}

func TestReview_accept(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{Diff: plainDiff()})
	b := s.signedIn("ada", "shop", auth.Lead)
	_, list := b.get("/review")
	if !strings.Contains(list, "Round per line") || !strings.Contains(list, "/review/"+id.String()) {
		t.Errorf("the list lacks the task: %s", list)
	}
	path := "/review/" + id.String()
	status, body := b.get(path)
	if status != http.StatusOK {
		t.Fatalf("GET %s = %d", path, status)
	}
	for _, want := range []string{"total.ts", `<ins>roundLine</ins>`, `<del>round</del>`, "It rounds per line.", "A test shows it.", "Accept"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	form := url.Values{"verdict": {"accept"}, "attempt": {hidden(t, body, "attempt")}, "seen": {hidden(t, body, "seen")}}
	if status, body := b.send(path, form); status != http.StatusSeeOther {
		t.Fatalf("POST = %d %s", status, body)
	}
	if got := s.status(id).Status; got != board.Done {
		t.Errorf("the task is %v", got)
	}
	if status, body := b.send(path, form); status != http.StatusConflict || !strings.Contains(body, "Not sent.") {
		t.Errorf("the same again = %d", status)
	}
}

// TestReview_unseen: nobody accepts over a comment or a newer attempt that the page did not
// show.
func TestReview_unseen(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{Diff: plainDiff()})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/review/" + id.String()
	_, body := b.get(path)
	accept := func(body string) url.Values {
		return url.Values{"verdict": {"accept"}, "attempt": {hidden(t, body, "attempt")}, "seen": {hidden(t, body, "seen")}}
	}
	if err := s.board.Comment(t.Context(), testPerson, id, []board.Comment{{File: "src/cart/total.ts", Line: 11, Text: "An empty cart?"}}); err != nil {
		t.Fatal(err)
	}
	status, refused := b.send(path, accept(body))
	if status != http.StatusConflict || !strings.Contains(refused, "An empty cart?") || !strings.Contains(refused, "has commented") {
		t.Errorf("accept over a comment = %d", status)
	}
	stale := accept(refused)
	if status, body := b.send(path, url.Values{"verdict": {"reject"}, "attempt": stale["attempt"], "note": {""}}); status != http.StatusSeeOther {
		t.Fatalf("send back with the comment alone = %d %s", status, body)
	}
	if out := s.work("other", board.Report{Diff: plainDiff()}); out.Task != id || out.Status != board.InReview {
		t.Fatalf("the second attempt: %+v", out)
	}
	for _, verdict := range []string{"accept", "reject"} {
		stale.Set("verdict", verdict)
		stale.Set("note", "Keep my words.")
		status, body := b.send(path, stale)
		if status != http.StatusConflict || !strings.Contains(body, "You looked at attempt 1, and this is attempt 2.") || !strings.Contains(body, "Keep my words.") {
			t.Errorf("%s of an attempt that is over = %d", verdict, status)
		}
	}
	if got := s.status(id); got.Status != board.InReview || got.Attempt != 2 {
		t.Errorf("the task is %v at attempt %d", got.Status, got.Attempt)
	}
	_, past := b.get(path + "?attempt=1")
	if !strings.Contains(past, "An empty cart?") || strings.Contains(past, `name="verdict"`) {
		t.Error("the page of the first attempt lacks its comment, or asks for a verdict")
	}
}

func TestReview_sendBack(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{Diff: plainDiff()})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/review/" + id.String()
	_, body := b.get(path)
	attempt := hidden(t, body, "attempt")
	status, body := b.send(path, url.Values{"verdict": {"reject"}, "attempt": {attempt}})
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "Say what has to change") {
		t.Errorf("send back without a word = %d", status)
	}
	_, body = b.get(path + "?on=1.12")
	if !strings.Contains(body, "Comment on line 12") || !strings.Contains(body, `name="file" value="src/cart/total.ts"`) {
		t.Errorf("the page has no form for line 12: %s", body)
	}
	for i, text := range []string{"Vouchers come off later.", "This belongs in the config."} {
		form := url.Values{"act": {"comment"}, "attempt": {attempt}, "file": {"src/cart/total.ts"}, "line": {fmt.Sprint(11 + i)}, "text": {text}}
		resp, body := b.do(http.MethodPost, path, withToken(b, form))
		if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != fmt.Sprintf("%s#c%d", path, i+1) {
			t.Fatalf("comment = %d to %q: %s", resp.StatusCode, resp.Header.Get("Location"), body)
		}
	}
	if status, body := b.send(path, url.Values{"act": {"comment"}, "attempt": {"7"}, "file": {"x"}, "text": {"Too late."}}); status != http.StatusConflict || !strings.Contains(body, "Too late.") {
		t.Errorf("a comment on another attempt = %d", status)
	}
	_, body = b.get(path)
	if !strings.Contains(body, "Send back with 2 comments") || !strings.Contains(body, "Vouchers come off later.") {
		t.Error("the page lacks the comments")
	}
	if status, _ := b.send(path, url.Values{"verdict": {"reject"}, "attempt": {attempt}}); status != http.StatusSeeOther {
		t.Fatalf("send back = %d", status)
	}
	h, err := s.board.Next(t.Context(), board.Actor{Principal: "key:next", Owner: "p-next"}, board.Wish{Projects: []string{"shop"}})
	if err != nil || h.Task.ID != id {
		t.Fatalf("Next = %+v, %v", h, err)
	}
	d, err := s.board.Get(t.Context(), id, 50)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.Events, func(e board.Event) bool { return e.Kind == board.EventRejected && len(e.Detail.Comments) == 2 }) {
		t.Error("the next attempt does not get the comments")
	}
}

func withToken(b *browser, form url.Values) url.Values {
	form.Set("token", formToken(b.session()))
	return form
}

func TestReview_return(t *testing.T) {
	s := newTestSite(t, false)
	if err := s.board.SetLand(t.Context(), testPerson, "shop", "main"); err != nil {
		t.Fatal(err)
	}
	id := s.inReview(board.Report{Diff: plainDiff()})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/review/" + id.String()
	_, body := b.get(path)
	if !strings.Contains(body, "Accept and land") {
		t.Error("the page does not say that the work lands")
	}
	resp, _ := b.do(http.MethodPost, path, withToken(b, url.Values{"verdict": {"accept"}, "attempt": {"1"}, "seen": {hidden(t, body, "seen")}}))
	if got := resp.Header.Get("Location"); got != "/review?said=queued" {
		t.Fatalf("accept leads to %q", got)
	}
	_, body = b.get(path)
	if !strings.Contains(body, "Return from the queue") {
		t.Fatal("the page offers no return")
	}
	if status, _ := b.send(path, url.Values{"act": {"return"}, "attempt": {"1"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a return without a reason = %d", status)
	}
	if status, body := b.send(path, url.Values{"act": {"return"}, "attempt": {"9"}, "note": {"No."}}); status != http.StatusConflict {
		t.Errorf("a return of another attempt = %d %s", status, body)
	}
	if status, body := b.send(path, url.Values{"act": {"return"}, "attempt": {"1"}, "note": {"Wait for the release."}}); status != http.StatusSeeOther {
		t.Fatalf("return = %d %s", status, body)
	}
	if got := s.status(id).Status; got != board.Pending {
		t.Errorf("the task is %v", got)
	}
}

func TestReview_roles(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{Diff: plainDiff()})
	path := "/review/" + id.String()
	for role := auth.Viewer; role <= auth.Admin; role++ {
		b := s.signedIn("p"+role.String(), "shop", role)
		status, body := b.get(path)
		if may := role >= auth.Lead; status != http.StatusOK || strings.Contains(body, `name="verdict"`) != may || strings.Contains(body, "talkon") != may {
			t.Errorf("GET as %v = %d, it offers forms: %v", role, status, !may)
		}
		for _, form := range []url.Values{
			{"verdict": {"accept"}, "attempt": {"1"}},
			{"act": {"comment"}, "attempt": {"1"}, "file": {"x"}, "text": {"x"}},
			{"act": {"return"}, "attempt": {"1"}, "note": {"x"}},
		} {
			if status, _ := b.send(path, form); role < auth.Lead && status != http.StatusForbidden {
				t.Errorf("POST %v as %v = %d", form, role, status)
			}
			if status, _ := b.post(path, form); status != http.StatusForbidden && role >= auth.Lead {
				form.Set("token", "AAAA")
				if status, _ := b.post(path, form); status != http.StatusForbidden {
					t.Errorf("POST %v without a valid token = %d", form, status)
				}
			}
		}
	}
	if got := s.status(id).Status; got != board.InReview {
		t.Errorf("the task is %v", got)
	}
	for _, other := range []string{"/review/api-1", "/review/nonsense", path + "?attempt=99"} {
		if status, _ := s.signedIn("ada", "shop", auth.Admin).get(other); status != http.StatusNotFound {
			t.Errorf("GET %s = %d", other, status)
		}
	}
}

func TestReview_withheld(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{Diff: board.Diff{Base: reviewTip.Base, Tip: reviewTip.Commit, Withheld: true}, Where: board.Where{Branch: "bossman/shop-1", Host: "build1"}})
	b := s.signedIn("ada", "shop", auth.Lead)
	_, body := b.get("/review/" + id.String())
	if !strings.Contains(body, "[review] diff = false") || !strings.Contains(body, `name="verdict"`) || !strings.Contains(body, `name="place"`) {
		t.Errorf("the page of a withheld diff: %s", body)
	}
	if status, _ := b.send("/review/"+id.String(), url.Values{"act": {"comment"}, "attempt": {"1"}, "place": {"main.go:31"}, "text": {"What if it is empty?"}}); status != http.StatusSeeOther {
		t.Errorf("a comment on a place = %d", status)
	}
	d, err := s.board.Get(t.Context(), id, 0)
	if err != nil || len(d.Doc.Result.Comments) != 1 || d.Doc.Result.Comments[0].Line != 31 || d.Doc.Result.Comments[0].File != "main.go" {
		t.Errorf("the comment is %+v, %v", d.Doc.Result, err)
	}
}

// TestReview_bounded: pages of long diffs stay small, and every line can be reached.
func TestReview_bounded(t *testing.T) {
	s := newTestSite(t, false)
	d := board.Diff{Base: reviewTip.Base, Tip: reviewTip.Commit, More: 40}
	var long strings.Builder
	long.WriteString("@@ -0,0 +1,9000 @@\n")
	for i := range 9000 {
		fmt.Fprintf(&long, "+l%d\n", i)
	}
	d.Files = append(d.Files, board.FileDiff{Path: "long.txt", Kind: "A", Added: 9000, Patch: long.String()})
	d.Files = append(d.Files, board.FileDiff{Path: "wide.txt", Kind: "A", Added: 1, Patch: "@@ -0,0 +1 @@\n+" + strings.Repeat("\u202e<", 15_000) + "\n"})
	for i := range 140 {
		d.Files = append(d.Files, board.FileDiff{Path: fmt.Sprintf("dir/%03d.go", i), Kind: "M", Added: 60, Patch: "@@ -1,60 +1,60 @@\n" + strings.Repeat("+\t<b>&\"quoted\"</b> some words of code here\n", 60)})
	}
	d.Files = append(d.Files, board.FileDiff{Path: "z/package-lock.json", Kind: "M", Added: 1, Patch: "@@ -1 +1 @@\n+{}\n"})
	id := s.inReview(board.Report{Diff: d})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/review/" + id.String()
	comments := make([]board.Comment, 100)
	for i := range comments {
		comments[i] = board.Comment{File: fmt.Sprintf("dir/%03d.go", i), Line: 3, Text: strings.Repeat("word <b> ", 440)}
	}
	if err := s.board.Comment(t.Context(), testPerson, id, comments); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range []string{path, path + "?first=60", path + "?first=120", path + "?file=2", path + "?file=100", path + "?first=99999"} {
		status, body := b.get(p)
		if status != http.StatusOK || len(body) > 200<<10 {
			t.Errorf("GET %s = %d with %d bytes", p, status, len(body))
		}
	}
	for p, n := path+"?file=1", 0; p != "" && n < 30; n++ {
		status, body := b.get(p)
		if status != http.StatusOK || len(body) > 200<<10 {
			t.Fatalf("GET %s = %d with %d bytes", p, status, len(body))
		}
		seen += strings.Count(body, "<tr class=\"a\">")
		p = ""
		if _, rest, ok := strings.Cut(body, `">Earlier</a>`); ok {
			body = rest
		}
		if before, _, ok := strings.Cut(body, `">Later</a>`); ok {
			p = html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
		}
	}
	if seen != 9000 {
		t.Errorf("the pages of the long file show %d of 9000 lines", seen)
	}
	_, body := b.get(path + "?first=120")
	if !strings.Contains(body, "Folded by its name alone") || !strings.Contains(body, "40 more files were changed") {
		t.Error("the last page does not say what is folded, or what is not named")
	}
}

// TestReview_whole: all of a line is shown, however long it is, and a page says if it does not show all files.
func TestReview_whole(t *testing.T) {
	s := newTestSite(t, false)
	long := "const table = \"" + strings.Repeat("ä", 3000) + "\"; steal(document.cookie)"
	d := board.Diff{Base: reviewTip.Base, Tip: reviewTip.Commit, Files: []board.FileDiff{
		{Path: "long.js", Kind: "A", Added: 2, Patch: "@@ -0,0 +1,2 @@\n+" + long + "\n+second\n"},
		{Path: "dist/setup.py", Kind: "A", Added: 1, Patch: "@@ -0,0 +1 @@\n+import os\n"},
	}}
	b := s.signedIn("ada", "shop", auth.Lead)
	_, body := b.get("/review/" + s.inReview(board.Report{Diff: d}).String())
	text := textOf(t, body)
	if !strings.Contains(text, "steal(document.cookie)") || strings.Count(text, "ä") != 3000 || !strings.Contains(text, "import os") || strings.Contains(text, "does not show all") {
		t.Errorf("the review = %s", body)
	}
	if !strings.Contains(body, `<td class="n">…</td>`) || !regexp.MustCompile(`on=1.2#say">2</a></td><td>second`).MatchString(body) {
		t.Errorf("the rows are not numbered by lines: %s", body)
	}
	d.Files = append(d.Files, board.FileDiff{Path: "vendor/x.py", Kind: "A", Added: 1, Patch: "@@ -0,0 +1 @@\n+import os\n"}, board.FileDiff{Path: "b", Kind: "A", Left: "binary", Size: 9})
	_, body = b.get("/review/" + s.inReview(board.Report{Diff: d}).String())
	if !strings.Contains(body, "This page does not show all of 2 of 4 files.") || strings.Contains(body, "Written by a program") {
		t.Errorf("the review = %s", body)
	}
}

// TestReview_address: whatever the address says, the page is shown and inert.
func TestReview_address(t *testing.T) {
	s := newTestSite(t, false)
	evil := `<script>alert(1)</script>`
	d := plainDiff()
	d.Files = append(d.Files, board.FileDiff{Path: "src/" + evil, From: evil, Kind: "R", Mode: "100755", Added: 1, Patch: "@@ -1 +1 @@ " + evil + "\n+" + evil + "\n\\ No newline at end of file\nstray " + evil + "\n"})
	id := s.inReview(board.Report{Summary: evil, Diff: d, Observed: []board.Evidence{{Kind: board.EvidenceTests, Ref: evil, Detail: evil + "\n" + evil}}})
	b := s.signedIn("ada", "shop", auth.Lead)
	for _, query := range []string{"", "on=2.1", "on=2", "on=9.9", "on=-1.x", "file=2", "file=2&from=99", "file=99", "first=1", "first=99999999999999", "on=1.12&file=1", "attempt=1", "on=" + url.QueryEscape(evil)} {
		status, body := b.get("/review/" + id.String() + "?" + query)
		if status != http.StatusOK {
			t.Errorf("GET with %q = %d", query, status)
		}
		checkInert(t, query, body)
	}
	_, body := b.get("/review/" + id.String() + "?on=2.1")
	if got := html.UnescapeString(hidden(t, body, "file")); got != "src/"+evil {
		t.Errorf("the form is about %q", got)
	}
	status, body := b.send("/review/"+id.String(), url.Values{"act": {"comment"}, "attempt": {"1"}, "file": {"src/" + evil}, "line": {"1"}, "text": {evil}})
	if status != http.StatusSeeOther {
		t.Errorf("the comment = %d %s", status, body)
	}
	_, body = b.get("/review/" + id.String())
	checkInert(t, "with the comment", body)
	status, body = b.send("/review/"+id.String(), url.Values{"act": {"comment"}, "attempt": {"9"}, "place": {evil}, "text": {evil}})
	checkInert(t, "a refused comment", body)
	if status != http.StatusConflict {
		t.Errorf("a comment on another attempt = %d", status)
	}
}

// TestReview_since: compared with an earlier attempt, files with the same change are folded.
func TestReview_since(t *testing.T) {
	s := newTestSite(t, false)
	d := plainDiff()
	d.Files = append(d.Files, board.FileDiff{Path: "other.ts", Kind: "M", Added: 1, Patch: "@@ -1 +1 @@\n+first words\n"})
	id := s.inReview(board.Report{Diff: d})
	b := s.signedIn("ada", "shop", auth.Lead)
	path := "/review/" + id.String()
	if status, _ := b.send(path, url.Values{"verdict": {"reject"}, "attempt": {"1"}, "note": {"No."}}); status != http.StatusSeeOther {
		t.Fatalf("send back = %d", status)
	}
	d.Files[1].Patch = "@@ -1 +1 @@\n+second words\n"
	s.work("other", board.Report{Diff: d})
	if _, body := b.get(path); !strings.Contains(body, "Since attempt 1") || !strings.Contains(body, "roundLine") {
		t.Error("the page offers no comparison with attempt 1")
	}
	_, body := b.get(path + "?since=1")
	if !strings.Contains(body, "As in attempt 1.") || strings.Contains(body, "roundLine") || !strings.Contains(body, "second words") || !strings.Contains(body, `name="verdict"`) {
		t.Errorf("the comparison with attempt 1: %s", body)
	}
	for _, since := range []string{"2", "9", "x"} {
		if _, body := b.get(path + "?since=" + since); !strings.Contains(body, "roundLine") {
			t.Errorf("since=%s hides a file", since)
		}
	}
}

// TestReview_included: whose other work is in it stands above the diff.
func TestReview_included(t *testing.T) {
	s := newTestSite(t, false)
	if err := s.board.SetLand(t.Context(), testPerson, "shop", "main"); err != nil {
		t.Fatal(err)
	}
	first := s.inReview(board.Report{Diff: plainDiff()})
	id := s.inReview(board.Report{Diff: plainDiff(), Includes: []board.Included{{Task: first, Commit: strings.Repeat("d", 40)}}})
	_, body := s.signedIn("ada", "shop", auth.Lead).get("/review/" + id.String())
	for _, want := range []string{"The work of " + first.String() + " is in it", "dddddddddd", "/review/" + first.String()} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestReview_dropped(t *testing.T) {
	s := newTestSite(t, false)
	id := s.inReview(board.Report{NoChanges: true, Observed: []board.Evidence{{Kind: board.EvidenceOther, Ref: board.DroppedRef, Detail: `commit 123 changed "list.go"`}}})
	_, body := s.signedIn("ada", "shop", auth.Lead).get("/review/" + id.String())
	if !strings.Contains(body, "Work of this task is dropped:") || !strings.Contains(body, `commit 123 changed &#34;list.go&#34;`) || strings.Contains(body, "It changed nothing in git.") {
		t.Errorf("the page does not say what is dropped: %s", body)
	}
}

func TestMarkWords(t *testing.T) {
	for _, c := range []struct{ before, after, was, is string }{
		{"return round(sum(lines));", "return roundLine(sum(lines));", "return [round](sum(lines));", "return [roundLine](sum(lines));"},
		{"a b c", "a x y c", "a [b] c", "a [x y] c"},
		{"same", "same", "same", "same"},
		{"", "new", "", "[new]"},
		{"größer ändert", "größe ändert", "[größer] ändert", "[größe] ändert"},
	} {
		was, is := markWords(c.before, c.after)
		show := func(list []part) (s string) {
			for _, p := range list {
				if p.Mark != "" {
					s += "[" + p.Text + "]"
				} else {
					s += p.Text
				}
			}
			return s
		}
		if show(was) != c.was || show(is) != c.is {
			t.Errorf("markWords(%q, %q) = %q, %q", c.before, c.after, show(was), show(is))
		}
	}
}

// FuzzDiff: every patch, which is any client's word, is shown line by line without a loss.
func FuzzDiff(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@ x\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("+++\n---\n@@ -999999999 +1 @@\n+\n-")
	f.Add(strings.Repeat("-a b\n+a c\n", 40))
	f.Add("@@ -1 +1 @@\n+" + strings.Repeat("ä\xae", maxLineText) + "\n-b\n")
	f.Fuzz(func(t *testing.T, patch string) {
		v := &diffView{pairs: maxMarkPairs}
		lines, got := v.mark(parsePatch(patch)), 0
		for _, l := range lines {
			if !l.goesOn {
				got++
			}
			row, text := l.row(), ""
			for _, p := range row.Parts {
				text += p.Text
			}
			if text != l.text {
				t.Errorf("the parts of %q are %q", l.text, text)
			}
		}
		if want := strings.Count(strings.TrimSuffix(patch, "\n"), "\n") + 1; patch != "" && got != want {
			t.Errorf("%d lines, want %d", got, want)
		}
	})
}
