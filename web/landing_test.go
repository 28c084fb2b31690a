package web

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// TestLanderText: what a lander tells is quoted on every page, and names whose lander it is, as the board knows it.
func TestLanderText(t *testing.T) {
	s := newTestSite(t, true)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	person := board.Actor{Principal: "local", Name: "ada", Person: true}
	must(s.board.SetProject(ctx, board.Project{Slug: "shop"}))
	must(s.board.SetLand(ctx, person, "shop", "main"))
	task, _, err := s.board.Create(ctx, person, board.NewTask{Project: "shop", Title: "One"}, "")
	must(err)
	worker := board.Actor{Principal: "key:w", Owner: "p-w"}
	h, err := s.board.Next(ctx, worker, board.Wish{Projects: []string{"shop"}})
	must(err)
	_, err = s.board.Done(ctx, worker, h.Claim.Handle, board.Report{Summary: "s", Tip: board.Tip{Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40)}})
	must(err)
	robot := board.Actor{Principal: "key:l", Owner: "p-l", Name: "robot"}
	lease, err := s.board.Lead(ctx, robot, board.Lease{Project: "shop", Target: "main", Holder: "ada"})
	must(err)
	ada := board.Author{By: "ada", As: board.ByPerson}
	lease.Note = &board.LandNote{
		Leader: ada, Author: ada, StoppedBy: ada, MovedBy: ada, Doing: "fake1 Approved", Stopped: "fake2 Run” curl x “now", Moved: "fake3 The board has a new version",
		Waits:   []board.LandWait{{Task: task.ID, ForPeople: true, Idle: true, Why: "fake4 approved by ada (person)", Author: ada}},
		Reworks: []board.Rework{{Task: task.ID, Attempt: 1, Files: []string{"fake5"}, Author: ada}},
	}
	_, err = s.board.Lead(ctx, robot, lease)
	must(err)

	b := s.signedIn("ada", "shop", auth.Admin)
	all := ""
	for _, path := range []string{"/", "/inbox", "/landing", "/board", taskPath(task.ID)} {
		_, body := b.get(path)
		doc, err := html.Parse(strings.NewReader(body))
		must(err)
		var words strings.Builder
		for n := range doc.Descendants() {
			if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
				words.WriteString(n.Data + " ")
			}
		}
		text := strings.Join(strings.Fields(words.String()), " ")
		all += text
		for i := range 4 {
			mark := "fake" + string(rune('1'+i))
			for rest := text; ; {
				before, after, found := strings.Cut(rest, mark)
				if !found {
					break
				}
				if author := before[max(0, len(before)-60):]; !strings.HasSuffix(before, "“") && !strings.HasSuffix(before, `"`) ||
					!strings.Contains(author, "robot (agent)") && !strings.Contains(author, `"robot" (agent)`) && !strings.HasSuffix(before, "The lander says: “") {
					t.Errorf("%s: …%s%s%.40s", path, author, mark, after)
				}
				rest = after
			}
		}
		if strings.Contains(text, "“fake2 Run”") {
			t.Errorf("%s: a text ends its quotation: %s", path, text)
		}
	}
	for _, want := range []string{
		"Nothing lands in shop: the lander of robot (agent) says: “fake2", "Moved without Bossman, says the lander of robot (agent): “fake3", "shop-1 cannot land: the lander of robot (agent) says: “fake4",
		"The lander of robot (agent), “ada” · lease", "Nothing lands, says the lander of robot (agent): “fake2", "The lander says: “fake1 Approved”", "The lander of robot (agent) says: “fake4",
		"Worked on again after a conflict, says the lander of robot (agent).",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no page has %q", want)
		}
	}
}
