package boardtest

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var ruleLandNotes = group{"what landers tell", []test{
	{"a lander's note stays when it steps down, and people read it", func(f *fixture) {
		told := f.issue()
		_, err := f.board.MarkDone(f.ctx, ada, told, "by hand", false)
		f.ok(err)
		f.landing()
		id := f.queued(7)
		l := f.lander("l")
		l.lease.Note = &board.LandNote{
			Doing: "checking", Stopped: "main is red", Waits: []board.LandWait{{Task: id, Why: "a file is in the way", ForPeople: true}},
			Reworks: []board.Rework{{Task: id, Attempt: 1, Files: []string{"a.go"}}}, Untold: []board.LandWait{{Task: told, Why: "no answer", ForPeople: true}},
			Seen: object(9), Clone: "c1", Lost: object(8), From: object(7), Moved: "main was moved",
		}
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.ok(err)
		l.lease.Note = nil
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.ok(err)
		f.ok(f.board.StepDown(f.ctx, l.actor, l.lease))
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.is("a lease that was given back", err, board.ErrLeaseLost)
		line, err := f.board.Line(f.ctx, project)
		f.ok(err)
		f.equal("note", fmt.Sprint(*line.Lander.Note), fmt.Sprintf("{%[1]v %[1]v %[1]v %[1]v checking main is red [{%v a file is in the way true false false false %[1]v}] [{%[2]v 1 [a.go] %[1]v}] [{%[3]v no answer true false false false %[1]v}] %[4]s c1 %[5]s %[6]s main was moved}",
			board.Author{By: "local", As: board.ByAgent}, id, told, object(9), object(8), object(7)))
		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		f.equal("inbox", len(in.Landing), 4)
		text := f.why(id, board.WhyLanding, board.WhyLanding, board.WhyLanding, board.WhyLanding)
		for _, want := range []string{"Nothing lands, says the lander of an agent: \"main is red\".\n", "It waits, says the lander of an agent: \"a file is in the way\".\n"} {
			if !strings.Contains(text, want) {
				f.Errorf("why: %s\nwant %q", text, want)
			}
		}
		m := f.lander("m")
		f.equal("the next one has it", m.lease.Note.Doing, "checking")
		for name, n := range map[string]board.LandNote{
			"long": {Stopped: strings.Repeat("x", 40<<10)}, "many": {Waits: make([]board.LandWait, 101)}, "many untold": {Untold: make([]board.LandWait, 101)},
		} {
			m.lease.Note = &n
			_, err = f.board.Lead(f.ctx, m.actor, m.lease)
			f.is(name, err, board.ErrInvalid)
		}
		_, err = f.board.Cancel(f.ctx, ada, id, "not needed", "")
		f.ok(err)
		in, err = f.board.Inbox(f.ctx, project)
		f.ok(err)
		f.equal("the inbox of an empty queue", fmt.Sprint(in.Landing), fmt.Sprintf("[{%v no answer true false false true {local agent}} {%v main was moved true true false false {local agent}}]", told, board.ID{}))
	}},
	{"what a lander tells has the author that the board knows", func(f *fixture) {
		f.landing()
		id := f.queued(7)
		robot := board.Actor{Principal: "key:robot", Owner: "p-1", Name: "robot"}
		forged := board.Author{By: "ada", As: board.ByPerson}
		lease, err := f.board.Lead(f.ctx, robot, board.Lease{Project: project, Target: "main", Holder: "ada"})
		f.ok(err)
		lease.Note = &board.LandNote{
			Leader: forged, Author: forged, StoppedBy: forged, MovedBy: forged, Doing: "d", Stopped: "s", Moved: "m",
			Waits:   []board.LandWait{{Task: id, Why: "w", ForPeople: true, Moved: true, Idle: true, Untold: true, Author: forged}},
			Reworks: []board.Rework{{Task: id, Attempt: 1, Files: []string{"a.go"}, Author: forged}},
		}
		lease, err = f.board.Lead(f.ctx, robot, lease)
		f.ok(err)
		authors := func() string {
			f.Helper()
			line, err := f.board.Line(f.ctx, project)
			f.ok(err)
			n := line.Lander.Note
			return words(line.Lander.Author(), n.Author, n.StoppedBy, n.MovedBy, n.Waits[0].Author, n.Reworks[0].Author)
		}
		agent := board.Author{By: "robot", As: board.ByAgent}
		f.equal("authors", authors(), words(agent, agent, agent, agent, agent, agent))
		in, err := f.board.Inbox(f.ctx, project)
		f.ok(err)
		f.equal("inbox", fmt.Sprint(in.Landing), fmt.Sprintf("[{%v m true true false false %[2]v} {%[1]v s true false false false %[2]v} {%v w true false false false %[2]v}]", board.ID{}, agent, id))
		text := f.why(id, board.WhyLanding, board.WhyLanding, board.WhyLanding, board.WhyLanding)
		for _, want := range []string{
			"Work is being landed on main by the lander of \"robot\" (agent), \"ada\".\n", "Nothing lands, says the lander of \"robot\" (agent): \"s\".\n", "It waits, says the lander of \"robot\" (agent): \"w\".\n",
		} {
			if !strings.Contains(text, want) {
				f.Errorf("why: %s\nwant %q", text, want)
			}
		}

		// Who repeats it does not become its author, also not with the next lease.
		f.ok(f.board.StepDown(f.ctx, robot, lease))
		person := ada
		person.Owner = "p-2"
		next, err := f.board.Lead(f.ctx, person, board.Lease{Project: project, Target: "main", Holder: "l"})
		f.ok(err)
		f.equal("the next lease", authors(), words(forged, agent, agent, agent, agent, agent))
		next.Note.Doing = "e"
		next, err = f.board.Lead(f.ctx, person, next)
		f.ok(err)
		f.equal("repeated", authors(), words(forged, forged, agent, agent, agent, agent))
		next.Note.Stopped, next.Note.Moved, next.Note.Waits[0].Why, next.Note.Reworks[0].Files = "s2", "m2", "w2", []string{"b.go"}
		_, err = f.board.Lead(f.ctx, person, next)
		f.ok(err)
		f.equal("new", authors(), words(forged, forged, forged, forged, forged, forged))
	}},
	{"a lander's note is about its own project, and about what waits", func(f *fixture) {
		told := f.issue()
		_, err := f.board.MarkDone(f.ctx, ada, told, "by hand", false)
		f.ok(err)
		f.landing()
		ended := f.create("ended")
		_, err = f.board.MarkDone(f.ctx, ada, ended, "", false)
		f.ok(err)
		id, open, none := f.queued(7), f.create("open"), board.ID{Project: project, No: 4711}
		l := f.lander("l")
		for name, n := range map[string]board.LandNote{
			"waits": {Waits: []board.LandWait{{Task: board.ID{Project: "other", No: 7}}}}, "untold": {Untold: []board.LandWait{{Task: board.ID{Project: "other", No: 7}}}},
			"reworks": {Reworks: []board.Rework{{Task: board.ID{Project: "other", No: 7}}}}, "no task": {Untold: []board.LandWait{{Why: "The board has a new version."}}},
		} {
			l.lease.Note = &n
			_, err := f.board.Lead(f.ctx, l.actor, l.lease)
			f.is(name, err, board.ErrInvalid)
		}
		var waits []board.LandWait
		var reworks []board.Rework
		for _, task := range []board.ID{id, told, ended, open, none} {
			waits, reworks = append(waits, board.LandWait{Task: task, Why: "w"}), append(reworks, board.Rework{Task: task, Attempt: 1})
		}
		l.lease.Note = &board.LandNote{Waits: waits, Untold: waits, Reworks: reworks}
		_, err = f.board.Lead(f.ctx, l.actor, l.lease)
		f.ok(err)
		line, err := f.board.Line(f.ctx, project)
		f.ok(err)
		n := line.Lander.Note
		f.equal("kept", words(len(n.Waits), n.Waits[0].Task, len(n.Untold), n.Untold[0].Task, len(n.Reworks), n.Reworks[0].Task, n.Reworks[1].Task), words(1, id, 1, told, 2, id, open))
	}},
}}
