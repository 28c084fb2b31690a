package tools

import (
	"context"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// An Inspector looks at the work where it is. A server that is not on that machine has
// none, and then all evidence is what the worker claims.
type Inspector interface {
	// Begin is called when a task is handed out here.
	Begin(ctx context.Context, w board.Work) error
	// Noted reports whether it is known what lay about where a task was handed out. Otherwise Lying leaves out all that is
	// not committed.
	Noted(w board.Work) bool
	// Place returns where the work of a claim is now. branch is a branch that the call
	// names, or empty. The error is a *board.PlaceError if the work cannot be seen from here.
	Place(ctx context.Context, w board.Work, branch string) (board.Where, error)
	// Moved reports whether another branch is checked out at a place than the one that is
	// known of it. It costs little.
	Moved(at board.Where) bool
	// Look returns what there is now of the work that an earlier attempt left at its place. ok
	// is false if it cannot be looked at from here. The zero attempt may have a place.
	Look(ctx context.Context, a board.Attempt) (s board.Sight, ok bool)
	// Fetch brings the work of a report here that was made in another clone, from where a target is that is not in that
	// clone either. tip is its commit. ok is false if it is not there.
	Fetch(ctx context.Context, a board.Attempt, tip, land string) (s board.Sight, ok bool)
	// Has reports whether a commit is in the clone.
	Has(ctx context.Context, commit string) bool
	// Leftover returns which of some works comes first whose newest attempt left files that are
	// not committed in the inspector's own worktree, and how many are there; -1 and 0 if there
	// is none.
	Leftover(ctx context.Context, works []board.Work) (first, files int)
	// Strays returns where a worker that did not name its branch may have worked: what was made
	// since the task was first handed out here, and is not taken, a few. until is when its last
	// attempt ended.
	Strays(ctx context.Context, w board.Work, until time.Time, taken func(board.Where) bool) []board.Where
	// Elsewhere returns where the work may be of a worker that names no branch, if it is not at
	// the place of w: what was made or changed since the task was first handed out here and is
	// not taken, a few. idle says since when nothing has changed at the place.
	Elsewhere(ctx context.Context, w board.Work, taken func(at board.Where, idle board.Idle) bool) (places []board.Where, idle board.Idle, err error)
	// Apart returns the room for a worker beside the one at a place: with the branch that is
	// asked for, unless that is taken.
	Apart(at board.Where, branch string) board.Room
	// Unresolved lists the files of a task that still have the conflict markers which an earlier
	// attempt left. Verify refuses them.
	Unresolved(ctx context.Context, w board.Work) []string
	// Resolve replaces the names of commits in evidence with their full names.
	Resolve(ctx context.Context, w board.Work, evidence []board.Evidence)
	// Verify looks at evidence. It returns the pieces that it has seen, and a sentence
	// for each piece that is false.
	Verify(ctx context.Context, w board.Work, evidence []board.Evidence) (observed []board.Evidence, faults []string, err error)
	// Denied returns where a branch of the claim has commits since the task was handed out, if a report says that the task changed
	// no file. first is false if there is none, or if it was returned before.
	Denied(ctx context.Context, w board.Work) (at board.Where, first bool)
	// OnBranch returns a *board.PlaceError if the newest commit of the work is on no branch, where
	// nothing keeps it.
	OnBranch(ctx context.Context, w board.Work) error
	// OffTarget returns a *board.PlaceError if the work ends with a commit that got to where work lands without
	// being landed.
	OffTarget(ctx context.Context, w board.Work) error
	// BranchOf returns the branch on which a commit of the evidence is checked out in another
	// worktree than that of the work, empty if there is none.
	BranchOf(ctx context.Context, w board.Work, evidence []board.Evidence) string
	// Check runs the project's check on the work as it is now, or joins the run of it
	// that is under way, and waits for d at most. It calls waiting when it begins to wait,
	// which it does not without a check, and then every few seconds with the time that the
	// check has run, or, until it begins, with what it waits for; if that returns false, the
	// run is stopped. The error may be a *board.PlaceError.
	Check(ctx context.Context, w board.Work, d time.Duration, waiting func(took time.Duration, behind string) bool) (CheckResult, error)
	// Command is the check that will run at a report, empty if there is none. why says why
	// one that is configured will not run, or what else is not looked at.
	Command() (command, why string)
	// Lying returns which files at the place of the work lay there before the task was taken.
	Lying(ctx context.Context, w board.Work) (board.Loose, error)
	// Store stores the work of a report as a commit that stays, and returns that: tree if the check has
	// judged one, else everything at the place of the work, in both cases without the files that Lying leaves out. It is empty
	// if the work is not in git.
	Store(ctx context.Context, w board.Work, tree, title, summary string) (commit string, loose board.Loose, err error)
	// Tip says what the work of a commit is for a target, such as main, which is empty if there is none.
	// same is set if the target has everything of it already.
	Tip(ctx context.Context, w board.Work, commit, land string) (tip board.Tip, same bool, err error)
	// Share brings the work of a commit to where a target is that is not in this clone, so that it can
	// be landed from there.
	Share(ctx context.Context, h board.Handle, commit, land string) error
	// Includes returns the work of other tasks of the project that was reported and is in the work of a tip, since
	// what that began from, with the files of which Lying leaves nothing out because they are in commits now. get reads a
	// task from the board: other boards may have reported tasks with the same ids.
	Includes(ctx context.Context, w board.Work, tip board.Tip, get func(ctx context.Context, id board.ID, events int) (board.Dossier, error)) ([]board.Included, error)
	// Dropped says what the work of a tip lacks of the former work of its task.
	Dropped(ctx context.Context, w board.Work, tip board.Tip) (board.Dropped, error)
	// Forgone returns the work of a task, of this attempt and of former ones, that the target lacks. What is at a place that is taken
	// is another task's. first is set at the first time that it returns some for a claim.
	Forgone(ctx context.Context, w board.Work, taken func(board.Where) bool) (list []board.Forgone, first bool, err error)
	// Diff returns what the work of a tip changed, zero if that is not known.
	Diff(ctx context.Context, w board.Work, tip board.Tip) (board.Diff, error)
	// End is called when a report was accepted, with what was observed.
	End(ctx context.Context, w board.Work, observed []board.Evidence)
}

// A CheckResult is what an Inspector's check has come to.
type CheckResult struct {
	State CheckState
	// Command is what was run, and Took how long it has run.
	Command string
	Took    time.Duration
	// Behind is what it waits for if it has not begun, half a sentence.
	Behind string
	// Late is set if it was stopped because it had not begun in time.
	Late bool
	// Evidence is the proof of a green check, and Loose names files that it covers and that
	// are not committed as they are; if files changed while it ran, it names those.
	Evidence board.Evidence
	Loose    []string
	// Reason says what happened otherwise, such as "exit status 1".
	Reason string
	// Tail is the end of the output.
	Tail string
	// Run identifies the run, which several reports may have joined, and Tree what it judged.
	Run, Tree string
}

// A CheckState is what a check says about the work.
type CheckState string

const (
	CheckNone      CheckState = "none"       // no check is configured
	CheckUntrusted CheckState = "untrusted"  // one is, but no person has accepted it
	CheckGreen     CheckState = "green"      // it found the work good
	CheckWaived    CheckState = "waived"     // a person has accepted the work without it
	CheckRed       CheckState = "red"        // it found a fault
	CheckNotJudged CheckState = "not_judged" // it could not run, or did not end
	CheckChanged   CheckState = "changed"    // files changed while it ran
	CheckRunning   CheckState = "running"    // it has not ended yet
	CheckStopped   CheckState = "stopped"    // it did not begin in time, was stopped for another one, or needs the worker to do something
)
