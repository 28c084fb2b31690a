package crewcli

import (
	"context"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// A questionJSON is what a command gets that is to answer a question.
type questionJSON struct {
	Question boardjson.Question `json:"question"`
	Task     *boardjson.Dossier `json:"task,omitzero"`
}

// quote makes a questionJSON.
func quote(q board.Question, d *board.Dossier) ([]byte, error) {
	out := questionJSON{Question: boardjson.FromQuestion(q, q.AskedAt)}
	if d != nil {
		task := boardjson.FromDossier(*d)
		out.Task = &task
	}
	return console.JSON(out)
}

// answer answers questions with a command until it is interrupted, or none is left.
func answer(hard, drain context.Context, o *crew.Options, words []string, show *display) error {
	words, err := agent.FindCommand(words)
	if err != nil {
		return err
	}
	if !o.UntilEmpty && !show.live.Terminal() {
		show.live.Infof("Answering questions of %s; stop with Ctrl-C.", o.Project)
	}
	a := crew.New(o).Answerer(words, quote)
	err = a.Run(hard, drain)
	show.live.Clear()
	show.out.Infof("%s answered", console.Count(a.Answered(), "question"))
	return err
}
