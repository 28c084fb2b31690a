package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// hostile are texts that break out of their place if a page lets them.
var hostile = []string{
	`<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`,
	`'><svg onload=alert(1)>`,
	`</textarea><script>alert(1)</script>`,
	`</title><script>alert(1)</script>`,
	`javascript:alert(1)`,
	`[click](javascript:alert(1)) [x](data:text/html,<script>alert(1)</script>) ![i](https://evil.example/pixel.png)`,
	`<a href="https://evil.example" onclick="alert(1)">x</a>`,
	`<iframe srcdoc="<script>alert(1)</script>"></iframe><form action="https://evil.example"><button>x</button></form>`,
	`<style>body{display:none}</style><base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example">`,
	`{{.Token}} ${alert(1)} <%= 1 %> <!-- --> ]]> &lt;script&gt;`,
	"bidi \u202egnp.exe\u202c zero\u200bwidth \u2066x\u2069 \x1b[2J \U000e0041",
	"# heading\n\n<div id=main>x</div>\n\n```js onerror=x\nalert(1)\n```\n\n<details open ontoggle=alert(1)>\n\n| a |\n|---|\n| <b onmouseover=alert(1)>x</b> |",
	`<math><mtext></p><style><img src=1 onerror=alert(1)></style></mtext></math>`,
	`" autofocus onfocus=alert(1) x="`,
}

// hostileText is one of the texts, marked so that it can be found in a page.
func hostileText(i int) string { return fmt.Sprintf("mark%d %s", i, hostile[i%len(hostile)]) }

// fillHostile puts hostile text into every field that somebody else can write, in tasks of
// every state. It is done once for each text.
func (s *testSite) fillHostile() {
	s.t.Helper()
	ctx := s.t.Context()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	person := board.Actor{Principal: "local", Name: `<b onclick=x>Mallory</b>`, Person: true}
	must(s.board.SetProject(ctx, board.Project{Slug: "shop", Name: hostile[0], Policy: board.PolicyPerson}))
	must(s.board.SetLand(ctx, person, "shop", "main"))
	agents := 0
	claim := func(text string) (board.Actor, *board.Handout) {
		plain := strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, text)
		_, _, err := s.board.Create(ctx, person, board.NewTask{Project: "shop", Title: plain, Description: text, Acceptance: text}, "")
		must(err)
		agents++
		a := board.Actor{Principal: fmt.Sprintf("key:a%d", agents), Owner: fmt.Sprintf("p-a%d", agents)}
		h, err := s.board.Next(ctx, a, board.Wish{Projects: []string{"shop"}, Where: board.Where{Host: plain, Dir: "/" + plain, Branch: plain, Client: plain}})
		must(err)
		a.Worker = h.Claim.Worker.Name
		return a, h
	}
	for i := range hostile {
		text := hostileText(i)
		a, h := claim(text) // at work
		must(s.board.Record(ctx, a, board.Run{Claim: h.Claim.Handle, Agent: visible.Line(text)[:min(50, len(visible.Line(text)))], Model: "m", Priced: true, Cost: 5}, board.LogPart{No: 1, Text: "2026-01-01T00:00:00Z calls Bash: " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"}))
		_, err := s.board.Progress(ctx, a, h.Claim.Handle, board.Note{Text: text})
		must(err)
		a, h = claim(text) // asks
		_, err = s.board.Ask(ctx, a, board.NewQuestion{Claim: h.Claim.Handle, Text: text + "\n\n" + text, Options: []string{text, "other " + text}, Default: text})
		must(err)
		_, err = s.board.Ask(ctx, a, board.NewQuestion{Claim: h.Claim.Handle, Text: "May " + visible.Line(text) + " use " + visible.Line(text) + "?\n  | " + visible.Line(text) + "\nFor this task that is:\n  | " + visible.Line(text), Options: []string{"yes", "yes, for this task", "no"}, HumanOnly: true})
		must(err)
		q, err := s.board.Ask(ctx, a, board.NewQuestion{Claim: h.Claim.Handle, Text: text, Default: "x"})
		must(err)
		_, err = s.board.Answer(ctx, person, q.ID, text)
		must(err)
		a, h = claim(text) // reports done
		tip := board.Tip{Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40), Base: strings.Repeat("c", 40)}
		_, err = s.board.Done(ctx, a, h.Claim.Handle, board.Report{
			Summary: text, Evidence: []board.Evidence{{Kind: board.EvidenceURL, Ref: visible.Line(text), Detail: text}}, Artifacts: []string{visible.Line(text)}, Tip: tip,
			Diff: board.Diff{Base: tip.Base, Tip: tip.Commit, Files: []board.FileDiff{
				{Path: visible.Line(text), From: "old/" + visible.Line(text), Kind: "R", Added: 1, Removed: 1, Patch: "@@ -1,2 +1,2 @@ " + visible.Line(text) + "\n-" + visible.Line(text) + "\n+" + visible.Line(text) + "x\n"},
			}},
		})
		must(err)
		must(s.board.Comment(ctx, person, h.Task.ID, []board.Comment{{File: visible.Line(text), Line: 1, Text: text}}))
		if i%2 == 0 {
			_, err = s.board.Review(ctx, person, h.Task.ID, board.Decision{Verdict: board.Accept, Note: text})
			must(err)
		}
		a, h = claim(text) // fails
		_, err = s.board.Fail(ctx, a, h.Claim.Handle, board.Failure{Kind: board.FailWrongSpec, Reason: text, DoNotRepeat: text})
		must(err)
	}
	lander := board.Actor{Principal: "key:l", Owner: "p-l", Name: visible.Line(hostile[4])}
	lease, err := s.board.Lead(ctx, lander, board.Lease{Project: "shop", Target: "main", Holder: hostile[0]})
	must(err)
	line, err := s.board.Line(ctx, "shop")
	must(err)
	id := line.Queue[0].Task.ID
	lease.Note = &board.LandNote{
		Doing: hostile[1], Stopped: hostile[2], Moved: hostile[6], Waits: []board.LandWait{{Task: id, ForPeople: true, Why: hostile[3]}},
		Reworks: []board.Rework{{Task: id, Attempt: 1, Files: []string{hostile[5]}}},
	}
	_, err = s.board.Lead(ctx, lander, lease)
	must(err)
}

// TestHostileText: what others write stays text on every page.
func TestHostileText(t *testing.T) {
	s := newTestSite(t, true)
	s.fillHostile()
	b := s.signedIn(`<i onclick=x>Eve</i>`, "shop", auth.Admin)
	tasks, err := s.board.List(t.Context(), board.TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	questions, err := s.board.Questions(t.Context(), board.QuestionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range s.Routes() {
		switch {
		case r.Method != http.MethodGet || r.Pattern == "/live" || r.Pattern == "/worker.js" || strings.HasPrefix(r.Pattern, "/static"):
		case strings.Contains(r.Pattern, "{task}"):
			for _, x := range tasks {
				paths = append(paths, strings.Replace(r.Pattern, "{task}", x.ID.String(), 1))
			}
		case strings.Contains(r.Pattern, "{question}"):
			for _, x := range questions {
				paths = append(paths, strings.Replace(r.Pattern, "{question}", x.ID.String(), 1))
			}
		default:
			paths = append(paths, address(r.Pattern), address(r.Pattern)+"?project=shop")
			for _, h := range hostile { // in every parameter that a page may read
				v := url.Values{}
				for _, k := range []string{"q", "to", "link", "only", "said", "state", "skill", "worker", "after", "hours"} {
					v.Set(k, h)
				}
				paths = append(paths, address(r.Pattern)+"?"+v.Encode())
			}
		}
	}
	marks := map[string]bool{}
	for _, path := range paths {
		status, body := b.get(path)
		if status >= 500 {
			t.Errorf("GET %s = %d", path, status)
		}
		checkInert(t, path, body)
		for i := range hostile {
			if strings.Contains(body, fmt.Sprintf("mark%d ", i)) {
				marks[fmt.Sprintf("mark%d", i)] = true
			}
		}
		if len(body) > 200<<10 {
			t.Errorf("GET %s has %d bytes", path, len(body))
		}
	}
	if len(marks) != len(hostile) {
		t.Errorf("only %d of %d texts were on a page", len(marks), len(hostile))
	}
}

// tags are the elements that our templates and Markdown make.
var tags = strings.Fields(`html head meta title link script body svg defs symbol path circle rect line polyline text use g a div nav form select option button
	ul ol li details summary span footer input main header h1 h2 h3 h4 p mark section aside table colgroup col thead tbody tr th td small time code b br
	article dl dt dd label textarea em strong del ins pre blockquote hr i kbd title tspan figure figcaption fieldset legend`)

// checkInert parses a page and looks for what our templates do not make.
func checkInert(t *testing.T, path, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	scripts := 0
	for n := range doc.Descendants() {
		switch n.Type {
		case html.CommentNode:
			t.Errorf("%s has a comment: %.80s", path, n.Data)
		case html.TextNode:
			for _, r := range n.Data {
				if r != '\n' && r != '\t' && visible.Hidden(r) {
					t.Errorf("%s has the hidden character %U in %.60q", path, r, n.Data)
					break
				}
			}
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(tags, n.Data) {
			t.Errorf("%s has an element <%s>", path, n.Data)
		}
		if n.Data == "script" {
			scripts++
		}
		for _, a := range n.Attr {
			v := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "http-equiv", a.Key == "formaction":
				t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			case a.Key == "href":
				ours := strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//") || strings.HasPrefix(v, "#") || strings.HasPrefix(v, "?") || v == ""
				out := n.Data == "a" && (strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "mailto:"))
				if !ours && !out {
					t.Errorf("%s: <%s href=%q>", path, n.Data, a.Val)
				}
				if out && !slices.ContainsFunc(n.Attr, func(x html.Attribute) bool { return x.Key == "rel" && strings.Contains(x.Val, "noopener") }) {
					t.Errorf("%s: a link to %q without rel", path, a.Val)
				}
			case a.Key == "src":
				if !strings.HasPrefix(v, "/static/") {
					t.Errorf("%s: <%s src=%q>", path, n.Data, a.Val)
				}
			case a.Key == "action":
				if !strings.HasPrefix(v, "/") || strings.HasPrefix(v, "//") {
					t.Errorf("%s: <form action=%q>", path, a.Val)
				}
			}
		}
	}
	if scripts != 1 {
		t.Errorf("%s has %d scripts", path, scripts)
	}
}
