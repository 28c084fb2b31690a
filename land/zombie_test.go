package land

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// zombieFile is in every commit of an agent whose claim has ended.
const zombieFile = "zombie"

// branches is a board for a lander without a fence: it lands what the branches of tasks have, and not what
// was reported.
type branches struct {
	*board.Board
	y *yard
}

func (b branches) Line(ctx context.Context, slug string) (board.Line, error) {
	line, err := b.Board.Line(ctx, slug)
	for i := range line.Queue {
		q := &line.Queue[i]
		q.Tip.Commit = b.y.git("-C", b.y.dir, "rev-parse", branchOf(q.Task.ID))
		q.Tip.Tree = b.y.git("-C", b.y.dir, "rev-parse", q.Tip.Commit+"^{tree}")
	}
	return line, err
}

// BeginLand announces what was reported, so that the board lets it pass.
func (b branches) BeginLand(ctx context.Context, a board.Actor, l board.Lease, old, new string, items []board.Item) (board.Intent, error) {
	for i := range items {
		d, err := b.Get(ctx, items[i].Task, 0)
		if err != nil {
			return board.Intent{}, err
		}
		items[i].Tip = d.Doc.Result.Tip.Commit
	}
	return b.Board.BeginLand(ctx, a, l, old, new, items)
}

func branchOf(id board.ID) string { return "refs/heads/bossman/" + id.String() }

// A stint is an attempt at a task, and what its agent does later.
type stint struct {
	actor  board.Actor
	handle board.Handle
	tip    board.Tip
	late   board.Tip // a commit on top of it that was never reported
}

// crowd are the stints of a round: those that were reported, and those whose claims were taken away.
type crowd struct{ reported, dead []stint }

// round lets agents work on some tasks, each of which another one has begun.
func (y *yard) round(tasks int) (c crowd) {
	y.Helper()
	for range tasks {
		t, _, err := y.board.Create(y.Context(), y.actor, board.NewTask{Project: "web", Title: "work"}, "")
		if err != nil {
			y.Fatal(err)
		}
		dead := y.stint(t.ID, "begun")
		if _, err := y.board.Release(y.Context(), board.Actor{Principal: "ada", Person: true}, t.ID, "too slow"); err != nil {
			y.Fatal(err)
		}
		good := y.stint(t.ID, "work")
		y.git("-C", y.dir, "update-ref", branchOf(t.ID), good.tip.Commit)
		if _, err := y.board.Done(y.Context(), good.actor, good.handle, board.Report{Summary: "did it", Tip: good.tip}); err != nil {
			y.Fatal(err)
		}
		c.reported, c.dead = append(c.reported, good), append(c.dead, dead)
	}
	return c
}

// stint takes a task, and makes a commit for it.
func (y *yard) stint(id board.ID, file string) (s stint) {
	y.Helper()
	s.actor = board.Actor{Principal: "ada", Owner: board.NewNonce()}
	h, err := y.board.Next(y.Context(), s.actor, board.Wish{Projects: []string{"web"}, Task: id})
	if err != nil {
		y.Fatal(err)
	}
	s.actor.Worker, s.handle = h.Claim.Worker.Name, h.Claim.Handle
	s.tip = y.plumb(y.git("-C", y.dir, "rev-parse", "next"), fmt.Sprintf("%s-%v", file, id))
	s.late = y.plumb(s.tip.Commit, zombieFile)
	return s
}

// plumb makes a commit with one more file on top of another one, without a worktree.
func (y *yard) plumb(base, file string) board.Tip {
	y.Helper()
	blob := y.git("-C", y.dir, "rev-parse", "next:a")
	tree := y.shell(fmt.Sprintf("{ git ls-tree %s; printf '100644 blob %s\\t%s\\n'; } | sort -u -k4 | git mktree", base, blob, file))
	return board.Tip{Commit: y.git("-C", y.dir, "commit-tree", "-p", base, "-m", file, tree), Tree: tree, Base: base}
}

// shell runs a line in the repository.
func (y *yard) shell(line string) string {
	y.Helper()
	return y.git("-C", y.dir, "-c", "alias.sh=!"+line, "sh")
}

// act lets a zombie do something. It returns whether something has let it.
func (y *yard) act(r *rand.Rand, c crowd, stale board.Lease) (what string, let bool) {
	y.Helper()
	ctx := y.Context()
	good, dead := c.reported[r.IntN(len(c.reported))], c.dead[r.IntN(len(c.dead))]
	item := func(s stint, tip board.Tip) []board.Item {
		return []board.Item{{Task: s.handle.Task, Attempt: s.handle.Attempt, Tip: tip.Commit}}
	}
	next := func() string { return y.git("-C", y.dir, "rev-parse", "next") }
	switch r.IntN(6) {
	case 0: // its own branch it may move as it likes
		y.git("-C", y.dir, "update-ref", branchOf(good.handle.Task), good.late.Commit)
		return "a commit on the branch after the report", false
	case 1:
		_, err := y.board.Done(ctx, dead.actor, dead.handle, board.Report{Summary: "done after all", Tip: dead.late})
		return "a report under a claim that was taken away", err == nil
	case 2:
		_, err := y.board.Done(ctx, good.actor, good.handle, board.Report{Summary: "done again", Tip: good.late})
		return "another report under the same claim", err == nil
	case 3: // the answer is the first one: the commit stays
		out, err := y.board.Done(ctx, good.actor, good.handle, board.Report{Summary: "did it", Tip: good.late})
		return "the same report with another commit", err == nil && !out.Again
	case 4:
		_, err := y.board.BeginLand(ctx, y.actor, stale, next(), good.late.Commit, item(good, good.tip))
		return "a lander with a lease that has ended", err == nil
	default:
		lease, err := y.board.Lead(ctx, y.actor, board.Lease{Project: "web", Target: "next", Holder: "a zombie"})
		if err != nil {
			y.Fatal(err)
		}
		s, tip := good, good.late
		if r.IntN(2) == 0 {
			s, tip = dead, dead.tip
		}
		_, err = y.board.BeginLand(ctx, y.actor, lease, next(), tip.Commit, item(s, tip))
		if failed := y.board.StepDown(ctx, y.actor, lease); failed != nil {
			y.Fatal(failed)
		}
		return "a landing of what was not reported", err == nil
	}
}

// Whatever agents and landers do whose time is over, only what the newest attempt reported reaches the target.
// A lander that takes the branches as they are lets it in.
func TestLand_zombies(t *testing.T) {
	acts, err := strconv.Atoi(os.Getenv("BOSSMAN_ZOMBIES"))
	if err != nil {
		acts = 300
	}
	for _, fenced := range []bool{true, false} {
		y := newYard(t, "", map[string]string{"a": "1\n"})
		if !fenced {
			y.o.Board, acts = branches{y.board, y}, 100
		}
		stale, err := y.board.Lead(t.Context(), y.actor, board.Lease{Project: "web", Target: "next", Holder: "the first one"})
		if err == nil {
			err = y.board.StepDown(t.Context(), y.actor, stale)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, seen := rand.New(rand.NewPCG(1, uint64(acts))), map[string]int{}
		for n := 0; n < acts; {
			c := y.round(5)
			for range 50 {
				what, let := y.act(r, c, stale)
				if let {
					t.Fatalf("act %d, %s, was let", n, what)
				}
				seen[what]++
				n++
			}
			y.land()
			for _, s := range c.reported {
				y.status(s.handle.Task, board.Done)
			}
		}
		files := "\n" + y.git("-C", y.dir, "log", "--format=", "--name-only", "next") + "\n"
		zombies := strings.Contains(files, "\n"+zombieFile+"\n") || strings.Contains(files, "\nbegun-")
		if zombies == fenced {
			t.Errorf("with a fence: %v; zombies reached the target: %v", fenced, zombies)
		}
		t.Logf("with a fence: %v; %v", fenced, seen)
	}
}

// A target that was moved by somebody else is reported, each time.
func TestLand_zombieMoves(t *testing.T) {
	y := newYard(t, "", map[string]string{"a": "1\n"})
	y.task("first", "main", map[string]string{"b": "1\n"})
	y.land()
	y.tells("landed web-1")
	for n := range 3 {
		before := y.git("-C", y.dir, "rev-parse", "next")
		y.git("-C", y.dir, "update-ref", "refs/heads/next", y.plumb(before, fmt.Sprint(zombieFile, n)).Commit)
		y.land()
		moved := false
		for _, e := range y.events {
			moved = moved || e.Kind == Moved
		}
		if !moved {
			t.Errorf("move %d was not reported: %+v", n, y.events)
		}
		y.events = nil
		y.git("-C", y.dir, "update-ref", "refs/heads/next", before)
	}
}
