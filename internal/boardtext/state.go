package boardtext

import (
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
)

// StateCell is a state in a table.
func StateCell(s board.State) console.Cell { return StateStyle(s).Cell(s.String()) }

// StateStyle is how a state is shown.
func StateStyle(s board.State) console.Style {
	switch s {
	case board.StateReady:
		return console.Green
	case board.StateInProgress, board.StateLanding:
		return console.Cyan
	case board.StateWaiting, board.StateReview:
		return console.Yellow
	case board.StateFailed:
		return console.Red
	}
	return console.Dim
}

// PriorityStyle is how a priority is shown.
func PriorityStyle(p board.Priority) console.Style {
	switch p {
	case board.Urgent:
		return console.Red
	case board.High:
		return console.Yellow
	}
	return console.Dim
}
