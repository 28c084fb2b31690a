package sqlite

import (
	"fmt"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// empty is the Reader of a board whose file does not exist yet.
type empty struct{ store *Store }

var _ board.Reader = empty{}

func (e empty) Now() (time.Time, error) { return fromMicros(e.store.clock.read(0)), nil }

func (e empty) Project(slug string) (board.Project, error) {
	return board.Project{}, fmt.Errorf("%w: project %s", board.ErrNotFound, slug)
}

func (e empty) Projects(...string) ([]board.Project, error) { return nil, nil }

func (e empty) Task(id board.ID) (board.Task, error) {
	return board.Task{}, fmt.Errorf("%w: task %v", board.ErrNotFound, id)
}

func (e empty) Tasks(board.TaskFilter) ([]board.Task, error) { return nil, nil }

func (e empty) Dossier(id board.ID, _ int) (board.Dossier, error) {
	return board.Dossier{}, fmt.Errorf("%w: task %v", board.ErrNotFound, id)
}

func (empty) Runs(board.ID) ([]board.Run, error)              { return nil, nil }
func (empty) Spent(string, time.Time) (board.Spending, error) { return board.Spending{}, nil }
func (empty) Diff(board.ID, int) (board.AttemptDiff, error) {
	return board.AttemptDiff{}, board.ErrNotFound
}

func (empty) Artifact(id board.ArtifactID) (board.Artifact, error) {
	return board.Artifact{}, fmt.Errorf("%w: artifact %d", board.ErrNotFound, id)
}
func (empty) Upstream(string) (board.Upstream, error) { return board.Upstream{}, nil }

func (empty) CallKey() (string, error) { return "", nil }
func (empty) Call(id board.CallID) (board.Call, error) {
	return board.Call{}, fmt.Errorf("%w: call %d", board.ErrNotFound, id)
}

func (empty) Step(_ board.ID, step string) (board.Call, error) {
	return board.Call{}, fmt.Errorf("%w: step %s", board.ErrNotFound, step)
}
func (empty) Calls(board.CallFilter) ([]board.Call, error)      { return nil, nil }
func (empty) Log(board.ID, int, int64) ([]board.LogPart, error) { return nil, nil }

func (e empty) Events(id board.ID, _ int64, _ int) ([]board.Event, error) {
	return nil, fmt.Errorf("%w: task %v", board.ErrNotFound, id)
}

func (e empty) Feed(_ []string, after board.Cursor, _ int) ([]board.Event, error) {
	_, err := cursor(after)
	return nil, err
}

func (e empty) PlanItems(string, []string) (map[string]board.ID, error) { return nil, nil }
func (e empty) Untold(string, int) ([]board.Issue, error)               { return nil, nil }

func (e empty) Counts([]string) (board.Counts, error) {
	return board.Counts{Status: map[board.Status]int{}}, nil
}

func (e empty) Finished(board.Finished) ([]board.Task, error)           { return nil, nil }
func (e empty) Archives(board.ArchiveFilter) ([]board.Archive, error)   { return nil, nil }
func (e empty) Outlines([]board.ID) (map[board.ID]board.Outline, error) { return nil, nil }
func (e empty) Records([]board.ID) ([]board.Record, error)              { return nil, nil }
func (e empty) Resting([]string, int) ([]board.Task, error)             { return nil, nil }
func (e empty) Queued(string, int) ([]board.Queued, error)              { return nil, nil }
func (e empty) Lander(string, string) (board.Lander, error)             { return board.Lander{}, nil }
func (e empty) Intents(board.IntentFilter) ([]board.Intent, error)      { return nil, nil }
func (e empty) FeedEnd() (board.Cursor, error)                          { return "", nil }
func (e empty) Stale() (bool, error)                                    { return false, nil }
func (e empty) SweepDue() (bool, error)                                 { return false, nil }
func (e empty) Lapsed(string) ([]board.Handle, error)                   { return nil, nil }
func (e empty) Declined(board.WorkerID) (map[board.ID]time.Time, error) { return nil, nil }
func (e empty) Gone() ([]string, error)                                 { return nil, nil }
func (e empty) Standing(board.WorkerID) (board.Standing, error)         { return board.Standing{}, nil }
func (e empty) Claims(board.ClaimFilter) ([]board.Claim, error)         { return nil, nil }
func (e empty) Reviews(board.ClaimFilter) ([]board.Claim, error)        { return nil, nil }
func (e empty) Reviewable(board.Want) (board.Reviewable, error)         { return board.Reviewable{}, nil }

func (e empty) Worker(board.WorkerID) (board.Worker, error)              { return board.Worker{}, nil }
func (e empty) Workers(time.Time) ([]board.Worker, error)                { return nil, nil }
func (e empty) Questions(board.QuestionFilter) ([]board.Question, error) { return nil, nil }
func (e empty) Usage(string) (board.Usage, error)                        { return board.Usage{}, nil }

func (e empty) Earlier([]board.QuestionID, int) (map[board.QuestionID][]board.Question, error) {
	return nil, nil
}

func (e empty) Question(id board.QuestionID) (board.Question, error) {
	return board.Question{}, fmt.Errorf("%w: question %v", board.ErrNotFound, id)
}
