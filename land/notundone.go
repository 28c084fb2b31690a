package land

import (
	"context"
	"fmt"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// A NotUndoneError says why the work of a task cannot be undone.
type NotUndoneError struct{ Why, Next string }

func (e *NotUndoneError) Error() string { return e.Why }

// changedNothing is the error for a task that has landed without a change.
func (t *target) changedNothing(id board.ID) *NotUndoneError {
	return &NotUndoneError{fmt.Sprintf("%v has changed nothing: %s had its work already", id, t.at), ""}
}

// notKnown is the error for a task of which the board has no landing. That of a task which was archived is in its result only, and the
// commit alone does not tell how it landed.
func (t *target) notKnown(ctx context.Context, b intentBoard, id board.ID) error {
	d, err := b.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	if r := d.Doc.Result; r != nil && r.Landed != "" {
		return &NotUndoneError{
			fmt.Sprintf("%v landed as commit %s, and was imported since, as from an archive: how it landed is not known any more", id, git.Short(r.Landed)),
			fmt.Sprintf("revert that commit on a branch, with git revert %s, in a task of its own", git.Short(r.Landed)),
		}
	}
	return &NotUndoneError{fmt.Sprintf("no work of %v has landed on %s", id, t.at), ""}
}
