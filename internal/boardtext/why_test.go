package boardtext

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
)

func TestCommandFor(t *testing.T) {
	id := board.ID{Project: "web", No: 7}
	for _, test := range []struct {
		reason board.Reason
		want   string
	}{
		{board.Reason{Code: board.WhyPolicy}, "See: bossman task review web-7"},
		{board.Reason{Code: board.WhyWrongSpec}, "Fix it with: bossman task edit web-7, then: bossman task retry web-7"},
		{board.Reason{Code: board.WhyBudget}, "Retry it with: bossman task retry web-7"},
		{board.Reason{Code: board.WhyQuestion, Question: 3}, "See: bossman answer q-3"},
		{board.Reason{Code: board.WhyQuestion}, "See: bossman inbox"}, // from an older server
		{board.Reason{Code: board.WhyDraft}, "Start it with: bossman task start web-7"},
		{board.Reason{Code: board.WhyPaused}, "Resume it with: bossman resume"},
		{board.Reason{Code: board.WhyReady}, ""},
	} {
		if got := commandFor(id, test.reason); got != test.want {
			t.Errorf("commandFor(%+v) = %q, want %q", test.reason, got, test.want)
		}
	}
}
