package crewcli

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// A Differ is a board with the diffs of attempts.
type Differ interface {
	Diff(ctx context.Context, id board.ID, attempt int) (board.AttemptDiff, error)
}

// TaskFile is the task of a hand-out for a program, in JSON: as bossman task show prints it, and for a
// review with what the work changed.
func TaskFile(ctx context.Context, b Differ, h *board.Handout) []byte {
	task := struct {
		boardjson.Dossier
		Diff *board.Diff `json:"diff,omitzero"`
	}{Dossier: boardjson.FromDossier(h.Dossier)}
	if h.Claim.IsReview() {
		if d, err := b.Diff(ctx, h.Task.ID, h.Task.Attempt); err == nil && d.Attempt != 0 {
			task.Diff = &d.Diff
		}
	}
	text, _ := console.JSON(task)
	return text
}
