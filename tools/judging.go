package tools

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// judging says how the work of a task will be judged, a line each: where it is looked at,
// and which check runs.
func (t *Tools) judging(ctx context.Context, h *board.Handout) (lines []string) {
	if t.o.Inspector == nil && t.piped() {
		return nil
	}
	p, err := t.b.Project(ctx, h.Task.ID.Project)
	if err != nil || p.Policy == board.PolicyTrust {
		return nil
	}
	if t.o.Inspector == nil {
		lines = append(lines, "Bossman cannot look at your work over HTTP: it runs no check, and your evidence counts as claimed.")
		if p.Land != "" {
			lines = append(lines, fmt.Sprintf("This project lands its work on %s: report changes of files in the clone that has them, with bossman mcp or bossman done.", inline(p.Land, 80)))
		}
		return lines
	}
	command, why := t.o.Inspector.Command()
	tree, waived := h.CheckWaived()
	switch {
	case waived && tree != "" && command != "":
		lines = append(lines, "A person has accepted the work that the last attempt left, without the check: report it as it is. If files differ, Bossman runs "+inline(command, 300)+".")
	case waived && command != "":
		lines = append(lines, "A person has accepted the next report of this task without the check. Nobody can tell here whether it is of other work.")
	case waived:
	case command != "":
		lines = append(lines, "At the report Bossman runs "+inline(command, 300)+".")
	}
	if why != "" && !waived {
		lines = append(lines, visible.Cut(visible.Line(why), 500))
	}
	if paths := t.o.Inspector.Unresolved(ctx, board.WorkOf(h.Dossier, h.Claim.Worker.Principal)); len(paths) > 0 {
		lines = append(lines, fmt.Sprintf("An earlier attempt left conflict markers in %s: resolve these conflicts before you report.", inlineList(paths, 1000)))
	}
	at := ""
	switch w := where(h); {
	case t.isBound(): // its worktree was made for it
		return lines
	case w.Ordered != "" && !w.Named:
		at = fmt.Sprintf("on branch %s, in its worktree", inline(w.Ordered, 80))
	case w.Branch != "":
		at = fmt.Sprintf("in %s, on branch %s", inline(w.Dir, 200), inline(w.Branch, 80))
	case w.Head != "":
		at = fmt.Sprintf("in %s, where commit %s is checked out and no branch", inline(w.Dir, 200), shortCommit(w.Head))
	default:
		return lines
	}
	if w := where(h); !w.Away() && w.Branch != "" && w.Branch == p.Land { // a branch of this clone
		lines = append(lines, fmt.Sprintf("Accepted work lands on branch %s by itself: commit nothing there. Make a branch of your own before you commit: git switch -c %v", inline(w.Branch, 80), h.Task.ID))
	}
	return append(lines, "Bossman looks at your work "+at+". If it is elsewhere, name its branch in every note and report.")
}

// unlooked says in the answer to a report that nobody has looked at its work; empty if that was done,
// or does not matter.
func (t *Tools) unlooked(ctx context.Context, o board.Outcome) string {
	if t.o.Inspector != nil || t.piped() || o.Again {
		return ""
	}
	if p, err := t.b.Project(ctx, o.Task.Project); err != nil || p.Policy == board.PolicyTrust {
		return ""
	}
	return "Bossman did not look at your work, which it cannot do over HTTP: no check was run, and evidence counts as claimed."
}
