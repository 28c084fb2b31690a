package web

import "github.com/bossman-dev/bossman/board"

// erasures has the tasks of which something was erased while the past is being read: by task, the number of the event
// that says so. What was read of earlier events may be from before that.
type erasures map[board.ID]int64

// note notes an event that says that something was erased. Once the past was read, events come in their order, and there
// is nothing to note.
func (x erasures) note(e board.Event) {
	if x != nil {
		x[e.Task] = max(x[e.Task], e.Seq)
	}
}

// clean returns an event, without its content if that may have been erased since it was read.
func (x erasures) clean(e board.Event) board.Event {
	if e.Seq >= x[e.Task] || e.Kind == board.EventErased {
		return e
	}
	if e.Detail.Text != "" {
		e.Detail.Text = board.Erased
	}
	e.Detail.Where, e.Detail.Returned = board.Where{}, nil
	return e
}
