package board

import (
	"slices"
	"time"
)

// Work is what is needed to look at the work of a claim where it is.
type Work struct {
	Task   ID
	Worker string
	// Claim is the claim of the newest attempt.
	Claim Handle
	// First is the claim of the task's first hand-out, and Since its time. What existed by
	// then is not the task's work.
	First Handle
	Since time.Time
	// Place is where the work of the claim is, and Last where it was when it was last looked at.
	Place, Last Where
	// Branches are the branches that workers of the task named or were told, the newest first.
	Branches []string
	// Strays are places where workers of earlier attempts may have worked, and did not say so.
	Strays []Where
	// Before are the places of earlier attempts at which work was seen, the newest first.
	Before []Where
	// Attempts are its newest attempts, the newest first, but for those with other keys than the principal's.
	Attempts []Attempt
	// Former is what the last report of the task was about, if the task has gone back since.
	Former Former
	// Redone is what the tasks that it does again have reported, the last one first.
	Redone []Former
	// Ordered is the branch that the worker was told to work on, elsewhere than where it took the
	// task; empty if it was told none.
	Ordered string
	// Waived is the content that a person has accepted without the check, empty if none.
	Waived string
	// Slot is set if the worktree of the claim was made for it: nothing lay about there.
	Slot bool
	// Land is where the project lands its work, empty if it does not.
	Land string
	// Others are the live claims on other tasks of the same principal.
	Others []Claim
}

// A Former is reported work of a task that has gone back. It is zero if there is none, or if it is not in git.
type Former struct {
	Attempt Attempt
	Tip     Tip
}

// IsZero reports whether there is no such work.
func (f Former) IsZero() bool { return f.Tip.IsZero() }

// A Dropped says what the work of a task lacks of its former work.
type Dropped struct {
	// Files are files that the former work changed, and this one does not; there may be more.
	Files []string
	// Absent is set if the former work is not in this clone, so that they cannot be compared.
	Absent bool
	// Onward is set if the work goes on from the former one, so that its worker has taken out what is missing.
	Onward bool
	// First is set at the first time that this is said of a claim: of files, or that they cannot be compared.
	First bool
}

// IsZero reports whether nothing is missing.
func (d Dropped) IsZero() bool { return len(d.Files) == 0 && !d.Absent }

// A Forgone is work of a task that the target lacks, while a report says that the task needs no change.
type Forgone struct {
	// Commit is what the work ends with, and Branch has it, empty if that is not known. Commit is empty if the work is not committed:
	// then it is in Dir.
	Commit, Branch string
	// Dir is the worktree in which files are not committed, or in which work was seen that is not in this clone, and Host the machine of that.
	Dir, Host string
	// Files are files that it changed and that are otherwise in the target; there may be more.
	Files []string
	// Here is set if it is in what the report is about, and Absent if it is not in this clone, so that Files is not known.
	Here, Absent bool
	// Redone is set if it is the work of a task that is done again, and Stash if it was put away with git stash.
	Redone, Stash bool
}

// maxBranches bounds Work.Branches, and maxAttempts Work.Before and Work.Attempts.
const maxBranches, maxAttempts = 5, 30

// WorkOf returns the work of a task's newest attempt, for a principal.
func WorkOf(d Dossier, principal string) Work {
	w := Work{Task: d.Task.ID}
	if tree, waived := d.CheckWaived(); waived {
		w.Waived = tree
	}
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		w.First, w.Since = d.Attempts[0].Handle, d.Attempts[0].GrantedAt
		w.Claim, w.Worker, w.Place, w.Last, w.Ordered = last.Handle, last.Worker.Name, last.Where, last.Where, last.Where.Ordered
	}
	if a, ok := d.Reported(); ok {
		w.Former = Former{Attempt: a, Tip: d.Doc.Result.Tip}
	}
	for n, a := range slices.Backward(d.Attempts) {
		at := a.Where
		if len(w.Attempts) < maxAttempts && a.Own(principal) {
			w.Attempts = append(w.Attempts, a)
		}
		if n < len(d.Attempts)-1 && at.Worked && at.Head != "" && len(w.Before) < maxAttempts {
			w.Before = append(w.Before, at)
		}
		if !at.Named {
			at.Branch = ""
		}
		for _, b := range []string{at.Branch, at.Ordered} {
			if b != "" && !slices.Contains(w.Branches, b) && len(w.Branches) < maxBranches {
				w.Branches = append(w.Branches, b)
			}
		}
	}
	return w
}

// A Sight is what there is now of work that was left.
type Sight struct {
	// Where is its place. Dir is empty if the branch of the work is checked out nowhere.
	Where Where
	// DirGone and BranchGone are set if the directory or the branch of the place is not
	// there any more.
	DirGone, BranchGone bool
	// Commit is the commit that the work ends with, in full, if the branch of the place does not: it
	// is gone, or is elsewhere since the attempt reported done. Tracking is the remote-tracking
	// branch that has it. Here is set if it is in what is checked out here, and Lost if it is not in
	// this clone.
	Commit     string
	Tracking   string
	Here, Lost bool
	// Ref is the ref of its last state, if that is on no branch. Ending is set as long as nothing is
	// there yet: its worker is just ending in a worktree that others must not use.
	Ref    string
	Ending bool
	// UnderWay is what has been begun in the directory and not ended, such as "a rebase".
	UnderWay string
}

// Idle says since when nothing has changed at the place of some work.
type Idle int

const (
	// NotIdle means that something has changed there since the newest attempt began, or that this
	// is not known.
	NotIdle Idle = iota
	// IdleNow means that nothing has changed since the newest attempt began.
	IdleNow
	// IdleAlways means that nothing has changed since the task was first handed out.
	IdleAlways
)

// A Room is where a worker can work beside another one: a branch that can be made, and a
// directory where it can be checked out.
type Room struct {
	Branch, Dir string
	// Bare is set if nobody can work at the place that it is beside: it is a bare repository.
	Bare bool
	// Unborn is set if there is no commit that the branch could begin from, and Stale if git
	// has to forget worktrees that are gone first.
	Unborn, Stale bool
	// Modules is set if the repository has submodules, which git leaves empty in a new worktree.
	Modules bool
}

// A PlaceError says why the work of a claim cannot be looked at.
type PlaceError struct {
	// Why is a sentence, and Next what the worker can do.
	Why, Next string
	// Foreign is set if what is there is not the work.
	Foreign bool
}

func (e *PlaceError) Error() string { return e.Why }
